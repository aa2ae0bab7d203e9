package lifecycle

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// stuck offers a handoff that waits for a decision.
func (c *roles) stuck(t *testing.T) Place {
	t.Helper()
	env := c.envelope(t, "investigator", handoff.Nobody)
	env.Status, env.BlockedReason, env.Attempted = handoff.StatusBlocked, "security_concern", []string{"stored the token"}
	p, err := c.source.Author.Prepare(t.Context(), c.home, env, "")
	require.NoError(t, err)
	_, err = c.source.Offer(t.Context(), c.home, p)
	require.NoError(t, err)
	require.Equal(t, handoff.Nobody, p.Agent)
	return Place{Agent: p.Agent, ID: p.Record.ID}
}

func TestRoute(t *testing.T) {
	c := newRoles(t)
	p := c.stuck(t)
	before := c.load(t, c.root, p)
	_, err := c.root.Route(t.Context(), c.home, p, "fixer", `{"clarify":"true"}`)
	require.NoError(t, err)

	// The inbox ref moved in one transaction with the lane, and the payload is the same.
	assert.Empty(t, c.Hub.Git(t, "for-each-ref", refs.LocalNamespace.Inbox(handoff.Nobody, "")))
	s := c.load(t, c.holder, p)
	assert.Equal(t, s, c.load(t, c.holder, Place{Agent: "fixer", ID: p.ID}), "found from where it was and from where it is")
	assert.Equal(t, Open, s.Phase())
	assert.Equal(t, "fixer", s.To)
	assert.Equal(t, "fixer", s.Agent)
	require.Len(t, s.Chain, 2)
	assert.Equal(t, before.Tip, s.Chain[0].OID)
	tip := s.Chain[1].Commit
	assert.Equal(t, record.Routed, tip.Record.Event)
	assert.Equal(t, "fixer", tip.Record.To)
	assert.Equal(t, "alice@example.com", tip.Record.Actor)
	assert.Equal(t, before.Tip, tip.Record.Previous)
	assert.Equal(t, s.Chain[0].Commit.Tree, tip.Tree)
	assert.Equal(t, `{"clarify":"true"}`, s.Entries[1].Record().Data)

	v, err := c.holder.Verifier.Verify(t.Context(), c.home, s, Options{})
	require.NoError(t, err)
	assert.Equal(t, handoff.StatusBlocked, v.Envelope().Status)
	c.Hub.Git(t, "fsck", "--strict")

	// The handoff is now like any other of that inbox.
	_, _, err = c.tryClaim(t.Context(), c.reviewer, Place{Agent: "fixer", ID: p.ID})
	assert.Equal(t, fault.Denied, fault.CodeOf(err), err)
	h := c.claim(t, c.holder, Place{Agent: "fixer", ID: p.ID})
	_, _, err = c.holder.Acknowledge(t.Context(), c.home, h, Outcome{SkillsMissing: "testing, writing"})
	require.NoError(t, err)
	s = c.load(t, c.source, p)
	assert.Equal(t, Ended, s.Phase())
	assert.Equal(t, "testing, writing", s.Receipt.SkillsMissing)
	assert.Empty(t, c.Hub.Git(t, "for-each-ref", "refs/handoffs/inbox"))
}

func TestRouteAgain(t *testing.T) {
	c := newRoles(t)
	p := c.stuck(t)
	for range 2 {
		s, err := c.root.Route(t.Context(), c.home, p, "fixer", "")
		require.NoError(t, err)
		assert.Len(t, s.Entries, 2)
	}
	_, err := c.root.Route(t.Context(), c.home, p, "reviewer", "")
	assert.True(t, fault.Is(err, "routed"), err)
	assert.Equal(t, fault.Conflict, fault.CodeOf(err))
	assert.ErrorContains(t, err, "already with fixer")

	h := c.claim(t, c.holder, Place{Agent: "fixer", ID: p.ID})
	_, _, err = c.holder.Acknowledge(t.Context(), c.home, h, Outcome{})
	require.NoError(t, err)
	_, err = c.root.Route(t.Context(), c.home, p, "fixer", "")
	assert.True(t, fault.Is(err, "replayed"), err)
	_, err = c.root.Route(t.Context(), c.home, Place{Agent: handoff.Nobody, ID: c.envelope(t, "a", "b").ID}, "fixer", "")
	assert.Equal(t, fault.NotFound, fault.CodeOf(err), err)
}

// Only a person decides. For other keys nothing is written.
func TestRouteNeedsRoot(t *testing.T) {
	for _, name := range []string{"source", "other", "holder", "reviewer", "stranger"} {
		c := newRoles(t)
		p := c.stuck(t)
		before := c.Hub.Git(t, "for-each-ref")
		_, err := c.by(name).Route(t.Context(), c.home, p, "fixer", "")
		assert.True(t, fault.Is(err, "untrusted_key"), "%s: %v", name, err)
		assert.Equal(t, fault.Denied, fault.CodeOf(err))
		assert.Contains(t, fault.As(err).Advice(), "to decide it")
		assert.Equal(t, before, c.Hub.Git(t, "for-each-ref"))
	}
}

// A claimed handoff cannot be routed.
func TestRouteClaimed(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	_, err := c.root.Route(t.Context(), c.home, p, "reviewer", "")
	assert.True(t, fault.Is(err, "routed"), err)
}

// Two people decide at once. One wins, and the other learns where the handoff went.
func TestOneOfTwoRoutesWins(t *testing.T) {
	c := newRoles(t)
	p := c.stuck(t)
	other := c.person(t, "bob@example.com")
	errs := make(chan error, 2)
	go func() { _, err := c.root.Route(t.Context(), c.home, p, "fixer", ""); errs <- err }()
	go func() { _, err := other.Route(t.Context(), c.home, p, "reviewer", ""); errs <- err }()
	one, two := <-errs, <-errs
	if one == nil {
		one, two = two, one
	}
	require.NoError(t, two)
	assert.True(t, fault.Is(one, "routed"), one)
	assert.Len(t, c.load(t, c.root, p).Entries, 2)
}

// A killed git can leave a part of the transaction, in which moves come first and deletions last. The handoff is
// found in the inbox that the lane names.
func TestRouteLeavesTheOldRef(t *testing.T) {
	c := newRoles(t)
	p := c.stuck(t)
	tip := c.load(t, c.root, p).Tip
	_, err := c.root.Route(t.Context(), c.home, p, "fixer", "")
	require.NoError(t, err)
	require.NoError(t, c.home.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{{Ref: refs.LocalNamespace.Inbox(handoff.Nobody, p.ID), New: tip}}}))
	s := c.load(t, c.holder, p)
	assert.Equal(t, "fixer", s.Agent)
	_, err = c.holder.Verifier.Verify(t.Context(), c.home, s, Options{})
	assert.NoError(t, err)
	c.claim(t, c.holder, p)
}

// Older versions let a handoff that needs a review wait for a decision even if its sender named an agent. Such a
// handoff still verifies and can be routed. A new offer goes to the agent that it names.
func TestNamedAgentWins(t *testing.T) {
	for _, status := range []string{handoff.StatusNeedsReview, handoff.StatusNeedsClarification, handoff.StatusBlocked} {
		ask := func(e *handoff.Envelope) {
			e.Status, e.BlockedReason, e.Attempted = status, "r", []string{"x"}
			e.Questions = []handoff.Question{{Question: "?", Options: []string{}}}
		}
		c := newRoles(t)
		waits := forgery{env: ask, agent: handoff.Nobody, record: func(r *record.Record) { r.To = handoff.Nobody }}.offer(t, c)
		_, err := c.root.Route(t.Context(), c.home, Place{Agent: handoff.Nobody, ID: waits.ID}, "fixer", "")
		require.NoError(t, err)
		c.claim(t, c.holder, Place{Agent: "fixer", ID: waits.ID})

		env := c.envelope(t, "investigator", "fixer")
		ask(env)
		p, err := c.source.Author.Prepare(t.Context(), c.home, env, "")
		require.NoError(t, err)
		assert.Equal(t, "fixer", p.Agent)
		assert.Equal(t, "fixer", p.Record.To)
	}
}
