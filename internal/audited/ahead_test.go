package audited

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// perLane is the number of entries per lane with which three lanes are enough to be read ahead.
const perLane = refs.ManyAsked/2 + 1

// lanes makes lanes with the entries of one handoff each, and returns their refs and entries.
func (s *fixture) lanes(t *testing.T, names ...string) ([]refs.Ref, map[string][]lifecycle.LearnedEntry) {
	t.Helper()
	var in strings.Builder
	for _, name := range names {
		for i := range perLane {
			message := fmt.Sprintf("offered\n\nHandoff-Id: %s\nHandoff-Event: offered\nHandoff-Nonce: %d\n", idIn(name), i)
			fmt.Fprintf(&in, "commit %s%s\ncommitter a <a@example.com> 1795238153 +0000\ndata %d\n%s\n", s.home.Namespace().Lanes(), name, len(message), message)
		}
	}
	s.Hub.GitIn(t, strings.NewReader(in.String()), "fast-import", "--quiet")
	var list []refs.Ref
	entries := map[string][]lifecycle.LearnedEntry{}
	for _, name := range names {
		lane := refs.Ref{Name: s.home.Namespace().Lanes() + name}
		lane.OID = s.Hub.Git(t, "rev-parse", lane.Name)
		for oid := range strings.FieldsSeq(s.Hub.Git(t, "rev-list", "--reverse", lane.Name)) {
			entries[lane.Name] = append(entries[lane.Name], lifecycle.LearnedEntry{OID: oid})
		}
		list = append(list, lane)
	}
	return list, entries
}

// idIn returns an id of the given lane.
func idIn(lane string) handoff.ID { return handoff.ID("ho_01m7y9empg6cpcmb990axq95" + lane) }

// Entries are read ahead before the lanes are listed. A lane that is gone, that has moved, or whose inbox refs
// have moved since is judged anew or skipped. The other lanes are shown with their own entries.
func TestReadAhead(t *testing.T) {
	s := newFixture(t)
	lanes, entries := s.lanes(t, "00", "01", "02", "03", "04")
	m := s.open(t, program)
	for _, lane := range lanes {
		m.learn(lane, seen+"v", lifecycle.Lesson{Sound: true, Newest: s.Now(), Entries: entries[lane.Name]})
	}
	m.save("")

	gone, moved, other := lanes[0].Name, lanes[1].Name, lanes[3].Name
	m = s.open(t, program)
	m.ReadAhead(t.Context())
	require.False(t, m.reading.line.Closed(), "they are many")
	lanes[1].OID = entries[moved][perLane-2].OID
	shown, judged := map[string][]string{}, map[string]bool{}
	m.audit = func(_ context.Context, _ lifecycle.Home, lane refs.Ref, a lifecycle.LaneAudit) error {
		judged[lane.Name] = true
		a.Learn(lifecycle.Lesson{})
		return nil
	}
	require.NoError(t, m.Lanes(t.Context(), lanes[1:], Visitor{
		Entry: func(lane refs.Ref, e *lifecycle.Entry) error {
			assert.Equal(t, lane.Name, s.home.Namespace().Lane(e.Record().ID))
			assert.False(t, m.reading.line.Closed(), "they are still read ahead")
			shown[lane.Name] = append(shown[lane.Name], e.Record().Nonce)
			return nil
		},
		State: func(refs.Ref, *lifecycle.State) error { return nil },
		View: func(lane refs.Ref) string {
			if lane.Name == other {
				return "w"
			}
			return "v"
		},
	}))
	assert.Equal(t, map[string]bool{moved: true, other: true}, judged)
	assert.NotContains(t, shown, gone)
	for _, name := range []string{lanes[2].Name, lanes[4].Name} {
		require.Len(t, shown[name], perLane)
		assert.Equal(t, fmt.Sprint(perLane-1), shown[name][perLane-1])
	}
}
