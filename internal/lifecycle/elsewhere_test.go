package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// elsewhere returns e in a clone where the keys of other engines are trusted as edit says: not at all if
// edit is nil.
func (c *roles) elsewhere(t *testing.T, e *Engine, edit func(*sign.TrustEntry), of ...*Engine) *Engine {
	t.Helper()
	var entries []sign.TrustEntry
	for _, entry := range e.Keys.Trust.Entries() {
		if slices.ContainsFunc(of, func(e *Engine) bool { return e.Author.Signer.KID() == entry.KID }) {
			if edit == nil {
				continue
			}
			edit(&entry)
		}
		entries = append(entries, entry)
	}
	trust, err := enginetest.NewTrust(entries...)
	require.NoError(t, err)
	return remade(e, func(s *Setup) { s.Trust = trust })
}

func withdraw(t *testing.T, c *roles, e *Engine, p Place, force bool) (*State, error) {
	t.Helper()
	return e.Withdraw(t.Context(), c.home, p, record.Revoked, Outcome{Force: force})
}

// areEnded asserts that a handoff is over for engines.
func (c *roles) areEnded(t *testing.T, p Place, engines ...*Engine) {
	t.Helper()
	for _, e := range engines {
		assert.Equal(t, Ended, c.load(t, e, p).Phase())
	}
}

// A claim may count for others and not for the source. Once the source has withdrawn the handoff, it is over for
// everybody, and disputed for nobody.
func TestWithdrawWhereTheClaimDoesNotCount(t *testing.T) {
	for name, tc := range map[string]struct {
		trust func(*sign.TrustEntry)
		force bool // whether it takes force
	}{
		"undecided":            {nil, true},
		"retired":              {func(e *sign.TrustEntry) { e.Retired = "2026-11-20T22:00:00Z" }, false},
		"known by other names": {func(e *sign.TrustEntry) { e.Agents = []string{"reviewer"} }, false},
		"no recipient":         {func(e *sign.TrustEntry) { e.Roles = []string{sign.RoleSender} }, false},
		"not yet":              {func(e *sign.TrustEntry) { e.From = "2027-01-01T00:00:00Z" }, false},
	} {
		for _, renewed := range []bool{false, true} {
			c := newRoles(t)
			source := c.elsewhere(t, c.source, tc.trust, c.holder)
			p := c.offer(t, c.source, "fixer")
			h := c.claim(t, c.holder, p)
			if renewed {
				c.Pass(DefaultLease / 2)
				_, err := c.holder.Renew(t.Context(), c.home, h, Renewal{})
				require.NoError(t, err)
				c.Pass(DefaultLease * 3 / 4)
			}
			require.Equal(t, Disputed, c.load(t, source, p).Phase(), name)
			if tc.force {
				_, err := withdraw(t, c, source, p, false)
				assert.True(t, fault.Is(err, fault.UntrustedKey), "%s: %v", name, err)
				assert.Equal(t, Held, c.load(t, c.peer, p).Phase(), name)
			}
			s, err := withdraw(t, c, source, p, tc.force)
			require.NoError(t, err, name)
			assert.Equal(t, Ended, s.Phase(), name)
			for _, e := range []*Engine{source, c.peer, c.holder, c.elsewhere(t, c.peer, nil, c.holder)} {
				s := c.load(t, e, p)
				assert.Equal(t, Ended, s.Phase(), name)
				for _, entry := range s.Entries[len(s.Entries)-2:] {
					assert.NoError(t, entry.Dispute, name)
				}
			}
			_, _, err = c.holder.Acknowledge(t.Context(), c.home, h, Outcome{})
			assert.True(t, fault.Is(err, fault.NotHolder), "%s: %v", name, err)
		}
	}
}

// A trusted agent may take over from one that is unknown to the source. Its claim, and its receipt, count as little
// there as the claim before them.
func TestWithdrawWhereATakeOverDoesNotCount(t *testing.T) {
	c := newRoles(t)
	source := c.elsewhere(t, c.source, nil, c.holder)
	p, h := c.takenOver(t)

	_, err := withdraw(t, c, source, p, false)
	require.True(t, fault.Is(err, fault.UntrustedKey), err)
	assert.ErrorContains(t, err, "key "+c.holder.Author.Signer.KID()+" is not trusted here")
	assert.NotEmpty(t, fault.As(err).Hints)

	_, _, err = c.peer.Acknowledge(t.Context(), c.home, h, Outcome{})
	require.NoError(t, err)
	_, err = withdraw(t, c, source, p, false)
	require.True(t, fault.Is(err, fault.UntrustedKey), err)

	_, err = withdraw(t, c, source, p, true)
	require.NoError(t, err)
	c.isOvertaken(t, p)
}

// takenOver returns a handoff that the holder let run out, and the claim of the peer who took it then.
func (c *roles) takenOver(t *testing.T) (Place, ClaimProof) {
	t.Helper()
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	c.Pass(DefaultLease + time.Second)
	return p, c.claim(t, c.peer, p)
}

// isOvertaken asserts that a handoff ended before a withdrawal, which changes nothing. Nothing was released.
func (c *roles) isOvertaken(t *testing.T, p Place) {
	t.Helper()
	s := c.load(t, c.peer, p)
	last := s.Entries[len(s.Entries)-1]
	assert.NotEqual(t, s.Receipt, last.Record())
	assert.True(t, last.Overtaken)
	assert.False(t, slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.Record().Event == record.Released }))
}

// A handoff that somebody unknown to the source ended is over for others. The withdrawal releases no claim there.
func TestWithdrawWhereTheEndDoesNotCount(t *testing.T) {
	c := newRoles(t)
	source := c.elsewhere(t, c.source, nil, c.holder, c.root)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	_, err := withdraw(t, c, c.root, p, false)
	require.NoError(t, err)
	_, err = withdraw(t, c, source, p, false)
	require.True(t, fault.Is(err, fault.UntrustedKey), err)
	_, err = withdraw(t, c, source, p, true)
	require.NoError(t, err)
	c.isOvertaken(t, p)
}

// A stranger's claim before the end of a lease counts nowhere. The source releases the claim that it came upon.
func TestWithdrawDespiteAStrangersClaim(t *testing.T) {
	c := newRoles(t)
	source := c.elsewhere(t, c.source, nil, c.holder)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	s := c.load(t, c.peer, p)
	c.forge(t, c.stranger, s, record.Claimed)
	c.forge(t, c.stranger, c.load(t, c.peer, p), record.Released, func(r *record.Record) { r.Claim = s.Claim.Nonce })
	c.forge(t, c.stranger, c.load(t, c.peer, p), record.Progressed, func(r *record.Record) { r.Claim, r.Lease = s.Claim.Nonce, r.At })

	_, err := withdraw(t, c, source, p, true)
	require.NoError(t, err)
	c.areEnded(t, p, source, c.peer)
}

// Only the source may release a claim that does not count here, and a root key need not.
func TestWhoReleasesAClaimThatDoesNotCount(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	root, other := c.elsewhere(t, c.root, nil, c.holder), c.elsewhere(t, c.other, nil, c.holder)
	_, err := withdraw(t, c, other, p, true)
	assert.ErrorContains(t, err, "may not revoke")
	_, err = withdraw(t, c, root, p, false)
	require.NoError(t, err)
	for _, e := range []*Engine{root, c.peer} {
		s := c.load(t, e, p)
		assert.Equal(t, Ended, s.Phase())
		assert.Len(t, s.Entries, 3)
	}

	p = c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	s := c.load(t, c.holder, p)
	c.forge(t, c.peer, s, record.Released)
	last := c.load(t, c.elsewhere(t, c.source, nil, c.holder), p).Entries[2]
	assert.True(t, fault.Is(last.Dispute, fault.Disputed), last.Dispute)
}

// A claim whose lease is over, by its own dates, is not in the way of the source.
func TestWithdrawAfterALeaseThatDoesNotCount(t *testing.T) {
	c := newRoles(t)
	source := c.elsewhere(t, c.source, nil, c.holder)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	c.Pass(DefaultLease)
	_, err := withdraw(t, c, source, p, false)
	assert.True(t, fault.Is(err, fault.UntrustedKey), err)
	c.Pass(time.Second)
	_, err = withdraw(t, c, source, p, false)
	require.NoError(t, err)
	assert.Equal(t, Ended, c.load(t, c.peer, p).Phase())
}

// A key that was retired while it holds a handoff renews its claim for those who do not know yet. The claim ends
// for them as well.
func TestWithdrawFromAHolderThatWasRetired(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, p)
	c.Pass(time.Minute)
	retired := c.Now().Format(time.RFC3339)
	source := c.elsewhere(t, c.source, func(e *sign.TrustEntry) { e.Retired = retired }, c.holder)
	c.Pass(DefaultLease / 2)
	_, err := c.holder.Renew(t.Context(), c.home, h, Renewal{})
	require.NoError(t, err)
	c.Pass(DefaultLease * 3 / 4)
	require.Equal(t, Disputed, c.load(t, source, p).Phase())
	_, err = withdraw(t, c, source, p, false)
	require.NoError(t, err)
	c.areEnded(t, p, source, c.holder)
}

// A stranger who disputes a handoff that is held keeps its source from nothing: the source breaks the claim, and
// withdraws the handoff.
func TestReleaseOfADisputedClaim(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	c.forge(t, c.stranger, c.load(t, c.holder, p), record.Progressed)
	_, err := withdraw(t, c, c.source, p, true)
	require.True(t, fault.Is(err, fault.Claimed), err)
	require.Equal(t, "githandoff release --force "+string(p.ID), strings.Join(fault.As(err).Hints[0].Run, " "))
	_, err = c.peer.Release(t.Context(), c.home, ClaimProof{Place: p}, true)
	require.ErrorContains(t, err, "may not release")
	_, err = c.source.Release(t.Context(), c.home, ClaimProof{Place: p}, true)
	require.NoError(t, err)
	_, err = withdraw(t, c, c.source, p, false)
	require.NoError(t, err)
	assert.Equal(t, Ended, c.load(t, c.holder, p).Phase())
}

// Whatever date a stranger gives to a claim, it hides none that came before it. Neither does an entry that names
// the holder and that another key signed.
func TestWithdrawDespiteADate(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, 2 * time.Hour} {
		c := newRoles(t)
		source := c.elsewhere(t, c.source, nil, c.holder)
		p := c.offer(t, c.source, "fixer")
		c.claim(t, c.holder, p)
		c.forge(t, c.stranger, c.load(t, c.peer, p), record.Claimed, c.dated(by))
		_, err := withdraw(t, c, source, p, true)
		require.NoError(t, err)
		assert.Equal(t, Ended, c.load(t, c.peer, p).Phase(), by)
		assert.Equal(t, Ended, c.load(t, source, p).Phase(), by)
	}
	c := newRoles(t)
	source := c.elsewhere(t, c.source, func(e *sign.TrustEntry) { e.Agents = []string{"reviewer"} }, c.holder)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	c.forge(t, c.other, c.load(t, c.peer, p), record.Released, func(r *record.Record) { r.Key = c.holder.Author.Signer.KID() })
	_, err := withdraw(t, c, source, p, false)
	require.NoError(t, err)
	assert.Equal(t, Ended, c.load(t, c.peer, p).Phase())
}

// Nor does a stranger who renews in the name of the holder make the source break its claim.
func TestWithdrawDespiteAFalseRenewal(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	c.forge(t, c.stranger, c.load(t, c.holder, p), record.Progressed, func(r *record.Record) { r.Key = c.holder.Author.Signer.KID() })
	_, err := withdraw(t, c, c.source, p, true)
	refusedAs(t, "claimed", err)
}

// What somebody took over and gave back is held by whoever took it then.
func TestWithdrawAfterATakeOverThatWasReleased(t *testing.T) {
	c := newRoles(t)
	third := c.agent(t, "fixer")
	source := c.elsewhere(t, c.source, nil, c.peer)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	c.Pass(DefaultLease + time.Second)
	_, err := c.peer.Release(t.Context(), c.home, c.claim(t, c.peer, p), false)
	require.NoError(t, err)
	h := c.claim(t, third, p)
	_, err = withdraw(t, c, source, p, false)
	refusedAs(t, "untrusted_key", err)
	_, err = withdraw(t, c, source, p, true)
	require.NoError(t, err)
	s := c.load(t, third, p)
	assert.Equal(t, Ended, s.Phase())
	assert.NoError(t, s.Dispute)
	_, _, err = third.Acknowledge(t.Context(), c.home, h, Outcome{})
	refusedAs(t, "not_holder", err)
}

// The lease of a take-over may be over as well, or it was given back. Nothing is released then, and the withdrawal
// names no claim: the one known here is not in force elsewhere.
func TestWithdrawAfterATakeOverThatIsOver(t *testing.T) {
	for name, edit := range map[string]func(*sign.TrustEntry){
		"unknown": nil,
		"retired": func(e *sign.TrustEntry) { e.Retired = "2026-11-20T22:00:00Z" },
	} {
		for _, released := range []bool{false, true} {
			c := newRoles(t)
			source := c.elsewhere(t, c.source, edit, c.peer)
			p, h := c.takenOver(t)
			if released {
				_, err := c.peer.Release(t.Context(), c.home, h, false)
				require.NoError(t, err)
				_, err = source.Release(t.Context(), c.home, ClaimProof{Place: p}, true)
				refusedAs(t, "not_held", err)
				assert.Equal(t, Open, c.load(t, c.peer, p).Phase(), name)
			} else {
				c.Pass(DefaultLease + time.Second)
			}
			_, err := withdraw(t, c, source, p, false)
			require.NoError(t, err)
			c.areEnded(t, p, source, c.peer)
		}
	}
}

// A root key ends a take-over that does not count here while its lease runs, and disputes the handoff for nobody.
func TestRootWithdrawsATakeOver(t *testing.T) {
	c := newRoles(t)
	root := c.elsewhere(t, c.root, nil, c.peer)
	p, _ := c.takenOver(t)
	_, err := withdraw(t, c, root, p, false)
	require.NoError(t, err)
	c.areEnded(t, p, root, c.peer)
}

// Whoever breaks a claim breaks the one that others know, and disputes the handoff for nobody.
func TestReleaseOfATakeOver(t *testing.T) {
	for _, past := range []time.Duration{0, 2 * DefaultLease} {
		c := newRoles(t)
		source := c.elsewhere(t, c.source, nil, c.peer)
		p, _ := c.takenOver(t)
		c.Pass(past)
		_, err := source.Release(t.Context(), c.home, ClaimProof{Place: p}, true)
		require.NoError(t, err)
		assert.Equal(t, Open, c.load(t, c.peer, p).Phase())
		assert.Nil(t, c.load(t, source, p).Claim)
	}
}

// A claim on what somebody unknown ended is not broken: the refusal is about that key.
func TestReleaseWhereTheEndDoesNotCount(t *testing.T) {
	c := newRoles(t)
	source := c.elsewhere(t, c.source, nil, c.root)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	_, err := withdraw(t, c, c.root, p, false)
	require.NoError(t, err)
	_, err = source.Release(t.Context(), c.home, ClaimProof{Place: p}, true)
	refusedAs(t, "disputed", err)
	assert.ErrorContains(t, err, "key "+c.root.Author.Signer.KID()+" is not trusted here")
}

// A handoff whose sender is unknown here is nobody's to withdraw.
func TestWithdrawWithoutAnOffer(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	_, err := withdraw(t, c, c.elsewhere(t, c.other, nil, c.source, c.holder), p, true)
	assert.True(t, fault.Is(err, fault.UntrustedKey), err)
}
