// Package outbox holds handoffs waiting for delivery, and delivers them. A child is staged here
// if its parent's receipt must name it before it is delivered.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for deliveries.
type Workspace interface {
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Warn(err error)
}

// Outbox holds the handoffs of this repository waiting for delivery.
type Outbox struct {
	Engine    *lifecycle.Engine
	Workspace Workspace
}

// New makes the outbox of a workspace.
func New(w *workspace.Workspace) *Outbox {
	return &Outbox{Engine: w.Engine, Workspace: w}
}

// KeptError returns the error of a failed or interrupted delivery: the handoff is still there.
func KeptError(err error, id handoff.ID) error {
	err = refs.DiskFault(err)
	f := fault.As(err)
	if f == nil { // such as a file here that cannot be written
		f = &fault.Error{Code: fault.Other, Reason: fault.Failed, Message: err.Error(), Err: err}
	}
	if errors.Is(err, crossrepo.ErrGuard) {
		k := *f
		k.Message += fmt.Sprintf("; handoff %s waits in the outbox", id)
		hints := []fault.Hint{
			fault.Run("githandoff", "sync").Because("tries to send it again"),
			fault.Run("githandoff", "revoke", string(id)).Because("withdraws it"),
		}
		if f.Reason == fault.AudienceMismatch || errors.Is(err, crossrepo.ErrGuardElsewhere) {
			hints = append(slices.Clone(f.Hints), hints...)
		}
		return k.WithHints(hints...)
	}
	if errors.Is(err, crossrepo.ErrInDoubt) {
		return InDoubt(err)
	}
	if errors.Is(err, context.Canceled) {
		f = fault.New(fault.Interrupted, fault.WasInterrupted, "%w", err)
		f.Message = "interrupted"
	}
	if f.Reason == fault.Replayed {
		return f.WithHints(fault.Run("githandoff", "revoke", string(id)).Because("withdraws it from the outbox: another handoff has its id"))
	}
	if f.Code != fault.Unavailable && f.Code != fault.Interrupted && f.Reason != fault.Rollback && f.Reason != fault.Failed {
		return err
	}
	kept := Kept(f, "the handoff waits in the outbox")
	if f.Reason == fault.ObjectFormat { // no sync of this clone can send the handoff
		return fault.As(kept).WithHints(append(slices.Clone(f.Hints), fault.Run("githandoff", "revoke", string(id)).Because("withdraws it"))...)
	}
	return kept
}

// Kept adds to an error that the handoff is kept in the outbox, and the command to deliver it
// later.
func Kept(f *fault.Error, what string) error {
	k := *f
	k.Message += "; " + what
	sync := fault.Run("githandoff", "sync").Because("sends it after the fix")
	if f.Code == fault.Interrupted {
		sync = fault.Run("githandoff", "sync").Because("sends it")
	}
	switch f.Reason { // their own hints say to run the same command again, which would make a second handoff
	case fault.DiskFull:
		f = f.WithHints(fault.Fact("free some space"))
	case fault.Busy:
		f = f.WithHints()
	}
	known := len(f.Hints) > 0 && f.Hints[0].Run == nil // the hint states what the account or the hub lacks
	if f.Reason == fault.RemoteUnavailable && !known {
		k.Hints = []fault.Hint{
			fault.Run("githandoff", "sync").Because("sends it, once the hub is back"),
			fault.Run("githandoff", "doctor").Because("says what is wrong"),
		}
		return &k
	}
	k.Hints = append(slices.Clone(f.Hints[:min(len(f.Hints), fault.MaxHints-1)]), sync)
	return &k
}

// InDoubt returns the error of an interrupt during the push of a kept handoff or step. It is not
// known yet whether the hub took it.
func InDoubt(err error) error {
	f := fault.New(fault.Interrupted, fault.WasInterrupted, "%w", err)
	f.Message = "interrupted during the push: the hub may have taken it, or not"
	return f.WithHints(fault.Run("githandoff", "sync").Because("finds out, and sends what the hub does not have"))
}

// Deliver offers a payload from the outbox at its home, and in the same step
// moves it from the outbox to the sent ones; at this repository it is not sent
// anywhere.
func (o *Outbox) Deliver(ctx context.Context, home lifecycle.Home, p *lifecycle.Payload) error {
	localEdits := []refs.Edit{{Ref: refs.Outbox(p.Agent, p.Record.ID), Old: p.Commit.OID}}
	if hub, ok := home.(*crossrepo.Hub); ok {
		if err := hub.CheckDeletes(); err != nil {
			return err
		}
		localEdits = append([]refs.Edit{{Ref: refs.Sent(p.Agent, p.Record.ID), New: p.Commit.OID}}, localEdits...)
	} else {
		kept, err := refs.Deletions(ctx, o.Engine.Repo, refs.WorkOut(p.Record.ID)) // the inbox has the snapshot then
		if err != nil {
			return err
		}
		localEdits = append(localEdits, kept...)
	}
	if _, err := o.Engine.Offer(ctx, home, p, localEdits...); err != nil {
		return err
	}
	// If it was offered already (an answer was lost, or another process was faster), they were not made.
	return lifecycle.ApplyMissing(ctx, o.Engine.Repo, localEdits)
}

// Stage marks a child in the outbox: it must not be delivered before its parent's receipt names
// it.
type Stage struct {
	Parent lifecycle.Place `json:"parent"`
	Home   string          `json:"home"` // repo id of the parent's home
	Child  lifecycle.Place `json:"child"`
}

// Staged returns the children waiting for the receipt of their parent.
func (o *Outbox) Staged() work.Documents[Stage] { return stagedIn(o.Engine.Repo) }

func stagedIn(repo *refs.Repo) work.Documents[Stage] {
	return work.Documents[Stage]{Dir: repo.Own("staged")}
}

// Leftovers lists the files left by killed writers in a repository and in dirs.
func Leftovers(ctx context.Context, repo *refs.Repo, now time.Time, dirs ...string) ([]string, error) {
	files, err := durable.StaleTempFiles(now, append(repo.OwnDirs(), dirs...)...)
	if err != nil {
		return nil, err
	}
	staged, err := unborn(ctx, repo, now)
	return append(files, staged...), err
}

// unborn lists the records of staged children which never came into the outbox: the reroute was
// killed in between, and its process is surely gone.
func unborn(ctx context.Context, repo *refs.Repo, now time.Time) (files []string, err error) {
	staged := stagedIn(repo)
	all, err := staged.All()
	for _, st := range all {
		oid, rerr := repo.Resolve(ctx, refs.Outbox(st.Child.Agent, st.Child.ID))
		if rerr != nil {
			return nil, rerr
		}
		path := staged.Path(st.Child.ID)
		if info, serr := os.Stat(path); oid == "" && serr == nil && durable.Stale(info, now) {
			files = append(files, path)
		}
	}
	return files, err
}

// Unstage lets a staged child go: to be delivered, or dropped.
func (o *Outbox) Unstage(ctx context.Context, child lifecycle.Place, drop bool) error {
	if drop {
		gone, err := refs.Deletions(ctx, o.Engine.Repo, refs.Outbox(child.Agent, child.ID), refs.WorkOut(child.ID))
		if err != nil {
			return err
		}
		if err := o.Engine.Repo.Apply(ctx, refs.Transaction{Edits: gone}); err != nil {
			return err
		}
	}
	return o.Staged().Drop(child.ID)
}

// Ready reports whether a child in the outbox may be delivered: at once, unless it is staged;
// then when its parent's receipt names it. If the parent ended otherwise, the child is dropped.
// So is the child of a killed reroute, if another reroute made a child with the same id in its
// place: the new child is at the parent's home, or another key signed the receipt.
func (o *Outbox) Ready(ctx context.Context, id handoff.ID) (bool, error) {
	st, err := o.Staged().Get(id)
	if err != nil || st == nil {
		return st == nil, err
	}
	home, err := o.Workspace.Home(ctx, st.Home)
	if err != nil {
		return false, err
	}
	spec := lifecycle.WholeHandoffs(st.Parent)
	spec.Lanes = append(spec.Lanes, id)
	if err := home.Refresh(ctx, spec); err != nil {
		return false, err
	}
	s, err := o.Engine.Reader.Load(ctx, home, st.Parent)
	if err != nil {
		return false, err
	}
	if s.Receipt == nil {
		return false, nil // the reroute was interrupted, and must be repeated
	}
	there, err := o.Engine.Reader.Load(ctx, home, st.Child)
	if err != nil {
		return false, err
	}
	child, err := o.Engine.Verifier.Reload(ctx, refs.Outbox(st.Child.Agent, id))
	if err != nil {
		return false, err
	}
	// The receipt told the id to everybody. An offer of somebody else under it takes nothing away.
	stays := lifecycle.OfferedBy(there, s.Receipt.Key)
	if s.Receipt.Next == id && s.Receipt.Key == child.Record.Key && !stays {
		return true, o.Unstage(ctx, st.Child, false)
	}
	return false, o.Unstage(ctx, st.Child, true)
}
