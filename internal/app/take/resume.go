package take

import (
	"context"
	"errors"
	"time"

	"githandoff/internal/annotate"
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

// Resume finds a handoff for this agent and claims it. A lock of this worktree
// is held until the grant is closed, so that two sessions do not take the same
// one.
func (t *Handler) Resume(ctx context.Context, q Request) (*Result, error) {
	if len(t.Workspace.Inboxes()) == 0 {
		return nil, fault.New(fault.Usage, fault.NoIdentity, "%s is a person; only agents take handoffs", t.Agent).
			WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists waiting handoffs"),
				fault.Run("githandoff", "route").Because("lists the handoffs that need a decision"))
	}
	unlock, err := private.Lock(ctx, t.Repo.OwnWorktree("resume.lock"))
	if err != nil {
		return nil, err
	}
	if err := t.adopt(ctx); err != nil {
		unlock()
		return nil, err
	}
	t.Workspace.ForgetLanes() // whoever waits asks again each time
	var g *Result
	err = t.Workspace.DeferWarnings(func() (err error) {
		g, err = t.resume(ctx, q)
		return err
	})
	if err != nil {
		unlock()
		return nil, err
	}
	g.claims, g.unlock = t.Claims, unlock
	return g, nil
}

func (t *Handler) resume(ctx context.Context, q Request) (*Result, error) {
	if q.Arg != "" {
		return t.resumeByID(ctx, q)
	}
	if !q.Peek {
		if !q.Here {
			if err := t.Workspace.Recover(ctx); err != nil {
				t.Workspace.Warn(err)
			}
		}
		if g, err := t.finishUnprinted(ctx, q); g != nil || err != nil {
			return g, err
		}
		if !q.Next {
			if g, err := t.showHeld(ctx, q); g != nil || err != nil {
				return g, err
			}
		}
	}
	g, err := t.resumeAny(ctx, q)
	if fault.CodeOf(err) == fault.NotFound && !q.Peek {
		// The push of one that was killed may have landed since.
		if late, lerr := t.finishUnprinted(ctx, q); late != nil || lerr != nil {
			return late, lerr
		}
	}
	return g, err
}

// finishUnprinted finishes a claim that was recorded and whose content was never
// shown: this command was killed in between.
func (t *Handler) finishUnprinted(ctx context.Context, q Request) (*Result, error) {
	held, err := t.Claims.All()
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		if h.Printed || h.Actor != t.Agent {
			continue
		}
		if q.Here && !t.Local.Is(h.Home) {
			continue
		}
		home, err := t.Workspace.Home(ctx, h.Home)
		if err == nil {
			err = home.Refresh(ctx, crossrepo.WholeHandoff(h.Proof().Place))
		}
		if err != nil {
			t.Workspace.Warn(err)
			continue
		}
		s, err := t.Engine.Reader.Load(ctx, home, h.Proof().Place)
		if err != nil {
			return nil, err
		}
		if isOurs(s, h) {
			return t.claim(ctx, home, h.Proof().Place, q, true)
		}
		// Not there, or half, or not any more. A push that outlived us may still bring
		// it, so a young one is remembered.
		if superseded(s, h) || t.Engine.Now().Sub(h.At) > 10*time.Minute {
			if err := release(ctx, t.Claims, h); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// claim claims one handoff, whose part of the home was refreshed.
func (t *Handler) claim(ctx context.Context, home lifecycle.Home, p lifecycle.Place, q Request, byID bool) (*Result, error) {
	if q.Peek {
		s, err := t.Engine.Reader.Load(ctx, home, p)
		if err != nil {
			return nil, err
		}
		v, err := t.Engine.Verifier.Verify(ctx, home, s, lifecycle.Options{AllowExpired: q.AllowExpired})
		if err == nil {
			err = q.fits(v)
		}
		return &Result{Verified: v, Home: home}, err
	}
	held, err := t.Claims.Get(p.ID)
	if err != nil {
		return nil, err
	}
	if held != nil && held.Ended {
		held = nil
	}
	if hub, ok := home.(*crossrepo.Hub); ok && held == nil {
		if err := crossrepo.KeepsRefs(hub); err != nil {
			return nil, err // what is begun there could not be ended
		}
	}
	shown := held != nil && held.Printed
	v, err := t.Engine.Claim(ctx, home, lifecycle.ClaimRequest{
		Place: p, Lease: q.Lease, AllowExpired: q.AllowExpired, ByID: byID, Fits: q.fits,
		Mine: func(nonce string) bool { return held.Mine(nonce) },
		Record: func(r *record.Record) error {
			return t.Claims.Update(ctx, p.ID, func(stored *work.Claim) error {
				next := work.ClaimOf(p, r)
				if stored.Held() {
					next.Earlier = append(stored.Earlier, stored.Nonce)
				}
				next.Pending = stored.Pending
				held, *stored = next, *next
				return nil
			})
		},
	})
	if err != nil {
		return nil, err
	}
	if v, err = t.renew(ctx, home, v, held, q); err != nil {
		return nil, err
	}
	s := v.State()
	if held.Nonce != s.Claim.Nonce || !held.Lease.Equal(s.Lease) {
		held.Nonce, held.At, held.Lease = s.Claim.Nonce, s.Chain[len(s.Chain)-1].Commit.Record.At, s.Lease
		err := t.Claims.Update(ctx, held.ID, func(stored *work.Claim) error {
			stored.Nonce, stored.At, stored.Lease = held.Nonce, held.At, held.Lease
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	t.Notes.Add(annotate.Subject(v.Envelope(), v.Sealed()), home, s.Claim)
	t.Notes.Try(ctx)
	return &Result{Verified: v, Home: home, Holder: held, Again: shown && held.Printed}, nil
}

// resumeAny claims one of the oldest offers.
func (t *Handler) resumeAny(ctx context.Context, q Request) (*Result, error) {
	var down error
	passed := &passed{warn: t.Workspace.Warn, ids: map[handoff.ID]bool{}}
	defer passed.sum()
	kept, err := t.Claims.Waiting()
	if err != nil {
		return nil, err
	}
	for _, h := range kept { // what this worktree rejected while its hub was down
		passed.ids[h.ID] = true
	}
	homes := []lifecycle.Home{t.Local}
	if !q.Here {
		homes = t.Workspace.Sources(ctx, &down)
	}
	g, ask, err := t.resumeKnown(ctx, homes, passed, q)
	if g != nil || fault.CodeOf(err) != 0 && fault.CodeOf(err) != fault.Unavailable {
		return g, err
	}
	if err != nil {
		down = err
	}
	t.lookAt(ctx, ask, &down)
	for {
		offers, err := t.offers(ctx, homes, passed)
		if err != nil {
			return nil, err
		}
		if len(offers) == 0 {
			break
		}
		g, err := t.claimOne(ctx, offers, passed, q)
		if err != nil {
			return nil, err
		}
		if g != nil {
			if down != nil {
				t.Workspace.Warn(down)
			}
			if hub, ok := g.Home.(*crossrepo.Hub); ok && passed.lost == 0 {
				crossrepo.Met(hub, false)
			}
			return g, nil
		}
	}
	return nil, errNothing(t.Agent, passed, down)
}

// lookAt brings in what homes have for this agent. The first error becomes that of the
// command, unless something is found; the others are warnings.
func (t *Handler) lookAt(ctx context.Context, homes []lifecycle.Home, down *error) {
	for _, err := range workspace.RefreshEach(ctx, homes, look(t)) {
		switch {
		case err == nil:
		case *down == nil:
			*down = err
		default:
			t.Workspace.Warn(err)
		}
	}
}

// errNothing says why no offer was claimed.
func errNothing(agent string, passed *passed, down error) error {
	switch {
	case passed.refused > 0:
		return fault.New(fault.Denied, fault.Refused, "every handoff that waits for %s was refused", agent).
			WithHints(passed.whyRefused()...)
	case down != nil:
		return down
	case passed.unfit != nil:
		return passed.unfit
	}
	return fault.New(fault.NotFound, fault.NothingPending, "nothing waits for %s", agent).
		WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists the handoffs that wait for others"),
			fault.Run("githandoff", "resume", "--wait", "10m").Because("waits for one"))
}

// claimOne claims the first of some offers that it can. It returns nil when they were all
// refused, or when others were faster: then it is time to choose again, from what the look
// after the lost claim showed.
func (t *Handler) claimOne(ctx context.Context, offers []*workspace.Item, passed *passed, q Request) (*Result, error) {
	for i, it := range offers {
		// Where one was refused others may be: they share a trip.
		if err := t.refreshLanes(ctx, offers[i:min(i+max(i*i, 1), len(offers))]); err != nil {
			return nil, err
		}
		g, looked, err := t.attempt(ctx, it, q)
		if errors.As(err, new(unfit)) {
			passed.ids[it.Place.ID], passed.unfit = true, err
			continue
		}
		switch fault.CodeOf(err) {
		case 0:
			return g, nil
		case fault.Conflict:
			passed.ids[it.Place.ID] = true
			if fault.Is(err, fault.Replayed) {
				continue
			}
			if passed.lost++; passed.lost%lostInARow == 0 {
				if err := refs.Pause(ctx, passed.lost/lostInARow); err != nil {
					return nil, err
				}
			}
			if looked {
				return nil, nil
			}
			return nil, it.Home.Refresh(ctx, look(t))
		case fault.Denied, fault.Invalid, fault.Policy, fault.NotFound:
			passed.refuse(it.Place.ID, err)
		default:
			return nil, err
		}
	}
	return nil, nil
}

// lostInARow is after how many lost claims there is a pause of random length.
const lostInARow = 2

// refreshLanes brings in the lane of the first of some offers, unless this
// command has done so; those of the others at that home come along.
func (t *Handler) refreshLanes(ctx context.Context, offers []*workspace.Item) error {
	first := offers[0]
	if first.Home.LaneIsFresh(first.Place.ID) {
		return nil
	}
	spec := lifecycle.FetchSpec{Once: true}
	for _, it := range offers {
		if it.Home == first.Home {
			spec.Lanes = append(spec.Lanes, it.Place.ID)
		}
	}
	return first.Home.Refresh(ctx, spec)
}
