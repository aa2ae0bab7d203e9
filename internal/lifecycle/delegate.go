package lifecycle

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
)

// Delegate notes in the lane that the holder of a handoff passes authority on to a child:
// a "progressed" entry that names the child and leaves the lease as it is. The entry comes
// before the offer of the child, because the token of the child counts by it alone. If the
// child is never offered, the entry does no harm.
func (e *Engine) Delegate(ctx context.Context, home Home, h ClaimProof, child handoff.ID) (*State, error) {
	return e.act(ctx, home, h.Place, true, func(s *State, b *batch) error {
		if err := e.Author.checkHeld(s, h); err != nil {
			return err
		}
		if s.names(child, e.Author.Signer.KID()) {
			return nil
		}
		rec, err := e.Author.draft(s, record.Progressed, func(r *record.Record) { r.Lease, r.Next = s.Lease, child })
		if err != nil {
			return err
		}
		if err := e.Verifier.checkRenewal(ctx, home, s, rec); err != nil {
			return err
		}
		return b.build(ctx, s, rec)
	})
}

// names reports whether this key named that child while it held the handoff: by an
// entry that counts, "progressed", or the receipt of a failure or a reroute.
func (s *State) names(child handoff.ID, kid string) bool {
	return slices.Contains(s.named, naming{child: child, key: kid})
}

// delegated refuses a token that the holder of the handoff above it did not pass on: only
// the holder may, only until the end, and the log must say so. The log of a home that is
// not known here cannot be asked.
func (c *chainStatus) delegated() error {
	for i := 1; i < len(c.claims); i++ {
		parent, token := c.states[i-1], c.claims[i]
		if parent.Offer != nil && !parent.names(token.Handoff.ID, token.Issuer) {
			return notPassedOn(token, c.claims[i-1].Handoff.ID)
		}
	}
	return nil
}

func notPassedOn(token *obo.Claims, parent handoff.ID) error {
	return denied(fault.IssuerNotHolder, "token %s was issued by %s, and the log of handoff %s has no entry by which its holder passed it on to %s",
		token.JTI, token.Issuer, parent, token.Handoff.ID)
}
