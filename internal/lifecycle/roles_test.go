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
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// roles is a fixture with an engine for each role that a key can have in a handoff.
type roles struct {
	*fixture
	source, other, holder, peer, reviewer, root, stranger *Engine
}

func newRoles(t *testing.T) *roles {
	t.Helper()
	c := &roles{fixture: newFixture(t)}
	c.source = c.agent(t, "investigator")
	c.other = c.agent(t, "reporter")
	c.holder = c.agent(t, "fixer")
	c.peer = c.agent(t, "fixer") // has another key for the same inbox
	c.reviewer = c.agent(t, "reviewer")
	c.root = c.person(t, "alice@example.com")
	c.stranger = c.fixture.stranger(t, "fixer")
	return c
}

func (c *roles) by(name string) *Engine {
	return map[string]*Engine{
		"source": c.source, "other": c.other, "holder": c.holder, "peer": c.peer,
		"reviewer": c.reviewer, "root": c.root, "stranger": c.stranger,
	}[name]
}

// The table of roles says who may take which step, and when. A step by any other key disputes the handoff.
func TestRoles(t *testing.T) {
	everybody := []string{"source", "other", "holder", "peer", "reviewer", "root", "stranger"}
	for _, tc := range []struct {
		event record.Event
		when  string // open, held, overdue
		may   string
	}{
		{record.Routed, "open", "root"},
		{record.Routed, "held", ""},
		{record.Claimed, "open", "holder peer"},
		{record.Claimed, "held", ""},
		{record.Claimed, "overdue", "holder peer"},
		{record.Progressed, "open", ""},
		{record.Progressed, "held", "holder"},
		{record.Progressed, "overdue", "holder"},
		{record.Released, "open", ""},
		{record.Released, "held", "holder source root"},
		{record.Released, "overdue", "holder source root"},
		{record.Acknowledged, "open", ""},
		{record.Acknowledged, "held", "holder"},
		{record.Acknowledged, "overdue", "holder"},
		{record.Failed, "open", "holder peer root"},
		{record.Failed, "held", "holder root"},
		{record.Failed, "overdue", "holder root"},
		{record.Rerouted, "open", "source root"},
		{record.Rerouted, "held", "holder root"},
		{record.Rerouted, "overdue", "holder source root"},
		{record.Revoked, "open", "source root"},
		{record.Revoked, "held", "root"},
		{record.Revoked, "overdue", "source root"},
		{record.Expired, "open", "source root"},
		{record.Expired, "held", "root"},
		{record.Expired, "overdue", "source root"},
		{record.Joined, "open", ""}, // a join has two parents: see Engine.Join
	} {
		t.Run(string(tc.event)+" while "+tc.when, func(t *testing.T) {
			t.Parallel()
			c := newRoles(t)
			for _, name := range everybody {
				p := c.offer(t, c.source, "fixer")
				if tc.when != "open" {
					c.claim(t, c.holder, p)
				}
				if tc.when == "overdue" {
					c.Pass(DefaultLease + time.Second)
				}
				before := c.load(t, c.holder, p)
				c.forge(t, c.by(name), before, tc.event)
				s := c.load(t, c.holder, p)
				last := s.Entries[len(s.Entries)-1]
				require.Equal(t, tc.event, last.Record().Event)

				if slices.Contains(strings.Fields(tc.may), name) {
					assert.NoError(t, last.Dispute, "%s may", name)
					assert.NotEqual(t, Disputed, s.Phase(), name)
					assert.Equal(t, tc.event.Receipt(), s.Phase() == Ended, name)
					continue
				}
				assert.Error(t, last.Dispute, "%s may not", name)
				assert.Equal(t, Disputed, s.Phase(), name)
				assert.True(t, fault.Is(s.Err(), "disputed"), "%s: %v", name, s.Err())
				assert.Equal(t, before.Claim == nil, s.Claim == nil, "%s changed the claim", name)
				assert.Nil(t, s.Receipt, name)
			}
		})
	}
}

// An offer counts if it is by a sender under its own name, or by a root key.
func TestRolesOffer(t *testing.T) {
	c := newRoles(t)
	receiver := c.agent(t, "receiver", sign.RoleRecipient)
	for _, tc := range []struct {
		by   *Engine
		from string
		why  string // reason of the dispute
	}{
		{c.source, "investigator", ""},
		{c.root, "investigator", ""},
		{c.source, "reporter", "untrusted_key"},
		{receiver, "receiver", "untrusted_key"},
		{c.stranger, "fixer", "untrusted_key"},
	} {
		env := c.envelope(t, tc.from, "fixer")
		by := sure(t, tc.by)
		p, err := by.Author.Prepare(t.Context(), c.home, env, "")
		require.NoError(t, err)
		_, err = by.Offer(t.Context(), c.home, p)
		require.NoError(t, err, "whether it counts is for the reader to say")
		s := c.load(t, c.holder, Place{Agent: "fixer", ID: env.ID})
		if tc.why == "" {
			assert.Equal(t, Open, s.Phase())
			continue
		}
		assert.Equal(t, Disputed, s.Phase())
		assert.True(t, fault.Is(s.Err(), fault.Reason(tc.why)), s.Err())
		_, _, err = c.tryClaim(t.Context(), c.holder, Place{Agent: "fixer", ID: env.ID})
		assert.True(t, fault.Is(err, fault.Reason(tc.why)), err)
	}
}

// A disputed handoff has no holder until a root key ends it.
func TestRootEndsADispute(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.forge(t, c.stranger, c.load(t, c.holder, p), record.Acknowledged)
	for _, e := range []*Engine{c.holder, c.peer} {
		_, _, err := c.tryClaim(t.Context(), e, p)
		assert.True(t, fault.Is(err, "disputed"), err)
		assert.Equal(t, fault.Denied, fault.CodeOf(err))
	}
	_, err := c.root.Withdraw(t.Context(), c.home, p, record.Revoked, Outcome{})
	require.NoError(t, err)
	s := c.load(t, c.holder, p)
	assert.Equal(t, Ended, s.Phase())
	assert.Equal(t, record.Revoked, s.Receipt.Event)
}

// After the receipt no entry counts, whoever signed it.
func TestEndedStaysEnded(t *testing.T) {
	for _, by := range []string{"source", "holder", "root"} {
		c := newRoles(t)
		p := c.offer(t, c.source, "fixer")
		h := c.claim(t, c.holder, p)
		held := c.load(t, c.holder, p)
		_, _, err := c.holder.Acknowledge(t.Context(), c.home, h, Outcome{})
		require.NoError(t, err)
		// Somebody restores the inbox ref, and adds a claim.
		require.NoError(t, c.home.Apply(t.Context(), restore(c, p, held)))
		after := c.load(t, c.holder, p)
		assert.Equal(t, Ended, after.Phase())
		held.LaneTip = after.LaneTip
		c.forge(t, c.by(by), held, record.Claimed)
		s := c.load(t, c.holder, p)
		assert.Equal(t, Ended, s.Phase())
		assert.True(t, fault.Is(s.Entries[len(s.Entries)-1].Dispute, "replayed"), by)
		_, _, err = c.tryClaim(t.Context(), c.holder, p)
		assert.True(t, fault.Is(err, "replayed"), err)
	}
}

// An entry with the right key may still have content that does not count.
func TestEntriesThatDoNotCount(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		event        record.Event
		edit         func(*record.Record)
	}{
		{"another home", "audience_mismatch", record.Claimed, func(r *record.Record) { r.Home = "git+https://example.com/evil" }},
		{"another digest", "digest_mismatch", record.Claimed, func(r *record.Record) { r.Digest = "sha256:" + strings.Repeat("0", 64) }},
		{"another source", "digest_mismatch", record.Claimed, func(r *record.Record) { r.From = "reporter" }},
		{"another key's name", "signature_invalid", record.Claimed, func(r *record.Record) { r.Key = "ssh:SHA256:" + strings.Repeat("A", 43) }},
		{"stands on a claim that is not", "disputed", record.Claimed, func(r *record.Record) { r.Claim = strings.Repeat("0", 32) }},
		{"another name than its key's", "untrusted_key", record.Claimed, func(r *record.Record) { r.Actor = "ceo@example.com" }},
		{"the name of a colleague", "untrusted_key", record.Claimed, func(r *record.Record) { r.Actor = "reviewer" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newRoles(t)
			for i := range c.Trusted {
				c.Trusted[i].From = "2026-11-01T00:00:00Z"
			}
			c.Spread(t)
			p := c.offer(t, c.source, "fixer")
			c.forge(t, c.holder, c.load(t, c.holder, p), tc.event, tc.edit)
			s := c.load(t, c.holder, p)
			assert.Equal(t, Disputed, s.Phase())
			assert.True(t, fault.Is(s.Dispute, fault.Reason(tc.reason)), s.Dispute)
			assert.Nil(t, s.Claim)
		})
	}
}

// An id is offered once: a second offer by the same sender with other content disputes the handoff, and the
// first offer stays.
func TestOfferedTwice(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	first := c.load(t, c.holder, p).Offer
	c.forge(t, c.source, c.load(t, c.holder, p), record.Offered, func(r *record.Record) { r.Expires = r.Expires.Add(time.Hour) })
	s := c.load(t, c.holder, p)
	assert.Equal(t, Disputed, s.Phase())
	assert.True(t, fault.Is(s.Dispute, "replayed"), s.Dispute)
	assert.Equal(t, first, s.Offer)
}

// Entries that a key signed before it was retired stay valid. Later ones do not, and an open handoff with a
// payload by the key cannot be claimed.
func TestRetiredKeys(t *testing.T) {
	c := newRoles(t)
	before := c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, before)
	_, _, err := c.holder.Acknowledge(t.Context(), c.home, h, Outcome{})
	require.NoError(t, err)
	open := c.offer(t, c.source, "fixer")
	c.Pass(time.Hour)
	c.Trusted[0].Retired = "2026-11-20T22:30:00Z"
	c.Spread(t)

	assert.Equal(t, Ended, c.load(t, c.holder, before).Phase(), "history stands")
	assert.Equal(t, Open, c.load(t, c.holder, open).Phase(), "so does the entry")
	_, _, err = c.tryClaim(t.Context(), c.holder, open)
	assert.Equal(t, fault.Denied, fault.CodeOf(err), "but an open payload needs a key that is valid now: %v", err)

	late := c.offerAsIs(t, c.source, "fixer")
	assert.Equal(t, Disputed, c.load(t, c.holder, late).Phase())
}

// A holder whose key was retired after its claim can take no further step: a thief of the key could take it as
// well.
func TestRetiredHolder(t *testing.T) {
	for _, event := range []record.Event{record.Progressed, record.Released, record.Acknowledged, record.Failed, record.Rerouted} {
		t.Run(string(event), func(t *testing.T) {
			c := newRoles(t)
			p := c.offer(t, c.source, "fixer")
			c.claim(t, c.holder, p)
			i := slices.IndexFunc(c.Trusted, func(e sign.TrustEntry) bool { return e.KID == c.holder.Author.Signer.KID() })
			c.Pass(10 * time.Minute)
			c.Trusted[i].Retired = "2026-11-20T22:05:00Z"
			c.Spread(t)
			c.forge(t, c.holder, c.load(t, c.holder, p), event)

			s := c.load(t, c.root, p)
			assert.True(t, fault.Is(s.Dispute, "key_revoked"), "%v", s.Dispute)
			assert.Nil(t, s.Receipt)
			assert.NotNil(t, s.Claim)
		})
	}
}

// offerAsIs offers a handoff without checking that the offer counts.
func (c *roles) offerAsIs(t *testing.T, e *Engine, to string) Place {
	t.Helper()
	e = sure(t, e)
	p := c.prepare(t, e, to)
	_, err := e.Offer(t.Context(), c.home, p)
	require.NoError(t, err)
	return Place{Agent: p.Agent, ID: p.Record.ID}
}

// sure returns an engine that trusts only its own key, with every role, so it writes steps that others would
// refuse.
func sure(t *testing.T, e *Engine) *Engine {
	t.Helper()
	trust, err := enginetest.NewTrust(sign.TrustEntry{
		KID: e.Author.Signer.KID(), Key: e.Author.Signer.Public().Text(), Roles: []string{sign.RoleRoot}, Principals: []string{"user:" + e.Author.Actor},
	})
	require.NoError(t, err)
	return remade(e, func(s *Setup) { s.Trust = trust })
}

// restore returns the transaction that creates the inbox ref of a state again.
func restore(c *roles, p Place, s *State) refs.Transaction {
	return refs.Transaction{Edits: []refs.Edit{{Ref: c.home.Namespace().Inbox(p.Agent, p.ID), New: s.Tip}}}
}

// Agents of one repository share an outbox but not their keys. An agent does not offer another agent's payload,
// since its entry would be disputed.
func TestOfferTakesItsOwnKey(t *testing.T) {
	c := newRoles(t)
	payload := c.prepare(t, c.source, "fixer")
	for _, e := range []*Engine{c.other, c.holder, c.root} {
		_, err := e.Offer(t.Context(), c.home, payload)
		assert.True(t, fault.Is(err, "not_sender"), err)
	}
	_, err := c.source.Offer(t.Context(), c.home, payload)
	require.NoError(t, err)
	_, err = c.other.Offer(t.Context(), c.home, payload)
	assert.NoError(t, err, "it is there already")
}
