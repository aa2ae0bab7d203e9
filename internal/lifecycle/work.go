package lifecycle

import (
	"bytes"
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// The snapshot of a handoff has a ref of its own beside the inbox ref, under the same
// agent and id. Each transaction that makes, moves or deletes the inbox ref does the
// same to it. It is listed before the inbox ref: whatever prefix of a transaction a
// killed git leaves, a handoff that is there has its snapshot, and a snapshot that is
// still there has its handoff, by which it is found and swept.

// WorkOf is the snapshot that the envelope of a handoff names, nil if it names none. The
// signer is not verified: the snapshot is only used to find the ref, which is leased at
// the commit.
func (vr *Verifier) WorkOf(ctx context.Context, s *State) *handoff.Work {
	if len(s.Chain) == 0 {
		return nil
	}
	env, err := vr.LoadUnverified(ctx, s)
	if err != nil {
		return nil // sealed for others, which carries none, or malformed, which nobody took
	}
	return env.Work
}

// WorkAt is the snapshot that the payload below a commit of an inbox ref names, nil if it
// names none. Nothing is verified.
func WorkAt(ctx context.Context, repo *refs.Repo, tip string) (*handoff.Work, error) {
	o, err := repo.Read(ctx, tip+":"+envelopeName, handoff.MaxEnvelope)
	switch {
	case fault.CodeOf(err) == fault.Denied:
		return nil, nil // it is refused for its size wherever it is read
	case err != nil || o == nil || o.Type != "blob" || !bytes.Contains(o.Body, []byte(`"work":{`)):
		return nil, err
	}
	env, err := handoff.Decode(o.Body)
	if err != nil {
		return nil, nil //nolint:nilerr // a malformed envelope is refused wherever it is read
	}
	return env.Work, nil
}

// BringWork makes the snapshot of a handoff readable here, for a step that moves it: a push
// needs the objects that it sends.
func BringWork(ctx context.Context, repo *refs.Repo, home Home, s *State, w *handoff.Work) error {
	if w == nil {
		return nil
	}
	o, err := repo.Read(ctx, w.Commit, maxWork)
	if err != nil || o != nil {
		return err
	}
	if hub, ok := home.(RemoteHome); ok {
		return hub.FetchWork(ctx, Place{Agent: s.Agent, ID: s.ID}, w.Commit)
	}
	return fault.New(fault.NotFound, fault.NoSnapshot, "the snapshot of handoff %s is gone", s.ID)
}

// ForgetWork lets go of the copy of a snapshot that was brought here from a hub, after a step
// that was refused. A step that is taken does so itself.
func ForgetWork(ctx context.Context, repo *refs.Repo, home Home, p Place) error {
	if home.Namespace() == refs.LocalNamespace {
		return nil
	}
	ref := home.Namespace().Work(p.Agent, p.ID)
	old, err := repo.Resolve(ctx, ref)
	if err != nil || old == "" {
		return err
	}
	return repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref, Old: old}}})
}

const maxWork = 4 << 20 // bytes of the commit of a snapshot

// fixWork returns the edits that settle an edit of a snapshot's ref that was begun. Forward
// says that the step is in the log. The copies of a hub do not have such a ref: then the
// home is told what to do, and finds out whether it is done.
func (rc *Recovery) fixWork(ctx context.Context, home Home, edit refs.Edit, forward bool) (fix []refs.Edit, err error) {
	p, _ := home.Namespace().ParseWork(edit.Ref)
	now := edit.New
	if edit.New == "" {
		now = edit.Old
	}
	if home.Namespace() == refs.LocalNamespace {
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
			return nil, err // the same step was taken again since
		}
		return []refs.Edit{{Ref: edit.Ref, Old: edit.New}}, nil
	}
	return nil, nil
}

// KeptWork is the edit that keeps the snapshot of a handoff that goes to a hub, until its
// receipt is seen.
func (p *Payload) KeptWork() []refs.Edit {
	if p.Envelope.Work == nil {
		return nil
	}
	return []refs.Edit{{Ref: refs.WorkOut(p.Record.ID), New: p.Envelope.Work.Commit}}
}
