package successor

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/workspace"
)

// CheckChain refuses a child of a handoff if the chain of parents has reached its limit: agents that hand their
// work to each other for ever are stopped. The hint says what to do instead.
func (m *Maker) CheckChain(ctx context.Context, env *handoff.Envelope, instead fault.Hint) error {
	links, err := m.chainLength(ctx, env)
	if err != nil || links < handoff.MaxChain {
		return err
	}
	return fault.New(fault.Policy, fault.ChainTooLong, "the chain of handoffs behind %s has %d links", env.ID, handoff.MaxChain).WithHints(instead)
}

// chainLength counts a handoff and its ancestors, at most handoff.MaxChain: by the lineage
// as far as it reaches, then by the log.
func (m *Maker) chainLength(ctx context.Context, env *handoff.Envelope) (int, error) {
	n, oldest := 1, env.Parent
	if len(env.Lineage) > 0 {
		n, oldest = 1+len(env.Lineage), env.Lineage[0].ID
		f, err := m.Workspace.Find(ctx, string(oldest), workspace.Never)
		if err != nil || f.State.Offer == nil {
			return n, ignoreNotFound(err)
		}
		oldest = f.State.Offer.Parent
	}
	for ; oldest != "" && n < handoff.MaxChain; n++ {
		f, err := m.Workspace.Find(ctx, string(oldest), workspace.Never)
		if err != nil || f.State.Offer == nil {
			return n + 1, ignoreNotFound(err)
		}
		oldest = f.State.Offer.Parent
	}
	return n, nil
}

// ignoreNotFound drops the error of an unknown home: its entries cannot be counted.
func ignoreNotFound(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}
