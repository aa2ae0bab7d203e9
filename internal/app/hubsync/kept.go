package hubsync

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// outcome is the result of one step, or of one handoff.
type outcome struct {
	done *Done // nil if nothing was done
	err  error
}

// syncSteps takes the steps kept while a hub was down. The handoffs of the outbox go along, so a
// hub gets one push. A step whose claim was lost is dropped and reported.
func (r *syncing) syncSteps(ctx context.Context) ([]Done, error) {
	waiting, unlock, err := r.waiting(ctx)
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	defer unlock()
	defer r.lookAgain(ctx) // a step may have put a return handoff into the outbox
	steps := make([]*outcome, len(waiting))
	var tasks []func(context.Context)
	for i, h := range waiting {
		step, about, o := *h.Pending, isAboutOffer(h), &outcome{}
		steps[i] = o
		tasks = append(tasks, func(ctx context.Context) {
			o.done, o.err = r.takeKept(ctx, h)
			o.err = r.dropLost(ctx, h.ID, step, about, o.err)
		})
	}
	crossrepo.Together(ctx, append(tasks, r.alongside(waiting)...))
	return r.outcomeOf(steps)
}

// waiting lists the kept steps of this worktree. If there are any, it holds a lock until they
// are taken: two processes would otherwise both send a step, and both report it.
func (hd *Handler) waiting(ctx context.Context) (waiting []*work.Claim, unlock func(), err error) {
	if waiting, err = hd.Claims.Waiting(); err != nil || len(waiting) == 0 {
		return nil, nil, err
	}
	if unlock, err = private.Lock(ctx, hd.Engine.Repo.OwnWorktree("steps.lock")); err != nil {
		return nil, nil, err
	}
	waiting, err = hd.Claims.Waiting() // another process may have taken the steps meanwhile
	if err != nil || len(waiting) == 0 {
		unlock()
		return nil, nil, err
	}
	return waiting, unlock, nil
}

// outcomeOf returns everything done, with the first error. The reason of an untried or interrupted
// step is told only if there is no other error.
func (hd *Handler) outcomeOf(all []*outcome) (done []Done, err error) {
	t := tally{first: fault.First{Warn: hd.Workspace.Warn}}
	for _, o := range all {
		if o.done != nil {
			done = append(done, *o.done)
		}
		t.keep(o.err)
	}
	return done, cmp.Or(t.first.Err, t.untried)
}

// isUntried reports whether a step was not tried, or interrupted before it was sent.
func isUntried(err error) bool {
	return errors.Is(err, crossrepo.ErrNotTried) || errors.Is(err, context.Canceled) && !errors.Is(err, crossrepo.ErrInDoubt)
}

// alongside delivers the handoffs of the outbox without a kept step.
func (r *syncing) alongside(steps []*work.Claim) []func(context.Context) {
	r.along = map[*workspace.Item]*outcome{}
	var tasks []func(context.Context)
	for _, it := range r.out {
		hub, ok := it.Home.(*crossrepo.Hub)
		if !ok || it.Fault != nil || it.Kind != refs.KindOutbox || !r.wants(hub) {
			continue
		}
		a, id := r.at(hub), it.Place.ID
		staged, err := r.Outbox.Staged().Get(id)
		if a == nil || a.err != nil || staged != nil || err != nil || slices.ContainsFunc(steps, func(h *work.Claim) bool { return h.ID == id }) {
			continue
		}
		o := &outcome{}
		r.along[it] = o
		tasks = append(tasks, func(ctx context.Context) { r.syncItem(ctx, hub, it, lifecycle.WholeHandoffs(it.Place), o) })
	}
	return tasks
}

// isAboutOffer reports whether a kept step rejects an offer: nobody had claimed it, or the claim did not get to the hub
// and was given up.
func isAboutOffer(h *work.Claim) bool {
	return h.Pending.Nonce == "" || h.Pending.Event == record.Failed && !h.Held()
}

// dropLost drops a step which can never be taken: the agent may not reject, or the handoff never
// reached its hub. Otherwise each sync would report it.
func (hd *Handler) dropLost(ctx context.Context, id handoff.ID, step work.Step, aboutOffer bool, err error) error {
	if fault.CodeOf(err) != fault.Conflict &&
		(!aboutOffer || !fault.Is(err, fault.UntrustedKey) && !fault.Is(err, fault.UnknownHandoff)) {
		return err
	}
	derr := hd.Claims.Update(ctx, id, func(stored *work.Claim) error {
		// Another command of this worktree may have claimed the handoff again, and kept a step.
		if now := stored.Pending; now != nil && now.Nonce == step.Nonce && now.Event == step.Event {
			stored.Pending = nil
		}
		return nil
	})
	if derr != nil {
		return derr
	}
	return fault.New(fault.Conflict, fault.NotHolder, "dropped the queued step %q: %w", step.Event, err)
}

func (r *syncing) takeKept(ctx context.Context, h *work.Claim) (*Done, error) {
	step := h.Pending
	switch {
	case isAboutOffer(h):
		h = &work.Claim{ID: h.ID, Agent: h.Agent, Actor: h.Actor, Home: h.Home, Pending: step}
	case h.Nonce != step.Nonce:
		return nil, fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s was lost", h.ID)
	}
	if h.Actor != r.Agent {
		r.Workspace.Warn(fault.New(fault.Conflict, fault.NotHolder, "the step %q on %s waits for %s: githandoff --as %s sync", step.Event, h.ID, h.Actor, h.Actor))
		return nil, nil
	}
	home, err := r.Workspace.Home(ctx, h.Home)
	if err != nil {
		return nil, err
	}
	if hub, ok := home.(*crossrepo.Hub); ok && (!r.wants(hub) || r.at(hub).isDown()) {
		return nil, nil
	}
	e, err := r.Steps.Take(ctx, h, *step)
	if err != nil {
		return nil, err
	}
	return &Done{What: string(step.Event), ID: h.ID, Alias: r.Workspace.AliasOf(home), Record: e.State.Last(), Next: e.Next}, nil
}

// lookAgain lists the waiting handoffs again after steps were taken. Deliveries that went along
// stay, so that their outcome is reported.
func (r *syncing) lookAgain(ctx context.Context) {
	out, err := r.Workspace.Outgoing(ctx)
	r.keep(err)
	if err != nil {
		return
	}
	told := slices.DeleteFunc(r.out, func(it *workspace.Item) bool { return r.along[it] == nil })
	r.out = append(told, slices.DeleteFunc(out, func(it *workspace.Item) bool {
		return slices.ContainsFunc(told, func(sent *workspace.Item) bool { return sent.Place.ID == it.Place.ID })
	})...)
}
