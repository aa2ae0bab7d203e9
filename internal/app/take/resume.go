package take

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// Await is like Resume, repeated until the deadline with growing pauses while no handoff waits, or
// while a hub is down or busy. It warns of such a hub once.
func (t *Handler) Await(ctx context.Context, q Request, deadline time.Time) (*Result, error) {
	warned := false
	for pause := time.Second; ; pause = min(pause*3/2, 30*time.Second) {
		g, err := t.Resume(ctx, q)
		left := deadline.Sub(t.Engine.Now())
		if err == nil || left <= 0 || !mayPass(err) || q.Arg != "" && fault.Is(err, fault.NoSuchKey) {
			return g, err
		}
		if fault.CodeOf(err) == fault.Unavailable && !warned {
			t.Workspace.Warn(fmt.Errorf("%w; still waiting, until %s", err, handoff.FormatTime(deadline)))
			warned = true
		}
		if err := refs.Wait(ctx, min(pause, left)); err != nil {
			return nil, err
		}
	}
}

// mayPass reports whether a later try may succeed. A refusing hub will refuse again, and a wrong
// name stays wrong.
func mayPass(err error) bool {
	switch fault.CodeOf(err) {
	case fault.Unavailable:
		return slices.Contains([]fault.Reason{fault.RemoteUnavailable, fault.HubLocked, fault.Locked, fault.Busy}, fault.As(err).Reason)
	case fault.NotFound:
		return !fault.Is(err, fault.UnknownAlias)
	}
	return false
}

// Resume finds a handoff for this agent and claims it. A lock of this worktree is held until the
// result is closed, so two sessions do not take the same one. A look at one takes no lock and writes no
// record: the sandbox of an agent may forbid it.
func (t *Handler) Resume(ctx context.Context, q Request) (*Result, error) {
	if len(t.Workspace.Inboxes()) == 0 {
		return nil, fault.New(fault.Usage, fault.NoIdentity, "%s is a person; only agents take handoffs", t.Agent).
			WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists waiting handoffs"),
				fault.Run("githandoff", "route").Because("lists the handoffs that need a decision"))
	}
	unlock := func() {}
	if !q.Peek {
		var err error
		if unlock, err = private.Lock(ctx, t.Engine.Repo.OwnWorktree("resume.lock")); err != nil {
			return nil, err
		}
		// Claims of removed worktrees of this clone belong to the same agent, with the same key, and
		// nobody else can finish them.
		if err := t.Claims.Adopt(ctx, t.Agent, t.Engine.Author.Signer.KID()); err != nil {
			unlock()
			return nil, err
		}
	}
	tell := t.Workspace.HoldWarnings()
	s := &search{Handler: t, Request: q}
	g, err := s.run(ctx)
	if err != nil && q.Again != nil && q.Again(err) {
		s = &search{Handler: t, Request: q}
		g, err = s.run(ctx)
	}
	for _, w := range s.problems {
		t.Workspace.Warn(w)
	}
	tell(err)
	if err != nil {
		unlock()
		return nil, err
	}
	g.claims, g.unlock = t.Claims, unlock
	return g, nil
}

// run finds the handoff that was asked for, or the next one.
func (t *search) run(ctx context.Context) (*Result, error) {
	t.Workspace.AskAgain() // also with each try of a wait
	if t.Arg != "" {
		return t.resumeByID(ctx)
	}
	return t.resumeNext(ctx)
}

// resumeNext continues a claim of this worktree, or one which may be its own. If there is none,
// it claims an offer.
func (t *search) resumeNext(ctx context.Context) (g *Result, err error) {
	if !t.Peek {
		if !t.OnlyLocal {
			if err := t.Workspace.Recover(ctx); err != nil {
				t.Workspace.Warn(err)
			}
		}
		g, err = t.finishUnprinted(ctx)
		if g == nil && err == nil && !t.Next {
			g, err = t.showHeld(ctx)
		}
	}
	if g == nil && err == nil {
		offers := &choice{search: t, skipped: map[handoff.ID]bool{}}
		g, err = offers.resumeAny(ctx)
	}
	if fault.CodeOf(err) == fault.NotFound && !t.Peek {
		// The push of a killed resume may have landed since.
		if late, lerr := t.finishUnprinted(ctx); late != nil || lerr != nil {
			g, err = late, lerr
		}
	}
	if t.down != nil && !errors.Is(err, t.down) {
		t.problems = append(t.problems, t.down)
	}
	return g, err
}

// finishUnprinted finishes a recorded claim whose content was never shown: a resume was killed in
// between, or the hub went away. Each home is asked once for all such claims.
func (t *search) finishUnprinted(ctx context.Context) (*Result, error) {
	held, err := t.Claims.Held()
	if err != nil {
		return nil, err
	}
	held = slices.DeleteFunc(held, func(h *work.Claim) bool {
		return h.Printed || h.Actor != t.Agent || t.OnlyLocal && !t.Local.Is(h.Home)
	})
	answers := map[lifecycle.Home]error{} // answers of the homes asked so far
	for _, h := range held {
		home, err := t.Workspace.Home(ctx, h.Home)
		if err != nil {
			t.homeFailed(nil, err)
			continue
		}
		if !t.refreshUnprinted(ctx, home, h, held, answers) {
			continue
		}
		s, err := t.Engine.Reader.Load(ctx, home, h.Place())
		if err != nil {
			return nil, err
		}
		if h.InForce(s) {
			return t.claim(ctx, home, lifecycle.ClaimRequest{Place: h.Place(), ByID: true})
		}
		// The claim is missing, half applied, or over. A push of a killed resume may still bring
		// it, so a young one is kept.
		if superseded(s, h) || t.Engine.Now().Sub(h.At) > 10*time.Minute {
			if err := t.forget(ctx, h); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// refreshUnprinted fetches the state of a claim that was never shown, and with it those of all
// others at the same home. It asks a home once, and adds its answer to answers. It reports whether
// the state is here. Without the state nothing is known about the claim, so, unlike after
// [search.refreshHeld], a later resume decides.
func (t *search) refreshUnprinted(ctx context.Context, home lifecycle.Home, h *work.Claim, held []*work.Claim, answers map[lifecycle.Home]error) bool {
	err, asked := answers[home]
	switch {
	case slices.Contains(t.passedOver, home), err != nil && !fault.Is(err, fault.Rollback):
		return false
	case !asked:
		err = home.Refresh(ctx, lifecycle.WholeHandoffs(placesAt(home, held)...))
		answers[home] = err
	}
	if fault.Is(err, fault.Rollback) { // perhaps the lane of another claim was rewritten
		err = home.Refresh(ctx, lifecycle.FetchSpec{Lanes: []handoff.ID{h.ID}, Once: true})
	}
	t.homeFailed(home, err)
	return err == nil
}

// placesAt lists the places of the claims made at a home.
func placesAt(home lifecycle.Home, held []*work.Claim) (places []lifecycle.Place) {
	for _, h := range held {
		if home.Is(h.Home) {
			places = append(places, h.Place())
		}
	}
	return places
}

// showHeld shows the held handoff of this worktree: a new session goes on with its work before it
// takes more. Nil if nothing is held. Claims ended by others are closed, with a warning.
func (t *search) showHeld(ctx context.Context) (*Result, error) {
	held, _, err := t.Work.Split()
	if t.OnlyLocal {
		held = slices.DeleteFunc(held, func(h *work.Claim) bool { return !t.Local.Is(h.Home) })
	}
	if err != nil || len(held) == 0 {
		return nil, err
	}
	if err := t.refreshHeld(ctx, held); err != nil {
		return nil, err
	}
	stands, lost, err := t.Work.CloseEnded(ctx, held)
	for _, st := range lost {
		t.Workspace.Warn(work.LostClaim(st))
	}
	if err != nil {
		return nil, err
	}
	switch len(stands) {
	case 0:
		return nil, nil
	case 1:
		h := stands[0].Claim
		home, err := t.Workspace.Home(ctx, h.Home)
		if err != nil {
			return nil, err
		}
		return t.claim(ctx, home, lifecycle.ClaimRequest{Place: h.Place(), ByID: true})
	}
	return nil, errSeveral(t.Agent, stands)
}

// refreshHeld fetches the states of some claims from their homes. If a hub is down, the last
// known state counts, with a warning: a new session finds its work even while offline.
func (t *search) refreshHeld(ctx context.Context, held []*work.Claim) error {
	asked := map[lifecycle.Home]bool{}
	for _, h := range held {
		home, err := t.Workspace.Home(ctx, h.Home)
		if err == nil && !asked[home] {
			asked[home] = true
			err = home.Refresh(ctx, lifecycle.WholeHandoffs(placesAt(home, held)...))
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

// errSeveral asks for an id where several claims are held.
func errSeveral(agent string, stands []*work.Standing) error {
	var held []*work.Claim
	var hints []fault.Hint
	for _, st := range stands {
		held = append(held, st.Claim)
		if len(hints) < 2 {
			h := fault.Run("githandoff", "resume", string(st.Claim.ID))
			if s := st.State; s != nil && s.Offer != nil {
				h = h.Because("from %s", s.Offer.From)
			}
			hints = append(hints, h)
		}
	}
	hints = append(hints, fault.Run("githandoff", "resume", "--next").Because("takes another one"))
	return fault.New(fault.Usage, fault.AmbiguousID, "%s holds %d handoffs: %s", agent, len(held), work.ShortIDs(held)).WithHints(hints...)
}
