package survey

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/workspace"
)

func TestSentListIsBounded(t *testing.T) {
	const handoffs = 5 * someMore
	var items []*workspace.Item // a sent ref and a copy of the inbox ref for each, in any order
	for i := range handoffs {
		id := handoff.ID(fmt.Sprintf("ho_%026d", i))
		for _, kind := range []string{"sent", "inbox"} {
			items = append(items, &workspace.Item{Kind: kind, Place: lifecycle.Place{Agent: "fixer", ID: id}, Record: &record.Record{ID: id}})
		}
	}
	rand.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	for _, most := range []int{20, math.MaxInt} {
		l := sentList{most: most, kept: map[handoff.ID]*Sent{}, all: map[handoff.ID]bool{}}
		for _, it := range items {
			l.add(it)
			if most < handoffs {
				require.LessOrEqual(t, len(l.kept), most+someMore)
			}
		}
		list := l.cut()
		require.Len(t, list, min(most, handoffs))
		require.Len(t, l.all, handoffs)
		for i, one := range list {
			require.Equal(t, handoff.ID(fmt.Sprintf("ho_%026d", i)), one.Offer.ID)
			require.NotNil(t, one.Tip, "both refs of a handoff count")
		}
	}
}
