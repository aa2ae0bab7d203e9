package crossrepo

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/record"
)

func TestResults(t *testing.T) {
	none, err := Results{}.Encode()
	require.NoError(t, err)
	assert.Empty(t, none)
	assert.Nil(t, DecodeResults(""))
	assert.Nil(t, DecodeResults(`["pr"]`))

	r := Results{"pr": "#743", "author": "Zoë", "mood": "😀", "log": "one\ntwo\t\x7f", "html": "<a href=\"x\">&</a>"}
	s, err := r.Encode()
	require.NoError(t, err)
	assert.Equal(t, `{"author":"Zo\u00eb","html":"\u003ca href=\"x\"\u003e\u0026\u003c/a\u003e","log":"one\ntwo\t\u007f","mood":"\ud83d\ude00","pr":"#743"}`, s)
	assert.Equal(t, r, DecodeResults(s))

	_, err = Results{"log": strings.Repeat("x", 4096)}.Encode()
	assert.True(t, fault.Is(err, "too_large"), "refused, not cut: %v", err)
	assert.Equal(t, fault.Invalid, fault.CodeOf(err))
}

// Results become the line of a commit's message: printable ASCII, and read back
// as they were.
func FuzzResults(f *testing.F) {
	f.Add("pr", "#743")
	f.Add("", "\u2028\U0001F600\ufffd")
	f.Add("a\nHandoff-Event: offered", "\x00\x1b[2J\"\\")
	f.Fuzz(func(t *testing.T, key, value string) {
		s, err := Results{key: value}.Encode()
		if err != nil {
			return
		}
		require.False(t, strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }), "%q", s)
		if utf8.ValidString(key) && utf8.ValidString(value) {
			assert.Equal(t, Results{key: value}, DecodeResults(s))
		}
	})
}

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
