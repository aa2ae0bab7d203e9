package emit

import (
	"cmp"
	"context"
	"errors"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// follow makes a handoff the child of another: of --parent, or of the only claim of this
// worktree. The child keeps the task and can still quote its ancestors after their payloads are
// gone. The child of a sealed handoff is sealed.
func (s *Handler) follow(ctx context.Context, env *handoff.Envelope, o *Options) error {
	if n := len(env.Lineage); env.Parent != "" || n > 0 { // the document names its parent
		parent := env.Parent
		if parent == "" {
			parent = env.Lineage[n-1].ID
		}
		_, sealed, err := s.ancestor(ctx, string(parent))
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err // whether the quoted parent was sealed is unknown
		}
		if sealed {
			s.sealToo(o, parent)
		}
		return nil
	}
	parent := o.Parent
	if parent == "" {
		held, err := s.Work.Current()
		if fault.Is(err, fault.NothingHeld) || fault.Is(err, fault.AmbiguousID) {
			return nil // no claim, or no single one, is held: the handoff gets no parent
		}
		if err != nil {
			return err // whether the held handoff was sealed is unknown
		}
		parent = string(held.ID)
	}
	above, sealed, err := s.ancestor(ctx, parent)
	if err != nil {
		return err
	}
	if sealed {
		s.sealToo(o, above.ID)
	}
	if err := s.Successors.CheckChain(ctx, above, fault.Fact("in a worktree that holds nothing, emit starts a new chain")); err != nil {
		return err
	}
	next := handoff.Follow(above, env.CreatedAt, env.ExpiresAt)
	env.Parent, env.Lineage = next.Parent, next.Lineage
	env.Task = cmp.Or(env.Task, next.Task)
	return nil
}

func (s *Handler) sealToo(o *Options, parent handoff.ID) {
	if !o.Seal {
		o.Seal = true
		s.Say("sealed, as %s is, which it follows from", parent)
	}
}

// ancestor returns the content of a new handoff's parent: open, sent, or kept in the archive. If
// it was erased, or is sealed for others, the content is made of its log entries. A handoff that
// follows from a sealed one must be sealed, too.
func (s *Handler) ancestor(ctx context.Context, arg string) (env *handoff.Envelope, sealed bool, err error) {
	f, err := s.Workspace.Find(ctx, arg, workspace.Never)
	if err != nil {
		return nil, false, err
	}
	if len(f.State.Chain) > 0 && f.State.Receipt == nil {
		v, err := s.Engine.Verifier.Verify(ctx, f.Home, f.State, lifecycle.Options{AllowExpired: true, AsKnown: true, Lapsed: true})
		if errors.Is(err, sign.ErrSealed) {
			return lifecycle.Outline(f.State.Offer), true, nil
		}
		if err != nil {
			return nil, false, err
		}
		return v.Envelope(), v.Sealed(), nil
	}
	to := f.Place().Agent
	if f.State.Offer != nil {
		to = f.State.Offer.To // a route does not move what was sent
	}
	for _, ref := range []string{refs.Archive(f.State.ID), refs.Sent(to, f.State.ID), refs.Outbox(to, f.State.ID)} {
		p, err := s.Engine.Verifier.Reload(ctx, ref)
		if err == nil {
			return p.Envelope, p.Sealed, nil
		}
		if fault.CodeOf(err) != fault.NotFound {
			return nil, false, err
		}
	}
	if f.State.Offer == nil {
		return nil, false, f.State.Err()
	}
	sealed, err = s.Engine.Verifier.IsSealed(ctx, f.State)
	if fault.Is(err, fault.UnknownHandoff) || fault.Is(err, fault.MissingObject) {
		// The content was never here, or git has removed some of it since.
		err = nil
	}
	r := f.State.Offer
	return &handoff.Envelope{ID: f.State.ID, Task: r.Task, Source: handoff.Source{Agent: r.From}}, sealed, err
}
