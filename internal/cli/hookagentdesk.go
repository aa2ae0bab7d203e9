package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/agents"
	"githandoff/internal/app/agenthook"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/pushcheck"
	"githandoff/internal/app/take"
	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// session answers what the rules of a session ask about this worktree.
type session struct {
	app  *app
	desk *workspace.Workspace
	repo *refs.Repo

	trusted map[string]bool // names of agents whose keys are pinned here
	names   *workspace.Names

	taken *take.Result // by Take
	shown bool         // the answer holds its text
}

func (s *session) Agent() string    { return s.desk.Agent }
func (s *session) Worktree() string { return s.repo.Worktree }

// inbox lists the names of refs once: a session answers one call.
func (s *session) inbox(ctx context.Context) (_ *workspace.Names, err error) {
	if s.names == nil {
		s.names, err = s.desk.Names(ctx)
	}
	return s.names, err
}

func (s *session) Inbox(ctx context.Context) ([]handoff.ID, error) {
	names, err := s.inbox(ctx)
	if err != nil {
		return nil, err
	}
	return names.IDs(), nil
}

func (s *session) Waiting(ctx context.Context, ids []handoff.ID) ([]agents.Handoff, error) {
	names, err := s.inbox(ctx)
	if err != nil {
		return nil, err
	}
	var waiting []agents.Handoff
	for _, id := range ids {
		for _, it := range names.Items(id) {
			if err := s.desk.Load(ctx, it); err != nil {
				return nil, err
			}
			if it.Fault == nil && it.State(s.app.Now()) == string(lifecycle.Open) {
				waiting = append(waiting, s.named(id, it.Record.From, it.Record.Task))
				break
			}
		}
	}
	return waiting, nil
}

// named is a handoff as a session is told of it. The name of a sender is said only if a
// key that is pinned here, and not retired, has it: nothing of an offer was verified yet.
func (s *session) named(id handoff.ID, from, task string) agents.Handoff {
	if s.trusted == nil {
		s.trusted = map[string]bool{}
		for _, e := range s.desk.Engine.Keys.Trust.Entries() {
			for _, name := range e.Agents {
				s.trusted[name] = s.trusted[name] || e.Retired == ""
			}
		}
	}
	h := agents.Handoff{ID: id, Task: task}
	if s.trusted[from] {
		h.From = from
	}
	return h
}

// standing lists the claims that this worktree recorded for its agent, each with its state as
// far as this clone knows it.
func (s *session) standing(ctx context.Context) ([]*work.Standing, error) {
	held, err := s.desk.Claims.All()
	if err != nil {
		return nil, err
	}
	var all []*work.Standing
	for _, h := range held {
		if h.Actor != s.desk.Agent || h.Finished() { // what ends it waits for its hub
			continue
		}
		st, err := s.desk.Work().Standing(ctx, h)
		if err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	return all, nil
}

func (s *session) Held(ctx context.Context) ([]agents.Handoff, error) {
	all, err := s.standing(ctx)
	var held []agents.Handoff
	for _, st := range all {
		if st.Over == nil {
			held = append(held, s.claimed(st))
		}
	}
	return held, err
}

func (s *session) claimed(st *work.Standing) agents.Handoff {
	h := agents.Handoff{ID: st.Holder.ID}
	if st.State != nil && st.State.Offer != nil {
		h = s.named(h.ID, st.State.Offer.From, st.State.Offer.Task)
	}
	h.Lease = st.Holder.Lease
	return h
}

func (s *session) Lost(ctx context.Context) ([]agenthook.Loss, error) {
	all, err := s.standing(ctx)
	if err != nil {
		return nil, err
	}
	var lost []agenthook.Loss
	for _, st := range all {
		if st.Over != nil && !st.Own() {
			lost = append(lost, agenthook.Loss{Handoff: s.claimed(st), How: work.OverWord(st.Over)})
		}
	}
	closed, err := s.desk.Claims.Lost()
	for _, h := range closed {
		if h.Actor == s.desk.Agent {
			lost = append(lost, agenthook.Loss{Handoff: agents.Handoff{ID: h.ID}, How: "ended by another"})
		}
	}
	return lost, err
}

func (s *session) Peek(ctx context.Context, id handoff.ID) (string, error) {
	names, err := s.inbox(ctx)
	if err != nil {
		return "", err
	}
	items := names.Items(id)
	if len(items) == 0 {
		return "", fmt.Errorf("handoff %s is not in the inbox", id)
	}
	it := items[0]
	v, err := s.desk.Shown(ctx, it.Home, it.Place)
	if err != nil {
		return "", err
	}
	holder, err := s.desk.Claims.Get(id)
	if err != nil {
		return "", err
	}
	b, err := (&presenter{s.app}).prompt(s.desk, &take.Result{Verified: v, Home: it.Home, Holder: holder}, false)
	return string(b), err
}

// Check is "obo check" for whoever may hold no token: then everything is allowed.
func (s *session) Check(ctx context.Context, scopes []string) error {
	held, err := s.desk.Work().WithToken()
	if err != nil {
		return err
	}
	return pushcheck.AnyAllows(ctx, s.desk.Work(), held, scopes)
}

// Facts writes what git can tell of the work to githandoff/compacted.json in the
// worktree's git directory, as a draft that "githandoff emit -f" takes. It is not the
// draft that the post-commit hook sends: nobody decided to hand this over.
func (s *session) Facts(ctx context.Context, held []agents.Handoff) error {
	out, err := s.repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"status", "--porcelain", "-z", "--untracked-files=normal"}})
	if err != nil {
		return err
	}
	var changed []string
	for _, line := range strings.Split(string(out), "\x00") {
		if len(line) > 3 {
			changed = append(changed, line[3:])
		}
	}
	draft := map[string]any{
		"schema": handoff.Schema,
		"parent": held[0].ID,
		"summary": fmt.Sprintf("Recorded before the context of the session was compacted: branch %q at %s, %d changed files.",
			s.repo.Branch, s.repo.Head, len(changed)),
		"status": "complete",
	}
	if files := slices.DeleteFunc(changed, func(p string) bool { return handoff.CheckPath(p) != nil }); len(files) > 0 {
		draft["relevant_files"] = files[:min(len(files), handoff.MaxRelevantFiles)]
	}
	b, err := json.MarshalIndent(draft, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(s.repo.OwnWorktree("compacted.json"), append(b, '\n'), 0o600)
}

// signing is a desk of the same repository that may sign. Nobody is asked for a
// passphrase: a hook has nobody to ask.
func (s *session) signing(ctx context.Context) (*workspace.Workspace, error) {
	d, err := s.app.desk(ctx, signs)
	if err == nil {
		d.OnWarn = func(error) {}
	}
	return d, err
}

func (s *session) Take(ctx context.Context) (*agenthook.Taken, error) {
	d, err := s.signing(ctx)
	if err != nil {
		return nil, err
	}
	// Another session that begins beside this one may have taken one by now: without Next
	// this one is given the same, and takes no second one.
	g, err := take.New(d).Resume(ctx, take.Request{Here: true, Lease: lifecycle.DefaultLease})
	if fault.CodeOf(err) == fault.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.taken = g
	text, err := (&presenter{s.app}).prompt(d, g, false)
	if err != nil {
		return nil, err
	}
	offer := g.Verified.Offer()
	h := s.named(g.Holder.ID, offer.From, offer.Task)
	h.Lease = g.Holder.Lease
	return &agenthook.Taken{Handoff: h, Text: string(text), Again: g.Again, Shown: func() { s.shown = true }}, nil
}

// answered is called when the client has the answer. A claim whose text did not get so far
// stays one that the next "githandoff resume" prints.
func (s *session) answered(ctx context.Context) {
	switch {
	case s == nil || s.taken == nil:
	case s.shown:
		_ = s.taken.Printed(ctx)
	default:
		s.taken.Abandon()
	}
}

func (s *session) Release(ctx context.Context, id handoff.ID) error {
	d, err := s.signing(ctx)
	if err != nil {
		return err
	}
	h, err := d.Claims.Get(id)
	if err != nil || h == nil {
		return err
	}
	step := work.Step{Event: record.Released, Nonce: h.Nonce, At: s.app.Now().UTC()}
	if !d.Local.Is(h.Home) {
		return d.Claims.Update(ctx, id, func(stored *work.Claim) error {
			stored.Keep(step)
			return nil
		})
	}
	_, err = finish.New(d).Take(ctx, h, step)
	return err
}
