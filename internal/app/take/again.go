package take

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/work"
)

// adopt takes over the claims of this agent in worktrees of this clone that were
// removed: it is the same agent, with the same key, and nobody else can finish them.
func (t *Handler) adopt(ctx context.Context) error {
	return t.Claims.Adopt(ctx, t.Repo, t.Agent, t.Engine.Author.Signer.KID())
}

// showHeld shows what this worktree holds: an agent that starts anew goes on with its
// work before it takes more. Nil where nothing is held. Claims that somebody else
// ended are closed, with a warning.
func (t *Handler) showHeld(ctx context.Context, q Request) (*Result, error) {
	held, _, err := t.Work.Split()
	if q.Here {
		held = slices.DeleteFunc(held, func(h *work.Claim) bool { return !t.Local.Is(h.Home) })
	}
	if err != nil || len(held) == 0 {
		return nil, err
	}
	if err := t.refreshHeld(ctx, held); err != nil {
		return nil, err
	}
	var stands []*work.Standing
	for _, h := range held {
		st, err := t.Work.Standing(ctx, h)
		if err != nil {
			return nil, err
		}
		if st.Over == nil {
			stands = append(stands, st)
			continue
		}
		if err := t.Work.Close(ctx, st); err != nil {
			return nil, err
		}
		if !st.Own() {
			t.Workspace.Warn(work.LostClaim(st))
		}
	}
	switch len(stands) {
	case 0:
		return nil, nil
	case 1:
		h := stands[0].Holder
		home, err := t.Workspace.Home(ctx, h.Home)
		if err != nil {
			return nil, err
		}
		return t.claim(ctx, home, h.Proof().Place, q, true)
	}
	return nil, t.errSeveral(stands)
}

// errSeveral asks for an id where several claims are held.
func (t *Handler) errSeveral(stands []*work.Standing) error {
	var held []*work.Claim
	var hints []fault.Hint
	for _, st := range stands {
		held = append(held, st.Holder)
		if len(hints) < 2 {
			h := fault.Run("githandoff", "resume", string(st.Holder.ID))
			if offer := offerOf(st); offer != "" {
				h = h.Because("from %s", offer)
			}
			hints = append(hints, h)
		}
	}
	hints = append(hints, fault.Run("githandoff", "resume", "--next").Because("takes another one"))
	return fault.New(fault.Usage, fault.AmbiguousID, "%s holds %d handoffs: %s", t.Agent, len(held), work.ShortIDs(held)).WithHints(hints...)
}

func offerOf(st *work.Standing) string {
	if st.State == nil || st.State.Offer == nil {
		return ""
	}
	return st.State.Offer.From
}

// refreshHeld fetches the states of some claims from their homes. If a hub is down, the
// last known state counts, with a warning: an agent that starts anew while it is offline
// still finds its work.
func (t *Handler) refreshHeld(ctx context.Context, held []*work.Claim) error {
	wants := map[string]*lifecycle.FetchSpec{}
	for _, h := range held {
		w := wants[h.Home]
		if w == nil {
			w = &lifecycle.FetchSpec{}
			wants[h.Home] = w
		}
		w.Places, w.Lanes = append(w.Places, h.Proof().Place), append(w.Lanes, h.ID)
	}
	for repoID, want := range wants {
		home, err := t.Workspace.Home(ctx, repoID)
		if err == nil {
			err = home.Refresh(ctx, *want)
		}
		if fault.CodeOf(err) == fault.Unavailable {
			t.Workspace.Warn(err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// renew gives a claim of ours whose lease ran out a new one, if it still may have
// one: what is shown to an agent as held must be held.
func (t *Handler) renew(ctx context.Context, home lifecycle.Home, v *lifecycle.Verified, h *work.Claim, q Request) (*lifecycle.Verified, error) {
	if !v.State().Overdue(t.Engine.Now()) {
		return v, nil
	}
	holding := lifecycle.ClaimProof{Place: lifecycle.Place{Agent: v.State().Agent, ID: v.State().ID}, Nonce: v.State().Claim.Nonce}
	_, err := t.Engine.Progress(ctx, home, holding, q.Lease, "")
	switch code := fault.CodeOf(err); {
	case code == fault.Unavailable, code == fault.Denied, code == fault.Policy:
		t.Workspace.Warn(fault.New(code, fault.As(err).Reason, "the lease of handoff %s ended at %s and is not renewed: %w", h.ID, handoff.FormatTime(v.State().Lease), err))
		return v, nil
	case err != nil:
		return nil, err
	}
	return t.Engine.Claim(ctx, home, lifecycle.ClaimRequest{
		Place: holding.Place, Lease: q.Lease, ByID: true, AllowExpired: true, Fits: q.fits, Mine: h.Mine,
		Record: func(*record.Record) error {
			return fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s was lost", h.ID)
		},
	})
}
