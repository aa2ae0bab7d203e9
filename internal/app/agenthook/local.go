package agenthook

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"githandoff/internal/agents"
	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for hooks.
type Workspace interface {
	List(ctx context.Context, all bool, visit func(*workspace.Item) error) error
	Load(ctx context.Context, it *workspace.Item) error
	Names(ctx context.Context) (*workspace.Names, error)
	Strayed(ctx context.Context, it *workspace.Item) bool
}

// Local implements the part of Worktree answered from refs and files.
type Local struct {
	Repo *refs.Repo

	now       func() time.Time
	trust     *sign.Trust
	work      *work.Held
	workspace Workspace

	trusted map[string]bool // names of agents whose keys are pinned here
	names   *workspace.Names
}

// NewLocal makes the answers of a workspace.
func NewLocal(w *workspace.Workspace, now func() time.Time) *Local {
	return &Local{Repo: w.Repo, now: now, trust: w.Engine.Keys.Trust, work: w.Work(), workspace: w}
}

// Agent implements Worktree.
func (l *Local) Agent() string { return l.work.Agent }

// Top implements Worktree.
func (l *Local) Top() string { return l.Repo.Worktree }

// Items returns the offers of one handoff in the agent's inboxes.
func (l *Local) Items(ctx context.Context, id handoff.ID) ([]*workspace.Item, error) {
	names, err := l.inbox(ctx)
	if err != nil {
		return nil, err
	}
	return names.Items(id), nil
}

// inbox lists the names of refs once: a hook answers one call.
func (l *Local) inbox(ctx context.Context) (_ *workspace.Names, err error) {
	if l.names == nil {
		l.names, err = l.workspace.Names(ctx)
	}
	return l.names, err
}

// Inbox implements Worktree.
func (l *Local) Inbox(ctx context.Context) ([]handoff.ID, error) {
	names, err := l.inbox(ctx)
	if err != nil {
		return nil, err
	}
	return names.IDs(), nil
}

// Waiting implements Worktree.
func (l *Local) Waiting(ctx context.Context, ids []handoff.ID) ([]agents.Handoff, error) {
	names, err := l.inbox(ctx)
	if err != nil {
		return nil, err
	}
	var waiting []agents.Handoff
	for _, id := range ids {
		for _, it := range names.Items(id) {
			if err := l.workspace.Load(ctx, it); err != nil {
				return nil, err
			}
			if it.Waits(l.now()) && !l.workspace.Strayed(ctx, it) {
				waiting = append(waiting, l.Named(id, it.Record.From, it.Record.Task))
				break
			}
		}
	}
	return waiting, nil
}

// Untold lists the ids offered to the agent and not yet told to the session, and records them as
// told: a session hears of each offer once.
func (l *Local) Untold(ctx context.Context, session string, ids []handoff.ID) ([]agents.Handoff, error) {
	if session == "" {
		return l.Waiting(ctx, ids)
	}
	stamp := StampOf(l.Repo, session)
	news, err := l.Waiting(ctx, stamp.fresh(ids))
	if err != nil || len(news) == 0 {
		return nil, err
	}
	for _, h := range news {
		stamp.once(&stamp.Told, h.ID)
	}
	return news, stamp.Save()
}

// Named returns a handoff as told to a session. The name of a sender is given only if it belongs to
// a pinned key which is not retired, because no part of the offer was verified yet.
func (l *Local) Named(id handoff.ID, from, task string) agents.Handoff {
	if l.trusted == nil {
		l.trusted = map[string]bool{}
		for _, e := range l.trust.Entries() {
			for _, name := range e.Agents {
				l.trusted[name] = l.trusted[name] || e.Retired == ""
			}
		}
	}
	h := agents.Handoff{ID: id, Task: task}
	if l.trusted[from] {
		h.From = from
	}
	return h
}

// standing lists the claims recorded by this worktree for its agent, each with its known state.
func (l *Local) standing(ctx context.Context) ([]*work.Standing, error) {
	held, err := l.work.Claims.Held()
	if err != nil {
		return nil, err
	}
	var all []*work.Standing
	for _, h := range held {
		if h.Actor != l.work.Agent || h.Finished() { // a finished claim only waits for its hub
			continue
		}
		st, err := l.work.Standing(ctx, h)
		if err != nil {
			return nil, err
		}
		all = append(all, st)
	}
	return all, nil
}

// Held implements Worktree.
func (l *Local) Held(ctx context.Context) ([]agents.Handoff, error) {
	all, err := l.standing(ctx)
	var held []agents.Handoff
	for _, st := range all {
		if st.Over == nil {
			held = append(held, l.claimed(st))
		}
	}
	return held, err
}

func (l *Local) claimed(st *work.Standing) agents.Handoff {
	h := agents.Handoff{ID: st.Claim.ID}
	if st.State != nil && st.State.Offer != nil {
		h = l.Named(h.ID, st.State.Offer.From, st.State.Offer.Task)
	}
	h.Lease = st.Claim.Lease
	h.Overdue = st.State != nil && st.State.Overdue(l.work.Verifier.Keys.Now())
	return h
}

// Lost implements Worktree.
func (l *Local) Lost(ctx context.Context) ([]Loss, error) {
	all, err := l.standing(ctx)
	if err != nil {
		return nil, err
	}
	var lost []Loss
	for _, st := range all {
		if st.Over != nil && !st.Own() {
			lost = append(lost, Loss{Handoff: l.claimed(st), How: st.OverWord()})
		}
	}
	closed, err := l.work.Lost()
	for _, h := range closed {
		lost = append(lost, Loss{Handoff: agents.Handoff{ID: h.ID}, How: "ended by another"})
	}
	return lost, err
}

// WriteFacts writes what git can tell of the work to githandoff/compacted.json in the worktree's
// git directory, as a draft that "githandoff emit -f" takes. It is not the draft that the
// post-commit hook sends: nobody decided to hand this over. dir is a directory of this user.
func (l *Local) WriteFacts(ctx context.Context, dir string, held []agents.Handoff) error {
	look, err := refs.WithoutPrograms(l.Repo, dir)
	if err != nil {
		return err
	}
	defer look.Close()
	out, err := l.Repo.Runner.Run(ctx, gitexec.Cmd{Env: look.Env, Args: []string{
		// In a submodule, git would read the settings there.
		"status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=dirty",
	}})
	if err != nil {
		return err
	}
	var changed []string
	for line := range strings.SplitSeq(string(out), "\x00") {
		if len(line) > 3 {
			changed = append(changed, line[3:])
		}
	}
	draft := map[string]any{
		"schema": handoff.Schema,
		"parent": held[0].ID,
		"summary": fmt.Sprintf("Recorded before the context of the session was compacted: branch %q at %s, %d changed files.",
			l.Repo.Branch, l.Repo.Head, len(changed)),
		"status": "complete",
	}
	if files := slices.DeleteFunc(changed, func(p string) bool { return handoff.CheckPath(p) != nil }); len(files) > 0 {
		draft["relevant_files"] = files[:min(len(files), handoff.MaxRelevantFiles)]
	}
	b, err := json.MarshalIndent(draft, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(l.Repo.OwnWorktree("compacted.json"), append(b, '\n'), 0o600)
}

const maxLog = 64 << 10 // bytes of agent.log

// Log notes in agent.log of a worktree why a hook said nothing. The file starts anew when it
// is full. Nothing is written through a link, nor into a pipe.
func Log(repo *refs.Repo, now time.Time, client, event string, reason error) {
	f, err := os.OpenFile(repo.OwnWorktree("agent.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if info.Size() > maxLog {
		_ = f.Truncate(0)
	}
	fmt.Fprintf(f, "%s %s %s: %s\n", handoff.FormatTime(now.UTC()),
		untrusted.Line(client), untrusted.Line(event), untrusted.Line(fault.OneLine(reason)))
}
