package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// A sender can repeat an offer in the lane as often as it likes, with one nonce, and put as many commits
// with this nonce and its key on the inbox ref. Each signature is checked once, and not once for each entry.
func TestManyRecordsWithOneMark(t *testing.T) {
	const many = 1500
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

	start := time.Now()
	s := c.load(t, c.holder, p)
	assert.Less(t, time.Since(start), 12*time.Second)
	assert.Len(t, s.Entries, many+1)
	assert.Equal(t, Open, s.Phase(), "%v", s.Dispute)
}
