package cli

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
)

// questionsOf are what a person is asked. A handoff that is blocked and has none
// asks with its reason.
func questionsOf(env *handoff.Envelope) []handoff.Question {
	if len(env.Questions) == 0 && env.Status == handoff.StatusBlocked {
		return []handoff.Question{{Question: env.BlockedReason}}
	}
	return env.Questions
}

// answered puts each answer behind its question. A number means an option.
func (a *app) answered(questions []handoff.Question, answers []string) (string, error) {
	if len(answers) != len(questions) {
		return "", usage("it asks %d questions, and --answer is given %d times", len(questions), len(answers)).
			WithHint("one --answer for each question, in their order")
	}
	var b strings.Builder
	for i, q := range questions {
		text, err := a.value(answers[i])
		if err != nil {
			return "", err
		}
		if n, err := strconv.Atoi(text); err == nil && len(q.Options) > 0 {
			if n < 1 || n > len(q.Options) {
				return "", usage("--answer %d: question %d has the options 1 to %d", n, i+1, len(q.Options))
			}
			text = q.Options[n-1]
		}
		if strings.TrimSpace(text) == "" {
			return "", usage("--answer: the answer to question %d is empty", i+1)
		}
		fmt.Fprintf(&b, "Question: %s\nAnswer: %s\n", q.Question, text)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// ask prints what waits for a person: who asks, the question in a fence, and
// the commands that decide it.
func (a *app) ask(d *crossrepo.Desk, c *crossrepo.Case) error {
	if a.json {
		r := verifiedRow(c.Verified, c.Home)
		r.State = "undecided"
		a.object(a.Stdout, r)
		return nil
	}
	env, offer := c.Verified.Envelope(), c.Verified.Offer()
	var b bytes.Buffer
	fmt.Fprintf(&b, "Handoff %s from %s waits for a decision: %s", offer.ID, offer.From, env.Status)
	if alias := d.AliasOf(c.Home); alias != "" {
		fmt.Fprintf(&b, ", at %s", alias)
	}
	fmt.Fprintf(&b, ".\n%s\n", provenance(c.Verified))
	fenced, err := a.fence(askedBody(env), "written by "+offer.From)
	if err != nil {
		return err
	}
	b.Write(fenced)
	for _, line := range deciding(c.Verified) {
		b.WriteString(line + "\n")
	}
	_, err = a.Stdout.Write(b.Bytes())
	return err
}

// askedBody is the short form of an envelope with its questions at the end,
// numbered.
func askedBody(env *handoff.Envelope) string {
	rest := *env
	rest.Questions = nil
	var b strings.Builder
	b.WriteString(summaryOf(&rest))
	for i, q := range env.Questions {
		fmt.Fprintf(&b, "Question %d: %s\n", i+1, q.Question)
		for n, option := range q.Options {
			fmt.Fprintf(&b, "  %d. %s\n", n+1, option)
		}
	}
	return b.String()
}

// deciding lists the commands that decide a handoff.
func deciding(v *lifecycle.Verified) []string {
	env, short := v.Envelope(), v.Offer().ID.Short()
	line := func(what, flags string) string {
		return fmt.Sprintf("%s: githandoff route %s %s", what, short, flags)
	}
	var lines []string
	if env.Status == handoff.StatusNeedsReview && env.Target.Agent != nil {
		lines = append(lines, line("Approve, and let "+*env.Target.Agent+" go on", "--approve"))
	}
	if n := len(questionsOf(env)); env.Status == handoff.StatusBlocked || env.Status == handoff.StatusNeedsClarification {
		lines = append(lines, line("Answer", strings.TrimSpace(strings.Repeat("--answer TEXT ", n))))
	}
	if env.Status == handoff.StatusNeedsReview || env.Status == handoff.StatusComplete {
		lines = append(lines, line("Reject", "--reject --feedback TEXT"))
	}
	return append(lines, line("Let somebody else go on", "--to AGENT"))
}
