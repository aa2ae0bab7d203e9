package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
)

// A flagKind says how the value of a draft flag is read.
type flagKind int

const (
	wordFlag  flagKind = iota // a key, a name or a path, taken as it is
	textFlag                  // a text, or @FILE
	exactFlag                 // like textFlag, but with every byte of the file
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
		{"status", wordFlag, "mark it as `STATUS`: complete, blocked, needs_review or needs_clarification; without --to, each except complete waits for a decision", func(e env, v string) { e.Status = strings.ReplaceAll(v, "-", "_") }},
		{"blocked-reason", wordFlag, "say in one `WORD` why it is blocked", func(e env, v string) { e.BlockedReason = v }},
		{"phase", wordFlag, "the `NAME` of the phase ending here", func(e env, v string) { e.Source.Phase = v }},
		{"request", wordFlag, "the `TYPE` of work", func(e env, v string) { e.Target.Request = v }},
		{"reason", wordFlag, "say in `TEXT` why it goes to this target", func(e env, v string) { e.Target.Reason = v }},
		{"goal", textFlag, "say in `TEXT` what the receiver is to achieve", func(e env, v string) { e.Goal = v }},
		{"summary", textFlag, "say in `TEXT` what was found or done, at most 4 KiB", func(e env, v string) { e.Summary = v }},
		{"detail", exactFlag, "add all that is known as `TEXT`, at most 64 KiB", func(e env, v string) { e.Detail = v }},
		{"relevant-file", filesFlag, "name the file `PATH` to read first; at most 5", func(e env, v string) { e.RelevantFiles = append(e.RelevantFiles, v) }},
		{"artifact", wordsFlag, "name the produced file `PATH`; repeatable", func(e env, v string) { add(&contextOf(e).Artifacts, v) }},
		{"done", textsFlag, "list `TEXT` as a completed step; repeatable", func(e env, v string) { add(&e.CompletedSteps, v) }},
		{"blocker", textsFlag, "list `TEXT` as something in the way; repeatable", func(e env, v string) { add(&e.PendingBlockers, v) }},
		{"attempt", textsFlag, "list `TEXT` as tried before blocking; repeatable", func(e env, v string) { add(&e.Attempted, v) }},
		{"decision", textsFlag, "list `TEXT` as a decision taken; repeatable", func(e env, v string) { add(&contextOf(e).Decisions, v) }},
		{"memory", textsFlag, "list `TEXT` as something to keep in mind; repeatable", func(e env, v string) { add(&contextOf(e).Memories, v) }},
		{"deliverable", textsFlag, "expect `TEXT` to be delivered; repeatable", func(e env, v string) { add(&expectationsOf(e).Deliverables, v) }},
		{"constraint", textsFlag, "list `TEXT` as something that must hold; repeatable", func(e env, v string) { add(&expectationsOf(e).Constraints, v) }},
		{"acceptance", textsFlag, "list `TEXT` as an acceptance criterion; repeatable", func(e env, v string) { add(&expectationsOf(e).AcceptanceCriteria, v) }},
		{"question", textsFlag, "ask a person `TEXT`; repeatable", func(e env, v string) {
			e.Questions = append(e.Questions, handoff.Question{Question: v, Options: []string{}})
		}},
		{"data", factsFlag, "add the fact `K=V` for machines; repeatable", nil},
		{"on-failure", wordFlag, "return it to `AGENT` if it fails", func(e env, v string) { rollbackOf(e).OnFailure = v }},
	}
}

func add(list *[]string, s string) { *list = append(*list, s) }

func contextOf(env *handoff.Envelope) *handoff.Context {
	env.Context = cmp.Or(env.Context, &handoff.Context{})
	return env.Context
}

func expectationsOf(env *handoff.Envelope) *handoff.Expectations {
	env.Expectations = cmp.Or(env.Expectations, &handoff.Expectations{})
	return env.Expectations
}

func rollbackOf(env *handoff.Envelope) *handoff.Rollback {
	env.Rollback = cmp.Or(env.Rollback, &handoff.Rollback{})
	return env.Rollback
}

// draftFlags are the values of those flags on a command line.
type draftFlags map[string]*draftValue

// draftValue is the value of one flag.
type draftValue struct {
	kind   flagKind
	values []string
}

// Type returns "string" for a value that must not be empty; see [command.checkFlags].
func (v *draftValue) Type() string {
	if v.kind == wordFlag {
		return "string"
	}
	return "text"
}

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
			short = "m" // -m, as in all steps with a text
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
			return usage("%s %s: %v", flagFor(a, f.name), untrusted.Line(given), err)
		}
	case textsFlag:
		value, err = a.text("--"+f.name, value)
	case factsFlag:
		return applyFact(a, env, value)
	}
	if err != nil {
		return err
	}
	if f.kind.repeatable() && strings.TrimSpace(value) == "" {
		return usage("%s is empty", flagFor(a, f.name))
	}
	f.put(env, value)
	return nil
}

func applyFact(a *app, env *handoff.Envelope, fact string) error {
	k, v, ok := strings.Cut(fact, "=")
	if !ok || k == "" {
		return usage("--data %s: want K=V", untrusted.Line(fact))
	}
	v, err := a.text("--data "+untrusted.Line(k), v)
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
	name := cmp.Or(map[string]string{"attempted": "attempt", "questions": "question"}[member], strings.ReplaceAll(member, "_", "-"))
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
		refusal := usage("--status %s: want %s", untrusted.Line(status), strings.Join(statuses, ", "))
		if near := fault.Nearest(status, statuses); near != "" {
			return refusal.WithHints(fault.Instead(status, near))
		}
		return refusal
	}
	given := map[string]bool{}
	for _, fact := range d.values("data") {
		if k, _, ok := strings.Cut(fact, "="); ok {
			if given[k] {
				return usage("--data %s: given twice", untrusted.Line(k))
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

// fromTop returns the path that records have of a file: from the top of the work tree, while a
// command line names it from the current directory, here. If only the file at the top exists,
// path means that one. A path that leads out of the work tree is returned as it is.
func fromTop(top, here, path string) string {
	at := path
	if !filepath.IsAbs(path) {
		at = filepath.Join(here, path)
	}
	inside := below(top, at)
	if inside == "" || !exists(at) && !filepath.IsAbs(path) && exists(filepath.Join(top, path)) {
		return path
	}
	return filepath.ToSlash(inside)
}

// below returns the path of a file from dir, "" if it is not below it. The directory of the file
// may be reached through a link.
func below(dir, file string) string {
	for _, dir := range []string{dir, refs.RealPath(dir)} {
		for _, file := range []string{file, refs.RealParent(file)} {
			rel, err := filepath.Rel(dir, file)
			if err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
				return rel
			}
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
