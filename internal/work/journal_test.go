package work

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/record"
)

// The last step counts, but to renew a lease does not replace what ends it.
func TestJournal(t *testing.T) {
	const id, other = "ho_01kahcp3g0000000000000000r", "ho_01kahcp3g0000000000000000s"
	j := Journal{Dir: filepath.Join(t.TempDir(), "journal")}
	put := func(event record.Event) { require.NoError(t, j.Put(Step{ID: id, Event: event, Nonce: "n"})) }
	is := func(events ...record.Event) {
		t.Helper()
		steps, err := j.All()
		require.NoError(t, err)
		var got []record.Event
		for _, s := range steps {
			got = append(got, s.Event)
		}
		assert.Equal(t, events, got)
	}
	is()
	put(record.Progressed)
	put(record.Progressed)
	is(record.Progressed)
	require.NoError(t, j.Put(Step{ID: id, Event: record.Progressed, Nonce: "n", At: time.Date(2026, 11, 20, 23, 0, 0, 7, time.FixedZone("", 3600))}))
	step, err := j.Get(id)
	require.NoError(t, err)
	assert.Equal(t, "2026-11-20T22:00:00Z", step.At.Format(time.RFC3339Nano), "whole seconds, UTC")
	put(record.Acknowledged)
	is(record.Acknowledged)
	put(record.Progressed)
	is(record.Acknowledged)
	put(record.Failed)
	is(record.Failed)
	require.NoError(t, j.Put(Step{ID: other, Event: record.Released}))
	is(record.Failed, record.Released)
	require.NoError(t, j.Took(id, record.Progressed), "an end outlives a renewal")
	is(record.Failed, record.Released)
	require.NoError(t, j.Took(id, record.Acknowledged))
	is(record.Released)
	require.NoError(t, j.Put(Step{ID: id, Event: record.Progressed}))
	require.NoError(t, j.Took(id, record.Progressed))
	require.NoError(t, j.Drop(id))
	is(record.Released)
}
