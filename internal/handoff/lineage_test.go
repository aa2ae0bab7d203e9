package handoff_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
)

// A full lineage drops the ancestors that are needed least.
func TestFollow(t *testing.T) {
	const at = "2026-11-20T22:00:00Z"
	text := func(n int) string { return strings.Repeat("x", n) }
	chain := func(stages ...handoff.Envelope) []handoff.Ancestor {
		var lineage []handoff.Ancestor
		for i := range stages {
			stages[i].ID, stages[i].Source.Agent = otherID, "a"
			stages[i].Lineage = lineage
			lineage = handoff.Follow(&stages[i], at, at).Lineage
		}
		return lineage
	}
	data := func(n int) map[string]string { return map[string]string{"k": text(n)} }

	got := chain(handoff.Envelope{Summary: "one", Data: data(10)}, handoff.Envelope{Goal: "two", Data: data(60000)}, handoff.Envelope{Summary: "three", Data: data(20)})
	require.Len(t, got, 3)
	assert.Equal(t, "one", got[0].Summary)
	assert.Equal(t, data(10), got[0].Data, "a large neighbour does not push it out")
	assert.Equal(t, "two", got[1].Summary)
	assert.Nil(t, got[1].Data)
	assert.Equal(t, data(20), got[2].Data)

	var long []handoff.Envelope
	for range 10 {
		long = append(long, handoff.Envelope{Summary: text(handoff.MaxSummary), Data: data(50)})
	}
	got = chain(long...)
	require.Len(t, got, 7, "ten long summaries are more than there is room for")
	for _, a := range got {
		assert.Len(t, a.Summary, handoff.MaxSummary)
	}
	assert.Len(t, chain(make([]handoff.Envelope, 20)...), handoff.MaxLineage)

	parent := handoff.Envelope{ID: otherID, Task: "LIN-423", Data: data(60000)}
	child := handoff.Follow(&parent, at, at)
	assert.Equal(t, parent.ID, child.Parent)
	assert.Equal(t, "LIN-423", child.Task)
	assert.Equal(t, data(60000), parent.Data, "the parent is not changed")
}
