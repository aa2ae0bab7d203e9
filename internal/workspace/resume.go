package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
)

// window is how many of the oldest offers one is picked from at random: with
// the very oldest, a herd of agents would all run for the same one.
const window = 32

// Resume finds a handoff for this agent and claims it. A lock of this worktree
// is held until the grant is closed, so that two sessions do not take the same
// one.
func (d *Workspace) Resume(ctx context.Context, q Query) (*Grant, error) {
	if len(d.Inboxes()) == 0 {
		return nil, fault.New(fault.Usage, fault.NoIdentity, "%s is a person, and takes no handoffs: agents do", d.Agent).
			WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists what waits"),
				fault.Run("githandoff", "route").Because("shows what waits for a decision"))
	}
	unlock, err := lock(ctx, d.Repo.OwnWorktree("resume.lock"))
	if err != nil {
		return nil, err
	}
	if err := d.adopt(ctx); err != nil {
		unlock()
		return nil, err
	}
	for _, hub := range d.hubs { // who waits asks anew each time
		hub.Forget()
	}
	g, err := d.said(func() (*Grant, error) { return d.resume(ctx, q) })
	if err != nil {
		unlock()
		return nil, err
	}
	g.claims, g.unlock = d.Claims, unlock
	return g, nil
}

// said holds back what is warned of until it is known how something ends: an
// error is not said twice.
func (d *Workspace) said(do func() (*Grant, error)) (*Grant, error) {
	warn := d.Warn
	defer func() { d.Warn = warn }()
	var held []error
	d.Warn = func(err error) { held = append(held, err) }
	g, err := do()
	for _, w := range held {
		if err == nil || w.Error() != err.Error() {
			warn(w)
		}
	}
	return g, err
}

func (d *Workspace) resume(ctx context.Context, q Query) (*Grant, error) {
	if q.Arg != "" {
		return d.resumeByID(ctx, q)
	}
	if !q.Peek {
		if err := d.Recover(ctx); err != nil {
			d.Warn(err)
		}
		if g, err := d.unprinted(ctx, q); g != nil || err != nil {
			return g, err
		}
		if !q.Next {
			if g, err := d.again(ctx, q); g != nil || err != nil {
				return g, err
			}
		}
	}
	g, err := d.resumeAny(ctx, q)
	if fault.CodeOf(err) == fault.NotFound && !q.Peek {
		// The push of one that was killed may have landed since.
		if late, lerr := d.unprinted(ctx, q); late != nil || lerr != nil {
			return late, lerr
		}
	}
	return g, err
}

// unprinted finishes a claim that was recorded and whose content was never
// shown: this command was killed in between.
func (d *Workspace) unprinted(ctx context.Context, q Query) (*Grant, error) {
	held, err := d.Claims.All()
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		if h.Printed || h.Actor != d.Agent {
			continue
		}
		home, err := d.Home(ctx, h.Home)
		if err == nil {
			err = home.Refresh(ctx, crossrepo.WantAll(h.Holding().Place))
		}
		if err != nil {
			d.Warn(err)
			continue
		}
		s, err := d.Engine.Load(ctx, home, h.Holding().Place)
		if err != nil {
			return nil, err
		}
		if s.Receipt == nil && s.Claim != nil && h.Mine(s.Claim.Nonce) {
			return d.claim(ctx, home, h.Holding().Place, q, true)
		}
		// Not there, or half, or not any more. A push that outlived us may still bring
		// it, so a young one is remembered.
		mayCome := s.Phase() == lifecycle.Open || s.Phase() == lifecycle.Unfinished
		if !mayCome || d.Engine.Now().Sub(h.At) > 10*time.Minute {
			if err := d.Claims.Drop(h.ID); err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}

// claim claims one handoff, whose part of the home was refreshed.
func (d *Workspace) claim(ctx context.Context, home lifecycle.Home, p lifecycle.Place, q Query, byID bool) (*Grant, error) {
	if q.Peek {
		s, err := d.Engine.Load(ctx, home, p)
		if err != nil {
			return nil, err
		}
		v, err := d.Engine.Verify(ctx, home, s, lifecycle.Options{AllowExpired: q.AllowExpired})
		if err == nil {
			err = q.fits(v)
		}
		return &Grant{Verified: v, Home: home}, err
	}
	held, err := d.Claims.Get(p.ID)
	if err != nil {
		return nil, err
	}
	if held != nil && held.Ended {
		held = nil
	}
	shown := held != nil && held.Printed
	v, err := d.Engine.Claim(ctx, home, lifecycle.ClaimRequest{
		Place: p, Lease: q.Lease, AllowExpired: q.AllowExpired, ByID: byID, Fits: q.fits,
		Mine: func(nonce string) bool { return held.Mine(nonce) },
		Record: func(r *record.Record) error {
			next := lifecycle.HolderOf(p, r)
			if held != nil {
				next.Earlier = append(held.Earlier, held.Nonce)
			}
			held = next
			return d.Claims.Put(held)
		},
	})
	if err != nil {
		return nil, err
	}
	if v, err = d.renew(ctx, home, v, held, q); err != nil {
		return nil, err
	}
	s := v.State()
	if held.Nonce != s.Claim.Nonce || !held.Lease.Equal(s.Lease) {
		held.Nonce, held.At, held.Lease = s.Claim.Nonce, s.Chain[len(s.Chain)-1].Commit.Record.At, s.Lease
		if err := d.Claims.Put(held); err != nil {
			return nil, err
		}
	}
	d.note(subject(v.Envelope(), v.Sealed()), home, s.Claim)
	d.tryNotes(ctx)
	return &Grant{Verified: v, Home: home, Holder: held, Again: shown && held.Printed}, nil
}

// Inbox lists the copies of some inboxes at some homes, oldest id first, and of
// one id in the order of the homes.
func (d *Workspace) Inbox(ctx context.Context, agents []string, homes ...lifecycle.Home) ([]*Item, error) {
	var patterns []string
	for _, home := range homes {
		for _, a := range agents {
			patterns = append(patterns, home.Space().Inbox(a, ""))
		}
	}
	list, err := d.Repo.List(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	var all []*Item
	for _, home := range homes {
		items, err := d.items(ctx, home, home.Space(), list)
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	slices.SortStableFunc(all, func(a, b *Item) int { return cmp.Compare(a.Place.ID, b.Place.ID) })
	return all, nil
}

// resumeAny claims a random one of the oldest offers.
func (d *Workspace) resumeAny(ctx context.Context, q Query) (*Grant, error) {
	var down error
	passed := &passed{warn: d.Warn, ids: map[handoff.ID]bool{}}
	defer passed.sum()
	kept, err := d.Journal.All()
	if err != nil {
		return nil, err
	}
	for _, step := range kept { // what this worktree rejected while its hub was down
		passed.ids[step.ID] = true
	}
	homes := d.Sources(ctx, &down)
	for _, home := range homes {
		if home == lifecycle.Home(d.Local) {
			continue
		}
		if err := home.Refresh(ctx, lifecycle.Want{Inboxes: d.Inboxes()}); err != nil {
			if down != nil {
				d.Warn(err)
			} else {
				down = err // the error of the command, unless something else is found
			}
		}
	}
	for {
		offers, err := d.offers(ctx, homes, passed)
		if err != nil {
			return nil, err
		}
		if len(offers) == 0 {
			break
		}
		g, err := d.claimOne(ctx, offers, passed, q)
		if err != nil {
			return nil, err
		}
		if g != nil {
			if down != nil {
				d.Warn(down)
			}
			return g, nil
		}
	}
	switch {
	case passed.refused > 0:
		return nil, fault.New(fault.Denied, fault.Refused, "nothing else waits for %s: what there is was refused", d.Agent).
			WithHints(passed.whyRefused()...)
	case down != nil:
		return nil, down
	case passed.unfit != nil:
		return nil, passed.unfit
	}
	return nil, fault.New(fault.NotFound, fault.NothingPending, "nothing waits for %s", d.Agent).
		WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists what waits for others"),
			fault.Run("githandoff", "resume", "--wait", "10m").Because("waits for one"))
}

// claimOne claims one of some offers, in random order. It returns nil when they
// were all refused, or when somebody was faster: then it is time to look again
// what is left.
func (d *Workspace) claimOne(ctx context.Context, offers []*Item, passed *passed, q Query) (*Grant, error) {
	var seed [32]byte
	if _, err := io.ReadFull(d.Engine.Random, seed[:]); err != nil {
		return nil, fmt.Errorf("read a seed: %w", err)
	}
	rand.New(rand.NewChaCha8(seed)).Shuffle(len(offers), func(i, j int) { offers[i], offers[j] = offers[j], offers[i] })
	for i, it := range offers {
		// Where one was refused others may be: they share a trip.
		if err := d.refreshLanes(ctx, offers[i:min(i+max(i*i, 1), len(offers))]); err != nil {
			return nil, err
		}
		g, err := d.claim(ctx, it.Home, it.Place, q, false)
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
			return nil, it.Home.Refresh(ctx, lifecycle.Want{Inboxes: d.Inboxes()})
		case fault.Denied, fault.Invalid, fault.Policy, fault.NotFound:
			passed.refuse(it.Place.ID, err)
		default:
			return nil, err
		}
	}
	return nil, nil
}

// refreshLanes brings in the lane of the first of some offers, unless this
// command has done so; those of the others at that home come along.
func (d *Workspace) refreshLanes(ctx context.Context, offers []*Item) error {
	first := offers[0]
	if first.Home.Reached(first.Place.ID) {
		return nil
	}
	var want lifecycle.Want
	for _, it := range offers {
		if it.Home == first.Home {
			want.Lanes = append(want.Lanes, it.Place.ID)
		}
	}
	return first.Home.Refresh(ctx, want)
}
