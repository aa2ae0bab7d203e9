package stress

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// Two commands of one clone take the same kept steps and deliver the same outbox at once. Each
// step and each handoff reaches the hub exactly once.
func TestTwoSyncsOfOneClone(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	var waits []string // the handoffs that fixer sent
	for round := range times(t, 3) {
		ended, held := offered(t, boss, fixer), offered(t, boss, fixer)
		hubAway(t, w.Hub, func() {
			fixer.Refuses(t, 8, []string{"the step is kept"}, "ack", ended)
			fixer.Refuses(t, 8, []string{"the step is kept"}, "progress", held)
			waits = append(waits, outgoing(t, fixer, round, 4)...)
		})
		atOnce(t, fixer, []string{"sync"}, []string{"sync"})
		fixer.Must(t, "sync")
		assert.Equal(t, []string{"offered", "claimed", "acknowledged"}, events(t, w.Hub, ended))
		assert.Equal(t, []string{"offered", "claimed", "progressed"}, events(t, w.Hub, held))
		delivered(t, w.Hub, fixer, waits, held)

		hubAway(t, w.Hub, func() {
			fixer.Refuses(t, 8, []string{"the step is kept"}, "progress", held)
			waits = append(waits, outgoing(t, fixer, round, 2)...)
		})
		atOnce(t, fixer, []string{"sync"}, []string{"ack", held})
		fixer.Must(t, "sync")
		// The receipt replaces a kept step that was not sent before it.
		got := events(t, w.Hub, held)
		assert.Equal(t, []string{"offered", "claimed", "progressed", "acknowledged"}, slices.Compact(slices.Clone(got)))
		assert.LessOrEqual(t, len(got), 5, "%v", got)
		assert.Equal(t, 1, strings.Count(strings.Join(got, " "), "acknowledged"), "%v", got)
		delivered(t, w.Hub, fixer, waits)
	}
	boss.Must(t, "sync")
	audited(t, boss)
	sound(t, boss)
	sound(t, w.Hub)
}

// offered has boss send a handoff and fixer take it.
func offered(t *testing.T, boss, fixer *gittest.Repo) string {
	t.Helper()
	id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.Must(t, "resume", id)
	return id
}

// outgoing queues n handoffs of fixer.
func outgoing(t *testing.T, fixer *gittest.Repo, round, n int) (ids []string) {
	t.Helper()
	for i := range n {
		ids = append(ids, fixer.Must(t, "emit", "--to", "boss@origin", "--goal", fmt.Sprint(round, " ", i), "--queue"))
	}
	return ids
}

// hubAway calls do while the hub is away.
func hubAway(t *testing.T, hub *gittest.Repo, do func()) {
	t.Helper()
	require.NoError(t, os.Rename(hub.Dir, hub.Dir+".away"))
	do()
	require.NoError(t, os.Rename(hub.Dir+".away", hub.Dir))
}

// atOnce runs commands of one clone side by side. A command that finds its work done, or the hub busy, may print
// one line about it.
func atOnce(t *testing.T, p *gittest.Repo, commands ...[]string) {
	t.Helper()
	results := make([]gittest.Result, len(commands))
	together(len(commands), func(i int) { results[i] = p.Run(t, commands[i]...) })
	for _, r := range results {
		said := "\n" + r.Stderr
		errors := strings.Count(said, "\ngithandoff: ") - strings.Count(said, "\ngithandoff: warning: ")
		if r.Code == 0 {
			assert.Zero(t, errors, "%s", r)
			continue
		}
		assert.Contains(t, []int{5, 8}, r.Code, "%s", r)
		assert.Equal(t, 1, errors, "%s", r)
	}
}

// delivered checks that the hub has these handoffs once each, and besides them only the held ones. Nothing waits
// in the clone that sent them.
func delivered(t *testing.T, hub, sender *gittest.Repo, ids []string, held ...string) {
	t.Helper()
	assert.ElementsMatch(t, append(held, ids...), open(t, hub, inbox))
	for _, id := range ids {
		assert.Equal(t, []string{"offered"}, events(t, hub, id))
	}
	assert.Empty(t, open(t, sender, outbox))
	sound(t, sender) // fails if a step is kept
}
