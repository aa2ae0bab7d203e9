package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
)

// chainStatus asks the homes of the handoffs of a chain what became of them,
// the first one first.
type chainStatus struct {
	verifier *Verifier
	home     Home   // of the last one
	state    *State // of the last one, loaded from there
	opt      Options
	ids      []handoff.ID // the last one's and those above it, as far as they are known
	down     error        // why that home could not be asked

	unnamed []fault.Hint // how homes get a name here that have none

	claims []*obo.Claims
	states []*State
}

// revoked looks for an entry that revokes a token in the lane of its handoff, at
// the one home whose log has the offer that its issuer made.
func (c *chainStatus) revoked(ctx context.Context, claims *obo.Claims) (bool, error) {
	s, err := c.issued(ctx, c.home, claims)
	for _, id := range claims.Audience {
		if s != nil || err != nil {
			break
		}
		if c.home.Is(id) || c.verifier.Elsewhere == nil {
			continue
		}
		there, herr := c.verifier.Elsewhere(ctx, id)
		if herr != nil { // no way leads there: its home may be another one
			if f := fault.As(herr); f != nil {
				c.unnamed = append(c.unnamed, f.Hints...)
			}
			continue
		}
		s, err = c.issued(ctx, there, claims)
	}
	switch {
	case err != nil:
		return false, err
	case s == nil && c.opt.UnknownStands:
		s = &State{ID: claims.Handoff.ID}
	case s == nil:
		return false, fmt.Errorf("handoff %s was offered at none of the homes that are known here, of %s",
			claims.Handoff.ID, strings.Join(claims.Audience, ", "))
	}
	c.claims, c.states = append(c.claims, claims), append(c.states, s)
	return s.Revoked != nil, nil
}

// mends returns the hints that let the homes above be asked.
func (c *chainStatus) mends() []fault.Hint {
	if len(c.unnamed) > 0 {
		return c.unnamed
	}
	return []fault.Hint{fault.Fact("try again when that home can be reached")}
}

// issued reads the state of a token's handoff in the log of a home; nil if the issuer did
// not offer it there.
func (c *chainStatus) issued(ctx context.Context, home Home, claims *obo.Claims) (*State, error) {
	e, id := c.verifier, claims.Handoff.ID
	if !c.opt.AsKnown && !home.LaneIsFresh(id) && !(c.opt.fenced && id == c.ids[0]) {
		// All of the chain at once: most have one home.
		if err := home.Refresh(ctx, FetchSpec{Lanes: append([]handoff.ID{id}, c.ids[:min(len(c.ids), obo.MaxLinks)]...)}); err != nil {
			if home == c.home {
				c.down = err
			}
			return nil, err
		}
	}
	tip, err := e.Repo.Resolve(ctx, home.Namespace().Lane(id))
	if err != nil {
		return nil, err
	}
	s := c.state
	if home != c.home || id != s.ID || tip != s.LaneTip { // else all was judged already
		s = &State{ID: id, LaneTip: tip}
		if s.Entries, err = e.Reader.Lanes.about(ctx, tip, id); err != nil {
			return nil, err
		}
		e.Reader.replay(ctx, home, s)
	}
	if o := s.Offer; o == nil || o.Token != claims.JTI || o.Key != claims.Issuer || o.Digest != "sha256:"+claims.Handoff.SHA256 {
		return nil, nil
	}
	return s, nil
}

// late refuses a token that was issued after the handoff above it had ended. An ended
// handoff confers no authority, even on somebody who kept a copy.
func (c *chainStatus) late() error {
	for i := 1; i < len(c.claims); i++ {
		over, at := c.states[i-1].Receipt, time.Unix(c.claims[i].IssuedAt, 0)
		if over != nil && at.After(over.At.Add(obo.ClockSkew)) {
			return denied(fault.IssuerNotHolder, "token %s was issued after handoff %s had ended", c.claims[i].JTI, c.claims[i-1].Handoff.ID)
		}
	}
	return nil
}
