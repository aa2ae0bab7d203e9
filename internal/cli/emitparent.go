package cli

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// follow makes a handoff the child of another: of --parent, or of the one claim
// that this worktree holds. The child keeps the task and can still quote its
// ancestors after their payloads are gone.
func (a *app) follow(ctx context.Context, d *crossrepo.Desk, env *handoff.Envelope, parent string) error {
	if env.Parent != "" || len(env.Lineage) > 0 {
		return nil // the document says it itself
	}
	if parent == "" {
		held, err := d.Current()
		if err != nil {
			return nil // none, or more than one: no parent is meant
		}
		parent = string(held.ID)
	}
	above, err := d.Ancestor(ctx, parent)
	if err != nil {
		return err
	}
	links, err := d.ChainLength(ctx, above)
	if err != nil {
		return err
	}
	if links >= handoff.MaxChain {
		return fault.New(fault.Policy, "chain_too_long", "the chain of handoffs behind %s has %d links", above.ID, handoff.MaxChain).
			WithHint("begin a new one: emit from a worktree that holds nothing, without --parent")
	}
	next := handoff.Follow(above, env.CreatedAt, env.ExpiresAt)
	env.Parent, env.Lineage = next.Parent, next.Lineage
	if env.Task == "" {
		env.Task = next.Task
	}
	return nil
}
