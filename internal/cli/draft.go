package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// draftFlags are the members of an envelope that a sender gives as flags.
type draftFlags struct {
	task, goal, summary, detail     string
	status, blockedReason           string
	phase, request, reason          string
	onFailure                       string
	data                            []string
	done, blocker, relevantFile     []string
	attempt, question               []string
	artifact, decision, memory      []string
	deliverable, constraint, accept []string
}

func (d *draftFlags) register(f *pflag.FlagSet) {
	f.StringVar(&d.task, "task", "", "the sender's own `KEY` for the work")
	f.StringVar(&d.goal, "goal", "", "what the receiver shall reach, `TEXT`")
	f.StringVar(&d.summary, "summary", "", "what was found or done, `TEXT`, at most 4 KiB")
	f.StringVar(&d.detail, "detail", "", "all that is known, `TEXT`, at most 64 KiB")
	f.StringArrayVar(&d.data, "data", nil, "a fact for machines, `K=V`; repeatable")
	f.StringArrayVar(&d.done, "done", nil, "a step that is done, `TEXT`; repeatable")
	f.StringArrayVar(&d.blocker, "blocker", nil, "what is in the way, `TEXT`; repeatable")
	f.StringArrayVar(&d.relevantFile, "relevant-file", nil, "a file to read first, `PATH`; at most 5")
	f.StringVar(&d.status, "status", "", "complete, blocked, needs_review or needs_clarification; without --to, each but complete waits for a decision")
	f.StringVar(&d.blockedReason, "blocked-reason", "", "why it is blocked, `WORD`")
	f.StringArrayVar(&d.attempt, "attempt", nil, "what was tried before blocking, `TEXT`; repeatable")
	f.StringArrayVar(&d.question, "question", nil, "what a person has to answer, `TEXT`; repeatable")
	f.StringVar(&d.phase, "phase", "", "the phase that ends here, `NAME`")
	f.StringVar(&d.request, "request", "", "the kind of work, `TYPE`")
	f.StringVar(&d.reason, "reason", "", "why this target, `TEXT`")
	f.StringArrayVar(&d.artifact, "artifact", nil, "a thing that was made, `PATH`; repeatable")
	f.StringArrayVar(&d.decision, "decision", nil, "a decision that was taken, `TEXT`; repeatable")
	f.StringArrayVar(&d.memory, "memory", nil, "something to keep in mind, `TEXT`; repeatable")
	f.StringArrayVar(&d.deliverable, "deliverable", nil, "what is expected, `TEXT`; repeatable")
	f.StringArrayVar(&d.constraint, "constraint", nil, "what must hold, `TEXT`; repeatable")
	f.StringArrayVar(&d.accept, "acceptance", nil, "when it is done, `TEXT`; repeatable")
	f.StringVar(&d.onFailure, "on-failure", "", "who takes it back if it fails, `AGENT`")
}

// draft reads the file, if any, and lays the flags over it.
func (a *app) draft(o *emitOptions) (*handoff.Envelope, error) {
	env := &handoff.Envelope{Status: handoff.StatusComplete}
	if o.file != "" {
		b, err := a.readInput(o.file)
		if err != nil {
			return nil, err
		}
		if env, err = a.importDraft(paper{name: o.file, format: o.format, to: o.to}, b); err != nil {
			return nil, err
		}
	} else if o.format != "" {
		return nil, usage("--format goes with -f FILE")
	}
	return env, a.apply(&o.draftFlags, env)
}

// importDraft reads a document as the draft of a handoff.
func (a *app) importDraft(p paper, b []byte) (*handoff.Envelope, error) {
	draft, err := a.imported(p, b)
	if err != nil {
		return nil, err
	}
	if draft.Token != "" || draft.Envelope.OBO != nil {
		// It goes with one handoff, in which it is. Authority is passed on by who
		// holds that one.
		draft.Envelope.OBO = nil
		a.Warn(fault.New(fault.Denied, fault.HandoffMismatch, "the token in the document is for another handoff, and is left out"))
	}
	if draft.Envelope.Status == "" {
		draft.Envelope.Status = handoff.StatusComplete
	}
	return &draft.Envelope, nil
}

// apply lays the flags over an envelope. Only those that carry a text read files
// (@FILE): a key, a name or a path is what it says.
// check refuses flags that no handoff could have, before anything is looked up. The
// same in a document is an invalid document.
func (d *draftFlags) check() error {
	statuses := []string{handoff.StatusComplete, handoff.StatusBlocked, handoff.StatusNeedsReview, handoff.StatusNeedsClarification}
	if d.status != "" && !slices.Contains(statuses, strings.ReplaceAll(d.status, "-", "_")) {
		refusal := usage("--status %s: want %s", printable(d.status), strings.Join(statuses, ", "))
		if near := fault.Nearest(d.status, statuses); near != "" {
			return refusal.WithHints(fault.Instead(d.status, near))
		}
		return refusal
	}
	if n := len(d.relevantFile); n > handoff.MaxRelevantFiles {
		return usage("--relevant-file is given %s, and a handoff names at most %d", fault.Count(n, "time"), handoff.MaxRelevantFiles)
	}
	for _, p := range d.relevantFile {
		if err := handoff.CheckPath(p); err != nil {
			return usage("--relevant-file %s: %v", printable(p), err)
		}
	}
	if d.onFailure != "" {
		if err := handoff.CheckAgent(d.onFailure); err != nil {
			return usage("--on-failure: %v", err)
		}
	}
	return nil
}

func (a *app) apply(d *draftFlags, env *handoff.Envelope) error {
	if err := d.check(); err != nil {
		return err
	}
	for _, s := range []struct {
		flag string
		to   *string
	}{
		{d.task, &env.Task},
		{strings.ReplaceAll(d.status, "-", "_"), &env.Status},
		{d.blockedReason, &env.BlockedReason},
		{d.phase, &env.Source.Phase},
		{d.request, &env.Target.Request},
		{d.reason, &env.Target.Reason},
	} {
		if s.flag != "" {
			*s.to = s.flag
		}
	}
	for _, s := range []struct {
		name, flag string
		to         *string
	}{
		{"--goal", d.goal, &env.Goal},
		{"--summary", d.summary, &env.Summary},
	} {
		if s.flag == "" {
			continue
		}
		v, err := a.text(s.name, s.flag)
		if err != nil {
			return err
		}
		*s.to = v
	}
	if d.detail != "" {
		v, err := a.exact("--detail", d.detail)
		if err != nil {
			return err
		}
		env.Detail = v
	}
	if err := a.applyContext(d, env); err != nil {
		return err
	}
	return a.applyData(d, env)
}

// applyData adds questions, facts for machines, and who takes the work back.
func (a *app) applyData(d *draftFlags, env *handoff.Envelope) error {
	for _, q := range d.question {
		v, err := a.text("--question", q)
		if err != nil {
			return err
		}
		env.Questions = append(env.Questions, handoff.Question{Question: v, Options: []string{}})
	}
	for _, kv := range d.data {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return usage("--data %s: want K=V", printable(kv))
		}
		v, err := a.text("--data "+printable(k), v)
		if err != nil {
			return err
		}
		if env.Data == nil {
			env.Data = map[string]string{}
		}
		env.Data[k] = v
	}
	if d.onFailure != "" {
		if env.Rollback == nil {
			env.Rollback = &handoff.Rollback{}
		}
		env.Rollback.OnFailure = d.onFailure
	}
	return nil
}

func (a *app) applyContext(d *draftFlags, env *handoff.Envelope) error {
	context, expect := env.Context, env.Expectations
	if context == nil {
		context = &handoff.Context{}
	}
	if expect == nil {
		expect = &handoff.Expectations{}
	}
	env.RelevantFiles = append(env.RelevantFiles, d.relevantFile...)
	context.Artifacts = append(context.Artifacts, d.artifact...)
	for _, l := range []struct {
		name  string
		flags []string
		to    *[]string
	}{
		{"--done", d.done, &env.CompletedSteps},
		{"--blocker", d.blocker, &env.PendingBlockers},
		{"--attempt", d.attempt, &env.Attempted},
		{"--decision", d.decision, &context.Decisions},
		{"--memory", d.memory, &context.Memories},
		{"--deliverable", d.deliverable, &expect.Deliverables},
		{"--constraint", d.constraint, &expect.Constraints},
		{"--acceptance", d.accept, &expect.AcceptanceCriteria},
	} {
		for _, s := range l.flags {
			v, err := a.text(l.name, s)
			if err != nil {
				return err
			}
			*l.to = append(*l.to, v)
		}
	}
	if len(d.artifact)+len(d.decision)+len(d.memory) > 0 {
		env.Context = context
	}
	if len(d.deliverable)+len(d.constraint)+len(d.accept) > 0 {
		env.Expectations = expect
	}
	return nil
}
