package lifecycle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/record"
)

func TestLeaseEnd(t *testing.T) {
	far := enginetest.Start().AddDate(0, 0, 7)
	for _, tc := range []struct {
		name    string
		lease   time.Duration
		expires time.Time
		want    time.Duration
	}{
		{"default", 0, far, time.Hour},
		{"negative", -time.Hour, far, time.Hour},
		{"asked for", 10 * time.Minute, far, 10 * time.Minute},
		{"at most a day", 48 * time.Hour, far, 24 * time.Hour},
		{"not past the expiry", time.Hour, enginetest.Start().Add(20 * time.Minute), 20 * time.Minute},
		{"expired already, and allowed", time.Hour, enginetest.Start().Add(-time.Minute), time.Hour},
		{"whole seconds", 90*time.Second + time.Millisecond, far, 90 * time.Second},
	} {
		assert.Equal(t, enginetest.Start().Add(tc.want), leaseEnd(enginetest.Start(), tc.lease, tc.expires), tc.name)
	}
}

// A claim by a key that is not known here has the dates that anybody may have written.
func TestHoldsAt(t *testing.T) {
	now := enginetest.Start()
	for _, tc := range []struct {
		name      string
		at, lease time.Duration // before and after now
		want      bool
	}{
		{"its lease runs", time.Hour, time.Minute, true},
		{"the last second of its lease", time.Hour, 0, true},
		{"its lease is over", time.Hour, -time.Second, false},
		{"a lease of a year, taken today", time.Hour, 365 * 24 * time.Hour, true},
		{"a lease of a year, taken a day ago", 24 * time.Hour, 364 * 24 * time.Hour, true},
		{"a lease of a year, taken before that", 24*time.Hour + time.Second, 364 * 24 * time.Hour, false},
		{"a claim of tomorrow", -24 * time.Hour, 48 * time.Hour, false},
	} {
		r := &record.Record{At: now.Add(-tc.at), Lease: now.Add(tc.lease)}
		assert.Equal(t, tc.want, holdsAt(r, now), tc.name)
	}
}

// Another agent can take a claim over when its lease has run out: by id at once, without an id only after twice
// the lease.
func TestTakeOver(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, p)
	any := func(r *ClaimRequest) { r.ByID = false }

	for _, step := range []struct {
		pass    time.Duration
		byID    bool
		anybody bool
	}{
		{0, false, false},
		{time.Hour, false, false}, // the last moment of the lease
		{time.Second, true, false},
		{time.Hour - time.Second, true, false}, // the last moment of twice the lease
		{time.Second, true, true},
	} {
		c.Pass(step.pass)
		s := c.load(t, c.peer, p)
		for byID, want := range map[bool]bool{true: step.byID, false: step.anybody} {
			err := checkClaimable(s, c.Now(), byID)
			assert.Equal(t, want, err == nil, "%v, by id %v: %v", c.Now(), byID, err)
			if !want {
				assert.True(t, fault.Is(err, "claimed"), err)
				assert.ErrorContains(t, err, "held by fixer until 2026-11-20T23:00:00Z")
			}
		}
	}
	_, taken, err := c.tryClaim(t.Context(), c.peer, p, any)
	require.NoError(t, err)
	s := c.load(t, c.peer, p)
	assert.Equal(t, taken.Nonce, s.Claim.Nonce)
	assert.Equal(t, h.Nonce, s.Claim.Claim, "it says which claim it took over")

	_, err = c.holder.Renew(t.Context(), c.home, h, Renewal{})
	assert.True(t, fault.Is(err, "not_holder"), "the former holder: %v", err)
	assert.Equal(t, fault.Conflict, fault.CodeOf(err))
	_, _, err = c.holder.Acknowledge(t.Context(), c.home, h, Outcome{})
	assert.True(t, fault.Is(err, "not_holder"), err)
	_, _, err = c.peer.Acknowledge(t.Context(), c.home, taken, Outcome{})
	assert.NoError(t, err)
}

func TestProgressMovesTheLeaseOn(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	_, h, err := c.tryClaim(t.Context(), c.holder, p, func(r *ClaimRequest) { r.Lease = 30 * time.Minute })
	require.NoError(t, err)
	c.Pass(20 * time.Minute)
	s, err := c.holder.Renew(t.Context(), c.home, h, Renewal{Data: `{"done":"half"}`})
	require.NoError(t, err)
	assert.Equal(t, enginetest.Start().Add(50*time.Minute), s.Lease, "as long as the claim was")
	c.Pass(time.Minute)
	s, err = c.holder.Renew(t.Context(), c.home, h, Renewal{Lease: 2 * time.Hour})
	require.NoError(t, err)
	assert.Equal(t, enginetest.Start().Add(21*time.Minute+2*time.Hour), s.Lease)
	c.Pass(time.Minute)
	s, err = c.holder.Renew(t.Context(), c.home, h, Renewal{})
	require.NoError(t, err)
	assert.Equal(t, enginetest.Start().Add(22*time.Minute+2*time.Hour), s.Lease, "as long as it was renewed for")
	assert.Len(t, s.Chain, 5)
	assert.Equal(t, []string{"progressed", "progressed", "progressed", "claimed", "offered"}, events(t, c.fixture, p.ID))
}

func TestRelease(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, p)
	_, err := c.peer.Release(t.Context(), c.home, ClaimProof{Place: p}, false)
	assert.True(t, fault.Is(err, "not_holder"), err)
	_, err = c.peer.Release(t.Context(), c.home, ClaimProof{Place: p}, true)
	assert.Equal(t, fault.Denied, fault.CodeOf(err), "a peer breaks no lease: %v", err)
	s, err := c.holder.Release(t.Context(), c.home, h, false)
	require.NoError(t, err)
	assert.Equal(t, Open, s.Phase())
	_, err = c.holder.Release(t.Context(), c.home, h, false)
	assert.True(t, fault.Is(err, "not_holder"), err)

	for _, breaker := range []*Engine{c.source, c.root} {
		c.claim(t, c.peer, p)
		s, err = breaker.Release(t.Context(), c.home, ClaimProof{Place: p}, true)
		require.NoError(t, err)
		assert.Equal(t, Open, s.Phase())
		_, err = breaker.Release(t.Context(), c.home, ClaimProof{Place: p}, true)
		assert.True(t, fault.Is(err, "not_held"), err)
	}
	c.claim(t, c.holder, p)
}

// Renewals do not extend the time after which a claim can be taken over to more than twice the last lease.
func TestTakeOverAfterProgress(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, p)
	for range 5 {
		c.Pass(time.Hour)
		_, err := c.holder.Renew(t.Context(), c.home, h, Renewal{})
		require.NoError(t, err)
	}
	c.Pass(2*time.Hour + time.Second)
	_, _, err := c.tryClaim(t.Context(), c.peer, p, func(r *ClaimRequest) { r.ByID = false })
	assert.NoError(t, err)
}

// If the holder claims the handoff again, it is shown again, and no new claim is logged.
func TestSecondClaimOfTheHolderIsNoNewClaim(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, p)
	before := events(t, c.fixture, p.ID)
	mine := func(r *ClaimRequest) { r.Nonces = []string{h.Nonce} }
	v, _, err := c.tryClaim(t.Context(), c.holder, p, mine)
	require.NoError(t, err)
	assert.Equal(t, "Fix the login", v.Envelope().Goal)
	assert.Equal(t, before, events(t, c.fixture, p.ID))
	_, _, err = c.tryClaim(t.Context(), c.peer, p, mine)
	assert.True(t, fault.Is(err, "claimed"), "the nonce alone is not the key: %v", err)
	_, _, err = c.tryClaim(t.Context(), c.holder, p)
	assert.True(t, fault.Is(err, "claimed"), "nor the key alone: %v", err)
}

func TestExpired(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.Pass(DefaultTTL + time.Second)
	_, _, err := c.tryClaim(t.Context(), c.holder, p)
	assert.True(t, fault.Is(err, "expired"), err)
	_, _, err = c.tryClaim(t.Context(), c.holder, p, func(r *ClaimRequest) { r.AllowExpired = true })
	assert.NoError(t, err)
}

func TestAcknowledgeTwice(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, p)
	c.Pass(62 * time.Second)
	s, repeated, err := c.holder.Acknowledge(t.Context(), c.home, h, Outcome{Data: `{"pr":"#743"}`})
	require.NoError(t, err)
	assert.False(t, repeated)
	assert.Equal(t, Ended, s.Phase())
	assert.Equal(t, "1m02s", s.Receipt.Duration)
	assert.Equal(t, `{"pr":"#743"}`, s.Receipt.Data)
	assert.Equal(t, "steps=1 blockers=0 decisions=0 deliverables=0 files=0", s.Receipt.Counts)
	assert.Empty(t, s.Tip)
	before := events(t, c.fixture, p.ID)
	_, repeated, err = c.holder.Acknowledge(t.Context(), c.home, h, Outcome{})
	require.NoError(t, err)
	assert.True(t, repeated)
	assert.Equal(t, before, events(t, c.fixture, p.ID))
	for _, e := range []*Engine{c.peer, c.source} {
		_, _, err = e.Acknowledge(t.Context(), c.home, ClaimProof{Place: p, Nonce: h.Nonce}, Outcome{})
		assert.True(t, fault.Is(err, "not_holder"), "only the holder may: %v", err)
	}
	_, err = c.holder.Fail(t.Context(), c.home, h, Outcome{})
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), err)
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 59 * time.Second: "59s", 62 * time.Second: "1m02s", time.Hour + 5*time.Second: "1h00m05s",
		25*time.Hour + 61*time.Minute: "26h01m00s", 1499 * time.Millisecond: "1s",
		-time.Minute: "0s",
	} {
		assert.Equal(t, want, record.Duration(d))
	}
}
