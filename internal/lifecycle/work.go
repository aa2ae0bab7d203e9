package lifecycle

import (
	"bytes"
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// The snapshot of a handoff has a ref of its own beside the inbox ref, under the same agent and
// id. Each transaction making, moving or deleting the inbox ref does the same to it. The
// snapshot's ref is listed first. Whatever prefix of a transaction a killed git leaves, a
// present handoff then has its snapshot, and a remaining snapshot has its handoff, by which it
// is found and swept.

// WorkOf returns the snapshot named in the envelope of a handoff; nil if there is none. The signer
// is not verified: the snapshot only serves to find the ref, and the ref is leased at the
// commit.
func (vr *Verifier) WorkOf(ctx context.Context, s *State) *handoff.Work {
	if len(s.Chain) == 0 {
		return nil
	}
	env, err := vr.LoadUnverified(ctx, s)
	if err != nil {
		return nil // a sealed payload has no snapshot, and a malformed one was never taken
	}
	return env.Work
}

// WorkAt returns the snapshot named in the payload below a commit of an inbox ref; nil if there is
// none. Nothing is verified.
func WorkAt(ctx context.Context, repo *refs.Repo, tip string) (*handoff.Work, error) {
	o, err := repo.Read(ctx, tip+":"+envelopeName, handoff.MaxEnvelope)
	switch {
	case fault.CodeOf(err) == fault.Denied:
		return nil, nil // a payload that is too large is refused wherever it is read
	case err != nil || o == nil || o.Type != "blob" || !bytes.Contains(o.Body, []byte(`"work":{`)):
		return nil, err
	}
	env, err := handoff.Decode(o.Body)
	if err != nil {
		return nil, nil //nolint:nilerr // a malformed envelope is refused wherever it is read
	}
	return env.Work, nil
}

// BringWork makes the snapshot of a handoff readable here, before a step moves it: a push needs
// the objects it sends.
func BringWork(ctx context.Context, repo *refs.Repo, home Home, s *State, w *handoff.Work) error {
	if w == nil {
		return nil
	}
	o, err := repo.Read(ctx, w.Commit, MaxWork)
	if err != nil || o != nil {
		return err
	}
	if hub, ok := home.(RemoteHome); ok {
		return hub.FetchWork(ctx, Place{Agent: s.Agent, ID: s.ID}, w.Commit)
	}
	return fault.New(fault.NotFound, fault.NoSnapshot, "the snapshot of handoff %s is gone", s.ID).
		WithHints(fault.See("reroute").Because("--no-snapshot sends it on without"))
}

// ForgetWork drops the copy of a snapshot fetched from a hub, after a refused or an interrupted step. A
// successful step does so itself. A copy that cannot be dropped stays: the receipt drops it, and so does
// gc.
func ForgetWork(ctx context.Context, repo *refs.Repo, home Home, p Place) {
	if !IsLocal(home) {
		_ = refs.Drop(context.WithoutCancel(ctx), repo, home.Namespace().Work(p.Agent, p.ID))
	}
}

// MaxWork bounds the commit of a snapshot, in bytes.
const MaxWork = 4 << 20

// fixWork returns the edits to settle an unfinished edit of a snapshot's ref. Forward means the
// step is in the log. This clone has no copy of such a ref of a hub. Then fixWork returns the edit
// without looking, and the home finds out whether it is made already.
func (rc *Recovery) fixWork(ctx context.Context, home Home, edit refs.Edit, forward bool) (fix []refs.Edit, err error) {
	p, _ := home.Namespace().ParseWork(edit.Ref)
	now := edit.New
	if edit.New == "" {
		now = edit.Old
	}
	if IsLocal(home) {
		if now, err = rc.Repo.Resolve(ctx, edit.Ref); err != nil {
			return nil, err
		}
	}
	switch {
	case forward && edit.New == "" && now == edit.Old:
		return []refs.Edit{edit}, nil
	case !forward && edit.New != "" && now == edit.New:
		s, err := rc.Reader.Load(ctx, home, Place{Agent: p.Agent, ID: p.ID})
		if err != nil || s.Offer != nil && s.To == p.Agent {
			return nil, err // the same step was taken again meanwhile
		}
		return []refs.Edit{{Ref: edit.Ref, Old: edit.New}}, nil
	}
	return nil, nil
}

// KeptWork returns the edit keeping the snapshot of a handoff sent to a hub, until its receipt is
// seen.
func (p *Payload) KeptWork() []refs.Edit {
	if p.Envelope.Work == nil {
		return nil
	}
	return []refs.Edit{{Ref: refs.WorkOut(p.Record.ID), New: p.Envelope.Work.Commit}}
}
