package lifecycle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// offerOnly offers a child with a derived token, and writes no entry about it into the log of its parent.
func (c *delegation) offerOnly(t *testing.T, by *Engine, above *Verified, to *Engine) Place {
	t.Helper()
	p, err := by.Author.PrepareFor(t.Context(), c.home, c.child(t, above, by, to), Authority{Above: above})
	require.NoError(t, err)
	_, err = by.Offer(t.Context(), c.home, p)
	require.NoError(t, err)
	return Place{Agent: p.Agent, ID: p.Record.ID}
}

// Only the holder passes authority on, only during its claim, and the log of the parent must have an entry for
// the child. Otherwise the child's token is refused.
func TestDelegationNeedsTheHolder(t *testing.T) {
	holding := func(c *delegation, p Place) ClaimProof {
		return ClaimProof{Place: p, Nonce: c.load(t, c.fixer, p).Claim.Nonce}
	}
	for name, tc := range map[string]struct {
		reason string
		child  func(t *testing.T, c *delegation, p Place, worker *Engine) Place
	}{
		"by the holder": {"", func(t *testing.T, c *delegation, p Place, _ *Engine) Place {
			c.claim(t, c.fixer, p)
			return c.passOn(t, p)
		}},
		"two of one parent": {"", func(t *testing.T, c *delegation, p Place, _ *Engine) Place {
			c.claim(t, c.fixer, p)
			c.passOn(t, p)
			return c.passOn(t, p)
		}},
		"and the parent has ended since": {"", func(t *testing.T, c *delegation, p Place, _ *Engine) Place {
			h := c.claim(t, c.fixer, p)
			child := c.passOn(t, p)
			_, _, err := c.fixer.Acknowledge(t.Context(), c.home, h, Outcome{})
			require.NoError(t, err)
			c.Pass(10 * time.Minute)
			return child
		}},
		"without an entry": {"issuer_not_holder", func(t *testing.T, c *delegation, p Place, _ *Engine) Place {
			c.claim(t, c.fixer, p)
			return c.offerOnly(t, c.fixer, c.verify(t, c.fixer, p), c.qa)
		}},
		"an entry for another child": {"issuer_not_holder", func(t *testing.T, c *delegation, p Place, _ *Engine) Place {
			c.claim(t, c.fixer, p)
			c.passOn(t, p)
			return c.offerOnly(t, c.fixer, c.verify(t, c.fixer, p), c.qa)
		}},
		"before it is claimed": {"issuer_not_holder", func(t *testing.T, c *delegation, p Place, _ *Engine) Place {
			return c.offerOnly(t, c.fixer, c.verify(t, c.fixer, p), c.qa)
		}},
		"after the end": {"issuer_not_holder", func(t *testing.T, c *delegation, p Place, _ *Engine) Place {
			h := c.claim(t, c.fixer, p)
			above := c.verify(t, c.fixer, p)
			_, _, err := c.fixer.Acknowledge(t.Context(), c.home, h, Outcome{})
			require.NoError(t, err)
			return c.offerOnly(t, c.fixer, above, c.qa)
		}},
		"by a key that the token names, and that does not hold it": {"issuer_not_holder", func(t *testing.T, c *delegation, p Place, worker *Engine) Place {
			c.claim(t, c.fixer, p)
			above := c.verify(t, c.fixer, p)
			child := c.offerOnly(t, worker, above, c.qa)
			s := c.load(t, c.fixer, p)
			c.forge(t, worker, s, record.Progressed, func(r *record.Record) { r.Next = child.ID })
			return child
		}},
		"by the receipt of one who does not hold it": {"issuer_not_holder", func(t *testing.T, c *delegation, p Place, worker *Engine) Place {
			child := c.offerOnly(t, worker, c.verify(t, worker, p), c.qa)
			c.forge(t, worker, c.load(t, worker, p), record.Failed, func(r *record.Record) { r.Next = child.ID })
			require.Equal(t, Ended, c.load(t, worker, p).Phase())
			return child
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newDelegation(t)
			worker := c.agent(t, "fixer") // of the same inbox before the grant, so that the token names its key
			p := c.grant(t)
			child := tc.child(t, c, p, worker)
			_, _, err := c.tryClaim(t.Context(), c.qa, child)
			if tc.reason == "" {
				require.NoError(t, err)
				return
			}
			refusedAs(t, tc.reason, err)
		})
	}

	c := newDelegation(t)
	p := c.grant(t)
	h := c.claim(t, c.fixer, p)
	before := c.load(t, c.fixer, p).Lease
	c.Pass(time.Minute)
	id, err := handoff.NewID(c.Now(), c.Random)
	require.NoError(t, err)
	for range 2 {
		s, err := c.fixer.Delegate(t.Context(), c.home, h, id)
		require.NoError(t, err)
		assert.Len(t, s.Entries, 3, "said once")
		assert.Equal(t, before, s.Lease, "the lease stays")
	}
	_, err = c.qa.Delegate(t.Context(), c.home, holding(c, p), id)
	refusedAs(t, "not_holder", err)
}

// A key that is only a recipient may send one thing: the return handoff of its own failure, to the agent that
// the offer names, and only if the failure counts.
func TestRecipientMaySendBackItsFailure(t *testing.T) {
	type bend struct {
		to        string
		onFailure string
		noClaim   bool // the failure is a receipt that does not count
		another   bool // the receipt names another handoff
	}
	for name, tc := range map[string]struct {
		bend
		reason string
	}{
		"to the source":               {bend{to: "investigator"}, ""},
		"to whom the offer names":     {bend{to: "reviewer", onFailure: "reviewer"}, ""},
		"to the source all the same":  {bend{to: "investigator", onFailure: "reviewer"}, "untrusted_key"},
		"to somebody else":            {bend{to: "reviewer"}, "untrusted_key"},
		"after one that counts not":   {bend{to: "investigator", noClaim: true}, "untrusted_key"},
		"when the receipt names none": {bend{to: "investigator", another: true}, "untrusted_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newRoles(t)
			worker := c.agent(t, "fixer", sign.RoleRecipient)
			env := c.envelope(t, "investigator", "fixer")
			if tc.onFailure != "" {
				env.Rollback = &handoff.Rollback{OnFailure: tc.onFailure}
			}
			p := c.offerEnvelope(t, c.source, env)
			holder := worker
			if tc.noClaim {
				holder = c.holder
			}
			c.claim(t, holder, p)
			child := c.envelope(t, "fixer", tc.to)
			child.Parent = env.ID
			s := c.load(t, c.holder, p)
			c.forge(t, worker, s, record.Failed, func(r *record.Record) {
				if r.Next = child.ID; tc.another {
					r.Next = ""
				}
			})
			back := c.offerEnvelope(t, worker, child)
			s = c.load(t, c.holder, back)
			if tc.reason == "" {
				assert.Equal(t, Open, s.Phase(), s.Dispute)
				return
			}
			refusedAs(t, tc.reason, s.Dispute)
		})
	}
}

// offerEnvelope offers an envelope unchanged, even if its reader would refuse it.
func (c *roles) offerEnvelope(t *testing.T, e *Engine, env *handoff.Envelope) Place {
	t.Helper()
	p, err := e.Author.Prepare(t.Context(), c.home, env, "")
	require.NoError(t, err)
	_, err = e.Offer(t.Context(), c.home, p)
	require.NoError(t, err)
	return Place{Agent: p.Agent, ID: p.Record.ID}
}
