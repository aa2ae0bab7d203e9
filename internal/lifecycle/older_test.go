package lifecycle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// kept returns a payload in the outbox as versions before the rule on mail addresses signed it: with the address
// of the user who ran the agent.
func (c *roles) kept(t *testing.T) *Payload {
	t.Helper()
	p := c.prepare(t, c.source, "fixer")
	tree := p.Objects[len(p.Objects)-2]
	commit, err := c.source.Author.commit(t.Context(), "alice@example.com", &p.Record, tree.OID)
	require.NoError(t, err)
	require.NoError(t, c.repo.Store.Write(append(p.Objects, commit)...))
	back, err := c.source.Verifier.Reload(t.Context(), commit.OID)
	require.NoError(t, err)
	return back
}

// A handoff that waited for its hub during an upgrade is offered, also a second time to a home that lost the
// inbox ref. Each entry is the record of the commit.
func TestOfferFromTheOutboxOfAnEarlierVersion(t *testing.T) {
	c := newRoles(t)
	p := c.kept(t)
	for range 2 {
		_, err := c.source.Offer(t.Context(), c.home, p)
		require.NoError(t, err)
		at := Place{Agent: "fixer", ID: p.Record.ID}
		s := c.load(t, c.holder, at)
		require.NoError(t, s.Err())
		_, err = c.holder.Verifier.Verify(t.Context(), c.home, s, Options{})
		require.NoError(t, err)
		inbox := refs.LocalNamespace.Inbox("fixer", p.Record.ID)
		require.NoError(t, c.home.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{{Ref: inbox, Old: p.Commit.OID}}}))
	}
}

// A handoff that such a version signed after the rule took effect would be disputed by every reader. It stays in
// the outbox.
func TestOfferRefusesTheMailOfAnother(t *testing.T) {
	c := newRoles(t)
	c.Set(time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	p := c.kept(t)
	_, err := c.source.Offer(t.Context(), c.home, p)
	require.True(t, fault.Is(err, fault.UntrustedKey), "%v", err)
	assert.Contains(t, fault.As(err).Advice(), "githandoff revoke "+string(p.Record.ID))
	assert.Equal(t, Absent, c.load(t, c.holder, Place{Agent: "fixer", ID: p.Record.ID}).Phase())
}
