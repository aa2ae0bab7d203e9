package lifecycle

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// A command that reads a handoff again checks only the signatures of new entries, and reads only new commits.
func TestReadAgain(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, p)
	first := c.load(t, c.source, p)
	_, err := c.holder.Renew(t.Context(), c.home, h, Renewal{})
	require.NoError(t, err)

	again := c.load(t, c.source, p)
	require.Len(t, again.Entries, 3)
	require.Len(t, again.Chain, 3)
	for i, e := range first.Entries {
		assert.NotSame(t, e, again.Entries[i], "each state is judged anew")
		assert.Same(t, e.signature, again.Entries[i].signature)
		assert.Same(t, first.Chain[i].Commit, again.Chain[i].Commit)
	}
	assert.Nil(t, again.Dispute)
	assert.Equal(t, record.Progressed, again.Last().Event)
}

// A signature that was checked counts only as long as its key is trusted as it was then.
func TestReadAgainUnderOtherTrust(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	require.Equal(t, Held, c.load(t, c.source, p).Phase())

	trusted := c.Trusted
	c.Trusted = slices.DeleteFunc(slices.Clone(trusted), func(e sign.TrustEntry) bool { return e.KID == c.holder.Author.Signer.KID() })
	c.Spread(t)
	s := c.load(t, c.source, p)
	assert.Error(t, s.Entries[1].Dispute)
	assert.NotEqual(t, Held, s.Phase())

	c.Trusted = trusted
	c.Spread(t)
	assert.Equal(t, Held, c.load(t, c.source, p).Phase())
}

// A hub may put an inbox ref back to an older commit, or to one of another handoff.
func TestReadAgainAnOlderChain(t *testing.T) {
	c := newRoles(t)
	p, other := c.offer(t, c.source, "fixer"), c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	s := c.load(t, c.source, p)
	require.Len(t, s.Chain, 2)
	ref := c.home.Namespace().Inbox("fixer", p.ID)

	c.Hub.Git(t, "update-ref", ref, s.Chain[0].OID)
	assert.Len(t, c.load(t, c.source, p).Chain, 1)

	c.Hub.Git(t, "update-ref", ref, c.load(t, c.source, other).Tip)
	s = c.load(t, c.source, p)
	assert.Empty(t, s.Chain)
	assert.Error(t, s.chainErr)
}
