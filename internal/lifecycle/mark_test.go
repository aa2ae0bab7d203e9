package lifecycle

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// A sender can repeat an offer in the lane any number of times with one nonce, and put any number of commits
// with this nonce and its key on the inbox ref. Each entry is compared with at most two of them.
func TestManyRecordsWithOneMark(t *testing.T) {
	const many = 100
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	first := c.load(t, c.holder, p)
	again := *first.Offer
	again.Nonce, again.Payload = strings.Repeat("a", 32), ""
	tip := first.LaneTip
	tx := (&batch{engine: c.source, home: c.home}).transaction()
	for range many {
		rec := again
		rec.Payload = first.Payload
		o := c.signed(t, c.source, rec, gittest.Objects().EmptyTree(), tip)
		require.NoError(t, c.repo.Store.Write(o))
		tip = o.OID
	}
	claim := nextRecord(first)
	require.NoError(t, c.stranger.Author.stamp(&claim, record.Claimed, first.Tip))
	inForm(&claim, first.Offer)
	claim.Nonce, claim.Key = again.Nonce, again.Key
	on := first.Tip
	for range many {
		claim.Previous = on
		o := c.signed(t, c.stranger, claim, first.Chain[0].Commit.Tree, on)
		require.NoError(t, c.repo.Store.Write(o))
		on = o.OID
	}

	tx.Edits = []refs.Edit{
		{Ref: c.lane(p.ID), Old: first.LaneTip, New: tip}, {Ref: refs.LocalNamespace.Inbox("fixer", p.ID), Old: first.Tip, New: on},
	}
	require.NoError(t, c.home.Apply(t.Context(), tx))

	s := c.load(t, c.holder, p)
	for m, links := range s.links {
		assert.LessOrEqual(t, len(links), 2, "compared with each entry of %v", m)
	}
	assert.Len(t, s.Entries, many+1)
	assert.Equal(t, Open, s.Phase(), "%v", s.Dispute)
}
