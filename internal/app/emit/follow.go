package emit

import (
	"cmp"
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// follow makes a handoff the child of another: of --parent, or of the only claim of this
// worktree. The child keeps the task and can still quote its ancestors after their payloads are
// gone. The child of a sealed handoff is sealed.
func (s *Handler) follow(ctx context.Context, env *handoff.Envelope, o *Options) error {
	if n := len(env.Lineage); env.Parent != "" || n > 0 { // the document says it itself
		parent := env.Parent
		if parent == "" {
			parent = env.Lineage[n-1].ID
		}
		_, sealed, err := s.ancestor(ctx, string(parent))
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err // nobody can tell whether what it quotes was sealed
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
			return nil // no parent is meant
		}
		if err != nil {
			return err // nobody can tell whether what is held was sealed
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
	links, err := s.chainLength(ctx, above)
	if err != nil {
		return err
	}
	if links >= handoff.MaxChain {
		return fault.New(fault.Policy, fault.ChainTooLong, "the chain of handoffs behind %s has %d links", above.ID, handoff.MaxChain).
			WithHints(fault.Fact("in a worktree that holds nothing, emit starts a new chain"))
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
