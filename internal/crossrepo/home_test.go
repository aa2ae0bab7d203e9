package crossrepo_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// This repository as a home and a hub over each transport fulfil the same contract. Checks that do not depend on
// the transport run for two of them only: each request to a hub over ssh takes a fifth of a second.
func TestHome(t *testing.T) {
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		contract(t, newLocalFixture(t), true)
	})
	t.Run("hub that takes only branches", func(t *testing.T) {
		t.Parallel()
		contract(t, newBranchFixture(t), true)
	})
	for _, tr := range gittest.Transports() {
		t.Run("hub by "+tr.Name, func(t *testing.T) {
			t.Parallel()
			contract(t, newHubFixture(t, tr), tr.Name == "path" || tr.Name == "http")
		})
	}
}

// cast is the fixture of the contract with its agents.
type cast struct {
	*fixture
	source, fixer, peer, root *agent
}

func contract(t *testing.T, v *fixture, everything bool) {
	c := &cast{fixture: v}
	c.source, c.fixer, c.peer = v.agent(t, "investigator"), v.agent(t, "fixer"), v.agent(t, "fixer")
	c.root = v.agent(t, "alice@example.com", sign.RoleRoot)
	for _, tc := range []struct {
		name string
		run  func(*testing.T, *cast)
		wire bool // whether the check depends on the transport, and not only on the refs that are read
	}{
		{"a whole life", wholeLife, true},
		{"release and claim again", releaseAndClaimAgain, false},
		{"fail sends it back", failSendsItBack, true},
		{"reject", reject, false},
		{"withdraw", withdraw, false},
		{"only one claim", onlyOneClaim, true},
		{"only the holder", onlyTheHolder, false},
		{"ended stays ended", endedStaysEnded, true},
		{"a claim by the wrong key", wrongKey, false},
		{"take over", takeOver, false},
		{"stale transactions", staleTransactions, true},
		{"racers", racers, true},
	} {
		if tc.wire || everything {
			t.Run(tc.name, func(t *testing.T) { tc.run(t, c) })
		}
	}
	assert.Empty(t, c.Hub.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
}

func wholeLife(t *testing.T, c *cast) {
	p := c.prepare(t, c.source, "fixer")
	at := lifecycle.Place{Agent: "fixer", ID: p.Record.ID}
	s, err := c.source.Engine.Offer(t.Context(), c.source.home, p)
	require.NoError(t, err)
	assert.Equal(t, lifecycle.Open, s.Phase())
	assert.Equal(t, p.Commit.OID, c.inbox(t, at))

	v, h, err := c.fixer.tryClaim(t.Context(), at)
	require.NoError(t, err)
	assert.Equal(t, p.Envelope, v.Envelope())
	assert.Equal(t, c.Now().Add(lifecycle.DefaultLease), v.State().Lease)
	assert.Equal(t, v.State().Tip, c.inbox(t, at))

	c.Pass(time.Minute)
	s, err = c.fixer.Engine.Renew(t.Context(), c.fixer.home, h, lifecycle.Renewal{Data: `{"done":"half"}`})
	require.NoError(t, err)
	assert.Equal(t, c.Now().Add(lifecycle.DefaultLease), s.Lease)
	s, repeated, err := c.fixer.Engine.Acknowledge(t.Context(), c.fixer.home, h, lifecycle.Outcome{Data: `{"pr":"#743"}`})
	require.NoError(t, err)
	assert.False(t, repeated)
	assert.Equal(t, lifecycle.Ended, s.Phase())
	assert.Empty(t, c.inbox(t, at), "no ref leads to the payload")
	assert.Equal(t, []string{"offered", "claimed", "progressed", "acknowledged"}, c.log(t, at.ID))

	seen := c.source.look(t, at)
	require.NotNil(t, seen.Receipt, "the source sees the receipt")
	assert.Equal(t, `{"pr":"#743"}`, seen.Receipt.Data)
	assert.Equal(t, "1m00s", seen.Receipt.Duration)
	_, repeated, err = c.fixer.Engine.Acknowledge(t.Context(), c.fixer.home, h, lifecycle.Outcome{})
	require.NoError(t, err)
	assert.True(t, repeated)
}

func releaseAndClaimAgain(t *testing.T, c *cast) {
	p := c.offer(t, c.source, "fixer")
	h := c.fixer.mustClaim(t, p)
	s, err := c.fixer.Engine.Release(t.Context(), c.fixer.home, h, false)
	require.NoError(t, err)
	assert.Equal(t, lifecycle.Open, s.Phase())
	c.peer.mustClaim(t, p)
	s, err = c.source.Engine.Release(t.Context(), c.source.home, lifecycle.ClaimProof{Place: p}, true)
	require.NoError(t, err, "the source breaks a lease")
	assert.Equal(t, lifecycle.Open, s.Phase())
	assert.Equal(t, []string{"offered", "claimed", "released", "claimed", "released"}, c.log(t, p.ID))
}

// One transaction ends the handoff and offers the return handoff.
func failSendsItBack(t *testing.T, c *cast) {
	p := c.offer(t, c.source, "fixer")
	h := c.fixer.mustClaim(t, p)
	child := c.Envelope(t, "fixer", "investigator")
	child.Parent = p.ID
	back, err := c.fixer.Engine.Author.Prepare(t.Context(), c.fixer.home, child, "")
	require.NoError(t, err)
	s, err := c.fixer.Engine.Fail(t.Context(), c.fixer.home, h, lifecycle.Outcome{Next: child.ID, Child: back})
	require.NoError(t, err)
	assert.Equal(t, record.Failed, s.Receipt.Event)
	assert.Equal(t, child.ID, s.Receipt.Next)
	assert.Empty(t, c.inbox(t, p))

	at := lifecycle.Place{Agent: "investigator", ID: child.ID}
	assert.Equal(t, back.Commit.OID, c.inbox(t, at))
	require.NoError(t, c.source.home.Refresh(t.Context(), lifecycle.FetchSpec{Places: []lifecycle.Place{at}, Lanes: []handoff.ID{at.ID, p.ID}}))
	c.source.mustClaim(t, at)
}

func reject(t *testing.T, c *cast) {
	p := c.offer(t, c.source, "fixer")
	s, err := c.fixer.Engine.Fail(t.Context(), c.fixer.home, lifecycle.ClaimProof{Place: p}, lifecycle.Outcome{})
	require.NoError(t, err)
	assert.Equal(t, record.Failed, s.Receipt.Event)
	assert.Empty(t, c.inbox(t, p))
}

func withdraw(t *testing.T, c *cast) {
	open, held := c.offer(t, c.source, "fixer"), c.offer(t, c.source, "fixer")
	c.fixer.mustClaim(t, held)
	s, err := c.source.Engine.Withdraw(t.Context(), c.source.home, open, record.Revoked, lifecycle.Outcome{})
	require.NoError(t, err)
	assert.Equal(t, record.Revoked, s.Receipt.Event)
	_, err = c.source.Engine.Withdraw(t.Context(), c.source.home, held, record.Revoked, lifecycle.Outcome{})
	assert.True(t, fault.Is(err, "claimed"), "not under a live claim: %v", err)
	_, err = c.root.Engine.Withdraw(t.Context(), c.root.home, held, record.Revoked, lifecycle.Outcome{})
	assert.NoError(t, err, "a root key at any time")
	for _, p := range []lifecycle.Place{open, held} {
		assert.Empty(t, c.inbox(t, p))
		_, _, err = c.peer.tryClaim(t.Context(), p)
		assert.True(t, fault.Is(err, "replayed"), err)
		assert.ErrorContains(t, err, "revoked by")
	}
}

func onlyOneClaim(t *testing.T, c *cast) {
	p := c.offer(t, c.source, "fixer")
	h := c.fixer.mustClaim(t, p)
	_, _, err := c.peer.tryClaim(t.Context(), p)
	assert.True(t, fault.Is(err, "claimed"), err)
	assert.Equal(t, fault.Conflict, fault.CodeOf(err))
	assert.ErrorContains(t, err, "held by fixer until")
	_, again, err := c.fixer.tryClaim(t.Context(), p)
	require.NoError(t, err, "shown again to its holder")
	assert.Equal(t, h, again)
	assert.Equal(t, []string{"offered", "claimed"}, c.log(t, p.ID))
}

func onlyTheHolder(t *testing.T, c *cast) {
	p := c.offer(t, c.source, "fixer")
	h := c.fixer.mustClaim(t, p)
	before := c.log(t, p.ID)
	for _, s := range []*agent{c.peer, c.source, c.root} {
		_, _, err := s.Engine.Acknowledge(t.Context(), s.home, h, lifecycle.Outcome{})
		assert.True(t, fault.Is(err, "not_holder"), "%s: %v", s.name, err)
		_, err = s.Engine.Renew(t.Context(), s.home, h, lifecycle.Renewal{})
		assert.True(t, fault.Is(err, "not_holder"), "%s: %v", s.name, err)
		_, err = s.Engine.Fail(t.Context(), s.home, h, lifecycle.Outcome{})
		assert.True(t, fault.Is(err, "not_holder"), "%s: %v", s.name, err)
	}
	_, err := c.peer.Engine.Release(t.Context(), c.peer.home, h, true)
	assert.Equal(t, fault.Denied, fault.CodeOf(err), err)
	assert.Equal(t, before, c.log(t, p.ID))
}

// An ended handoff stays ended: a clone that still has it in its outbox, a clone that knows no lane, and a
// second payload under the same id change nothing.
func endedStaysEnded(t *testing.T, c *cast) {
	p := c.prepare(t, c.source, "fixer")
	at := lifecycle.Place{Agent: "fixer", ID: p.Record.ID}
	late := c.clone(t, "investigator", c.source.Engine.Author.Signer)
	_, err := c.source.Engine.Offer(t.Context(), c.source.home, p)
	require.NoError(t, err)
	h := c.fixer.mustClaim(t, at)
	_, _, err = c.fixer.Engine.Acknowledge(t.Context(), c.fixer.home, h, lifecycle.Outcome{})
	require.NoError(t, err)
	before := c.log(t, at.ID)
	require.Empty(t, c.inbox(t, at))

	for i, s := range []*agent{c.source, late} {
		state, err := s.Engine.Offer(t.Context(), s.home, p)
		require.NoError(t, err, "delivered long ago")
		assert.Equal(t, lifecycle.Ended, state.Phase(), i)
		assert.Empty(t, c.inbox(t, at), i)
	}
	anew, err := late.Engine.Author.Prepare(t.Context(), late.home, p.Envelope, "")
	require.NoError(t, err)
	_, err = late.Engine.Offer(t.Context(), late.home, anew)
	assert.True(t, fault.Is(err, "replayed"), err)
	_, _, err = c.peer.tryClaim(t.Context(), at)
	assert.True(t, fault.Is(err, "replayed"), err)
	assert.Empty(t, c.inbox(t, at))
	assert.Equal(t, before, c.log(t, at.ID))
}

// An agent whose key the others do not trust claims a handoff. The claim does not count, and no other agent can
// go on until a person with a root key ends the handoff.
func wrongKey(t *testing.T, c *cast) {
	mallory := c.clone(t, "fixer", enginetest.NewKey(t))
	believes, err := enginetest.NewTrust(append(slices.Clip(c.Trusted), sign.TrustEntry{
		KID: mallory.Engine.Author.Signer.KID(), Key: mallory.Engine.Author.Signer.Public().Text(),
		Agents: []string{"fixer"}, Roles: []string{sign.RoleRecipient},
	})...)
	require.NoError(t, err)
	mallory.Engine.Keys.Trust = believes // she trusts herself, and the others do not

	p := c.offer(t, c.source, "fixer")
	h := mallory.mustClaim(t, p)
	_, _, err = mallory.Engine.Acknowledge(t.Context(), mallory.home, h, lifecycle.Outcome{})
	require.NoError(t, err)
	for _, s := range []*agent{c.source, c.fixer} {
		state := s.look(t, p)
		assert.Equal(t, lifecycle.Disputed, state.Phase())
		assert.True(t, fault.Is(state.Dispute, "untrusted_key"), state.Dispute)
		assert.Nil(t, state.Receipt, "her receipt is none")
	}
	_, _, err = c.fixer.tryClaim(t.Context(), p)
	assert.True(t, fault.Is(err, "disputed"), err)
	assert.Equal(t, fault.Denied, fault.CodeOf(err))
	_, err = c.root.Engine.Withdraw(t.Context(), c.root.home, p, record.Revoked, lifecycle.Outcome{})
	require.NoError(t, err)
	assert.Equal(t, lifecycle.Ended, c.fixer.look(t, p).Phase())
}

func takeOver(t *testing.T, c *cast) {
	p := c.offer(t, c.source, "fixer")
	h := c.fixer.mustClaim(t, p)
	c.Pass(lifecycle.DefaultLease + time.Second)
	taken := c.peer.mustClaim(t, p)
	_, _, err := c.fixer.Engine.Acknowledge(t.Context(), c.fixer.home, h, lifecycle.Outcome{})
	assert.True(t, fault.Is(err, "not_holder"), "the former holder: %v", err)
	_, _, err = c.peer.Engine.Acknowledge(t.Context(), c.peer.home, taken, lifecycle.Outcome{})
	assert.NoError(t, err)
	assert.Equal(t, []string{"offered", "claimed", "claimed", "acknowledged"}, c.log(t, p.ID))
}

// A home applies a whole transaction or nothing, and reports which refs moved.
func staleTransactions(t *testing.T, c *cast) {
	p := c.offer(t, c.source, "fixer")
	s := c.fixer.look(t, p)
	namespace := c.fixer.home.Namespace()
	inbox, lane := namespace.Inbox("fixer", p.ID), namespace.Lane(p.ID)
	other := namespace.Inbox("nobody-yet", p.ID)
	for _, tc := range []struct {
		name string
		edit refs.Edit
	}{
		{"must not exist, and does", refs.Edit{Ref: inbox, New: s.LaneTip}},
		{"was elsewhere", refs.Edit{Ref: inbox, Old: s.LaneTip, New: s.Payload}},
		{"goes, from elsewhere", refs.Edit{Ref: inbox, Old: s.LaneTip}},
		{"the lane was elsewhere", refs.Edit{Ref: lane, Old: s.Tip, New: s.Payload}},
		{"the lane must not exist", refs.Edit{Ref: lane, New: s.Payload}},
	} {
		err := c.fixer.home.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{{Ref: other, New: s.Tip}, tc.edit}})
		var stale *refs.StaleError
		require.ErrorAs(t, err, &stale, tc.name)
		assert.Len(t, stale.Refs, 1, tc.name)
		assert.Equal(t, s.Tip, c.inbox(t, p), tc.name)
		assert.Empty(t, c.Hub.Git(t, "for-each-ref", refs.LocalNamespace.Inbox("nobody-yet", "")), tc.name)
	}

	// A clone that knows of no other offer offers the handoff again. To git the inbox ref is up to date,
	// whatever its lease says; the lane is not.
	late := c.clone(t, "investigator", c.source.Engine.Author.Signer)
	err := late.home.Apply(t.Context(), refs.Transaction{
		Edits:   []refs.Edit{{Ref: inbox, New: s.Payload}, {Ref: lane, New: s.Payload}},
		Objects: c.objects(t, s.Payload),
	})
	require.ErrorAs(t, err, new(*refs.StaleError))
	assert.Equal(t, []string{"offered"}, c.log(t, p.ID))
}

// objects returns the objects that a ref to a payload commit needs.
func (c *cast) objects(t *testing.T, payload string) []*refs.Object {
	t.Helper()
	var list []*refs.Object
	for _, name := range []string{payload, payload + "^{tree}", payload + ":handoff.json"} {
		o, err := c.source.Repo.Read(t.Context(), name, 1<<20)
		require.NoError(t, err)
		require.NotNil(t, o)
		list = append(list, o)
	}
	return list
}

// One of several agents that race for a handoff wins, also among agents with the same key. The others learn who
// won.
func racers(t *testing.T, c *cast) {
	agents := []*agent{c.fixer, c.peer, c.clone(t, "fixer", c.fixer.Engine.Author.Signer)}
	for round := range 2 {
		p := c.offer(t, c.source, "fixer")
		for _, s := range agents {
			s.look(t, p)
		}
		errs := make([]error, len(agents))
		var wg sync.WaitGroup
		for i, s := range agents {
			wg.Go(func() { _, _, errs[i] = s.tryClaim(t.Context(), p) })
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			assert.True(t, fault.Is(err, "claimed"), "round %d: %v", round, err)
			assert.ErrorContains(t, err, fmt.Sprintf("%s is held by fixer until", p.ID))
		}
		assert.Equal(t, 1, won, "round %d: %v", round, errs)
		assert.Equal(t, []string{"offered", "claimed"}, c.log(t, p.ID))
	}
}
