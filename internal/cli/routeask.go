package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"githandoff/internal/app/decide"
	"githandoff/internal/brief"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
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
func (c *routeCommand) answered(questions []handoff.Question, answers []string) (string, error) {
	if len(answers) != len(questions) {
		return "", usage("it asks %s, but --answer is given %s", fault.Count(len(questions), "question"), fault.Count(len(answers), "time")).
			WithHints(fault.Fact("each question takes one --answer, in their order"))
	}
	var b strings.Builder
	for i, q := range questions {
		text := answers[i]
		if n, err := strconv.Atoi(text); err == nil && len(q.Options) > 0 {
			if n < 1 || n > len(q.Options) {
				return "", usage("--answer %d: question %d has the options 1 to %d", n, i+1, len(q.Options))
			}
			text = q.Options[n-1]
		}
		if strings.TrimSpace(text) == "" {
			return "", usage("--answer: the answer to question %d is empty", i+1)
		}
		fmt.Fprintf(&b, "Question: %s\nAnswer: %s\n", clipped(q.Question), text)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// clipped is a question as it is repeated to who asked it: there must be room for
// the answer.
func clipped(s string) string {
	const most = 256 // bytes
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// ask prints what waits for a person: who asks, the question in a fence, and
// the commands that decide it.
func (c *routeCommand) ask(ctx context.Context, d *workspace.Workspace, due *decide.Case) error {
	r := askedRow{
		row: verifiedRow(due.Verified, due.Home), Decide: deciding(due.Verified),
		Questions: append([]handoff.Question{}, questionsOf(due.Verified.Envelope())...),
	}
	r.State = "undecided"
	return c.Print(func() (any, error) { return r, nil }, func(t *output.Lines) error { return c.askText(ctx, t, d, due) })
}

func (c *routeCommand) askText(ctx context.Context, b *output.Lines, d *workspace.Workspace, due *decide.Case) error {
	env, offer := due.Verified.Envelope(), due.Verified.Offer()
	fmt.Fprintf(b, "Handoff %s from %s waits for a decision: %s", offer.ID, offer.From, env.Status)
	if alias := d.AliasOf(due.Home); alias != "" {
		fmt.Fprintf(b, ", at %s", alias)
	}
	fmt.Fprintf(b, ".\n%s\n", provenance(due.Verified))
	fenced, err := untrusted.Fence(c.Random, askedBody(env), "written by "+offer.From)
	if err != nil {
		return err
	}
	_, _ = b.Write(fenced) // Lines take everything
	ends, err := d.Ends(ctx, offer.ID)
	if err != nil {
		return err
	}
	for _, way := range deciding(due.Verified) {
		b.Line("%s: githandoff route %s %s", way.What, ends.Of(offer.ID), way.Flags)
	}
	return nil
}

// askedBody is the short form of an envelope with its questions at the end,
// numbered.
func askedBody(env *handoff.Envelope) string {
	rest := *env
	rest.Questions = nil
	if len(env.Questions) == 1 && env.Questions[0].Question == env.Goal {
		rest.Goal = ""
	}
	var b strings.Builder
	b.WriteString(brief.Text(&rest))
	for i, q := range env.Questions {
		fmt.Fprintf(&b, "Question %d: %s\n", i+1, q.Question)
		for n, option := range q.Options {
			fmt.Fprintf(&b, "  %d. %s\n", n+1, option)
		}
	}
	return b.String()
}

// way is one decision that can be taken: what it does, and the flags of "route".
type way struct {
	What  string `json:"what"`  // what it does
	Flags string `json:"flags"` // of route
}

// askedRow is the object that --json prints for what waits for a person. Its
// members are stable.
type askedRow struct {
	row
	Questions []handoff.Question `json:"questions"` // that it asks
	Decide    []way              `json:"decide"`    // what can decide it
}

// deciding lists what can decide a handoff.
func deciding(v *lifecycle.Verified) []way {
	env := v.Envelope()
	var ways []way
	if env.Status == handoff.StatusNeedsReview && env.Target.Agent != nil {
		ways = append(ways, way{"Approve, and let " + *env.Target.Agent + " go on", "--approve"})
	}
	if env.Status == handoff.StatusBlocked || env.Status == handoff.StatusNeedsClarification {
		ways = append(ways, way{"Answer", strings.TrimSpace(strings.Repeat("--answer TEXT ", len(questionsOf(env))))})
	}
	if env.Status == handoff.StatusNeedsReview || env.Status == handoff.StatusComplete {
		ways = append(ways, way{"Reject", "--reject --feedback TEXT"})
	}
	return append(ways, way{"Let somebody else go on", "--to AGENT"})
}
