package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// A flagKind says how the value of a draft flag is read.
type flagKind int

const (
	wordFlag  flagKind = iota // a key, a name or a path, taken as it is
	textFlag                  // a text, or @FILE
	exactFlag                 // the same, with every byte of the file
	wordsFlag                 // like wordFlag, repeatable
	filesFlag                 // the path of a file in the work tree, repeatable
	textsFlag                 // like textFlag, repeatable
	factsFlag                 // KEY=TEXT, repeatable
)

func (k flagKind) repeatable() bool { return k >= wordsFlag }

// draftFlag is a flag for a member of an envelope.
type draftFlag struct {
	name  string
	kind  flagKind
	usage string
	put   func(env *handoff.Envelope, value string)
}

// draftFlagTable lists the flags in the order in which they are laid over a draft.
func draftFlagTable() []draftFlag {
	type env = *handoff.Envelope
	return []draftFlag{
		{"task", wordFlag, "the sender's own `KEY` for the work", func(e env, v string) { e.Task = v }},
		{"status", wordFlag, "complete, blocked, needs_review or needs_clarification; without --to, each except complete waits for a decision", func(e env, v string) { e.Status = strings.ReplaceAll(v, "-", "_") }},
		{"blocked-reason", wordFlag, "the reason why it is blocked, `WORD`", func(e env, v string) { e.BlockedReason = v }},
		{"phase", wordFlag, "the phase ending here, `NAME`", func(e env, v string) { e.Source.Phase = v }},
		{"request", wordFlag, "the kind of work, `TYPE`", func(e env, v string) { e.Target.Request = v }},
		{"reason", wordFlag, "the reason for this target, `TEXT`", func(e env, v string) { e.Target.Reason = v }},
		{"goal", textFlag, "what the receiver is to achieve, `TEXT`", func(e env, v string) { e.Goal = v }},
		{"summary", textFlag, "what was found or done, `TEXT`, at most 4 KiB", func(e env, v string) { e.Summary = v }},
		{"detail", exactFlag, "all that is known, `TEXT`, at most 64 KiB", func(e env, v string) { e.Detail = v }},
		{"relevant-file", filesFlag, "a file to read first, `PATH`; at most 5", func(e env, v string) { e.RelevantFiles = append(e.RelevantFiles, v) }},
		{"artifact", wordsFlag, "a file produced, `PATH`; repeatable", func(e env, v string) { add(&contextOf(e).Artifacts, v) }},
		{"done", textsFlag, "a completed step, `TEXT`; repeatable", func(e env, v string) { add(&e.CompletedSteps, v) }},
		{"blocker", textsFlag, "what is in the way, `TEXT`; repeatable", func(e env, v string) { add(&e.PendingBlockers, v) }},
		{"attempt", textsFlag, "what was tried before blocking, `TEXT`; repeatable", func(e env, v string) { add(&e.Attempted, v) }},
		{"decision", textsFlag, "a decision taken, `TEXT`; repeatable", func(e env, v string) { add(&contextOf(e).Decisions, v) }},
		{"memory", textsFlag, "something to keep in mind, `TEXT`; repeatable", func(e env, v string) { add(&contextOf(e).Memories, v) }},
		{"deliverable", textsFlag, "what is expected, `TEXT`; repeatable", func(e env, v string) { add(&expectationsOf(e).Deliverables, v) }},
		{"constraint", textsFlag, "what must hold, `TEXT`; repeatable", func(e env, v string) { add(&expectationsOf(e).Constraints, v) }},
		{"acceptance", textsFlag, "an acceptance criterion, `TEXT`; repeatable", func(e env, v string) { add(&expectationsOf(e).AcceptanceCriteria, v) }},
		{"question", textsFlag, "a question for a person to answer, `TEXT`; repeatable", func(e env, v string) {
			e.Questions = append(e.Questions, handoff.Question{Question: v, Options: []string{}})
		}},
		{"data", factsFlag, "a fact for machines, `K=V`; repeatable", nil},
		{"on-failure", wordFlag, "the agent to return it to if it fails, `AGENT`", func(e env, v string) { rollbackOf(e).OnFailure = v }},
	}
}

func add(list *[]string, s string) { *list = append(*list, s) }

func contextOf(env *handoff.Envelope) *handoff.Context {
	if env.Context == nil {
		env.Context = &handoff.Context{}
	}
	return env.Context
}

func expectationsOf(env *handoff.Envelope) *handoff.Expectations {
	if env.Expectations == nil {
		env.Expectations = &handoff.Expectations{}
	}
	return env.Expectations
}

func rollbackOf(env *handoff.Envelope) *handoff.Rollback {
	if env.Rollback == nil {
		env.Rollback = &handoff.Rollback{}
	}
	return env.Rollback
}

// draftFlags are the values of those flags on a command line.
type draftFlags map[string]*draftValue

// draftValue is the value of one flag.
type draftValue struct {
	kind   flagKind
	values []string
}

func (v *draftValue) Type() string { return "string" }

func (v *draftValue) String() string { return strings.Join(v.values, ",") }

func (v *draftValue) Set(s string) error {
	if v.kind == wordFlag || slices.Equal(v.values, []string{""}) {
		v.values = nil
	}
	v.values = append(v.values, s)
	return nil
}

// registerDraft declares the flags, or only the named ones.
func registerDraft(f *pflag.FlagSet, only ...string) draftFlags {
	d := draftFlags{}
	for _, flag := range draftFlagTable() {
		if len(only) > 0 && !slices.Contains(only, flag.name) {
			continue
		}
		d[flag.name] = &draftValue{kind: flag.kind}
		short := ""
		if flag.name == "goal" {
			short = "m" // as in all steps with a text
		}
		f.VarP(d[flag.name], flag.name, short, flag.usage)
	}
	return d
}

// values lists the values of a flag. A single empty value counts as none.
func (d draftFlags) values(name string) []string {
	v := d[name]
	if v == nil || !v.kind.repeatable() && slices.Equal(v.values, []string{""}) {
		return nil
	}
	return v.values
}

// apply lays the flags over an envelope.
func (d draftFlags) apply(ctx context.Context, a *app, env *handoff.Envelope) error {
	if err := d.check(); err != nil {
		return err
	}
	for _, flag := range draftFlagTable() {
		if flag.kind == textFlag || flag.kind == exactFlag {
			if err := d.applyParagraphs(a, &flag, env); err != nil {
				return err
			}
			continue
		}
		for _, value := range d.values(flag.name) {
			if err := flag.apply(ctx, a, env, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyParagraphs sets one text from all values of its flag.
func (d draftFlags) applyParagraphs(a *app, flag *draftFlag, env *handoff.Envelope) error {
	read := a.text
	if flag.kind == exactFlag {
		read = a.exact
	}
	var texts []string
	for _, value := range d.values(flag.name) {
		text, err := read("--"+flag.name, value)
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) > 0 {
		flag.put(env, strings.Join(texts, paragraph))
	}
	return nil
}

func (f *draftFlag) apply(ctx context.Context, a *app, env *handoff.Envelope, value string) (err error) {
	switch f.kind {
	case filesFlag:
		given := value
		if repo, err := a.openRepo(ctx); err == nil && repo.Worktree != "" {
			here, _ := filepath.Abs(a.Dir)
			value = fromTop(repo.Worktree, here, given)
		}
		if err := handoff.CheckPath(value); err != nil {
			return usage("--%s %s: %v", f.name, printable(given), err)
		}
	case textsFlag:
		value, err = a.text("--"+f.name, value)
	case factsFlag:
		return applyFact(a, env, value)
	}
	if err != nil {
		return err
	}
	f.put(env, value)
	return nil
}

func applyFact(a *app, env *handoff.Envelope, fact string) error {
	k, v, ok := strings.Cut(fact, "=")
	if !ok || k == "" {
		return usage("--data %s: want K=V", printable(fact))
	}
	v, err := a.text("--data "+printable(k), v)
	if err != nil {
		return err
	}
	if env.Data == nil {
		env.Data = map[string]string{}
	}
	env.Data[k] = v
	return nil
}

// flagOf adds, to the refusal of a member, the flag that gives it.
func (d draftFlags) flagOf(err error) error {
	f := fault.As(err)
	if f == nil || f.Code != fault.Invalid || len(f.Hints) > 0 {
		return err
	}
	member, _, _ := strings.Cut(f.Message, ":")
	if f.Reason == fault.TooLarge && (member == "goal" || member == "summary") {
		return f.WithHints(fault.See("emit").Because("--detail takes up to 64 KiB"))
	}
	name := map[string]string{"attempted": "attempt", "questions": "question"}[member]
	if name == "" {
		name = strings.ReplaceAll(member, "_", "-")
	}
	if _, ok := d[name]; !ok {
		return err
	}
	return f.WithHints(fault.SeeAll("emit").Because("--%s gives it", name))
}

// check refuses values which no handoff can have, before the repository is opened. In a document,
// the same values make the document invalid.
func (d draftFlags) check() error {
	statuses := []string{handoff.StatusComplete, handoff.StatusBlocked, handoff.StatusNeedsReview, handoff.StatusNeedsClarification}
	for _, status := range d.values("status") {
		if slices.Contains(statuses, strings.ReplaceAll(status, "-", "_")) {
			continue
		}
		refusal := usage("--status %s: want %s", printable(status), strings.Join(statuses, ", "))
		if near := fault.Nearest(status, statuses); near != "" {
			return refusal.WithHints(fault.Instead(status, near))
		}
		return refusal
	}
	given := map[string]bool{}
	for _, fact := range d.values("data") {
		if k, _, ok := strings.Cut(fact, "="); ok {
			if given[k] {
				return usage("--data %s: given twice", printable(k))
			}
			given[k] = true
		}
	}
	if n := len(d.values("relevant-file")); n > handoff.MaxRelevantFiles {
		return usage("--relevant-file is given %s, limit %d", fault.Count(n, "time"), handoff.MaxRelevantFiles)
	}
	for _, agent := range d.values("on-failure") {
		if err := handoff.CheckAgent(agent); err != nil {
			return usage("--on-failure: %v", err)
		}
	}
	return nil
}
