package lifecycle

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// offerIn is offer with a given lane.
func (w *fixture) offerIn(t testing.TB, e *Engine, to, lane string) Place {
	t.Helper()
	env := w.envelope(t, e.Author.Actor, to)
	env.ID = env.ID[:len(env.ID)-len(lane)] + handoff.ID(lane)
	p, err := e.Author.Prepare(t.Context(), w.home, env, "")
	require.NoError(t, err)
	_, err = e.Offer(t.Context(), w.home, p)
	require.NoError(t, err)
	return Place{Agent: to, ID: env.ID}
}

// An audit shows the handoffs of a lane one after the other, each from its oldest entry on and each judged by
// itself. A commit that is no entry is shown and disputed. The audit of a long lane starts four processes, and
// no entry that was shown stays in memory.
func TestAuditLane(t *testing.T) {
	for _, junk := range []int{0, 3 * refs.ManyAsked} {
		t.Run(fmt.Sprint(junk), func(t *testing.T) {
			w := newFixture(t)
			sender, fixer := w.agent(t, "investigator"), w.agent(t, "fixer")
			one, two := w.offerIn(t, sender, "fixer", "00"), w.offerIn(t, sender, "fixer", "00")
			h := w.claim(t, fixer, one)
			w.claim(t, fixer, two)
			_, _, err := fixer.Acknowledge(t.Context(), w.home, h, Outcome{})
			require.NoError(t, err)
			lane := w.lane(one.ID)
			tip := w.Hub.Git(t, "rev-parse", lane)
			if junk > 0 {
				added := w.junk(t, tip, junk, strings.Repeat("x", 4*maxKept/(3*refs.ManyAsked))) // more than the reader keeps
				tip = added[junk-1]
				w.Hub.Git(t, "update-ref", lane, tip)
			}

			e := w.fresh(fixer)
			before := w.repo.Runner.Started()
			told, states := map[handoff.ID][]record.Event{}, map[handoff.ID]Phase{}
			var first weak.Pointer[record.Commit]
			n := 0
			require.NoError(t, e.Reader.Audit(t.Context(), w.home, refs.Ref{Name: lane, OID: tip}, LaneAudit{
				Entry: func(entry *Entry) error {
					id := entry.Record().ID
					told[id] = append(told[id], entry.Record().Event)
					assert.Equal(t, id == "", entry.Dispute != nil, "%v", entry.Dispute)
					switch n++; n {
					case 1:
						first = weak.Make(entry.Commit)
					case junk: // the last of the commits that belong to no handoff
						runtime.GC()
						assert.Nil(t, first.Value(), "what was shown first is kept")
					}
					return nil
				},
				State: func(s *State) error { states[s.ID] = s.Phase(); return nil },
			}))
			assert.Equal(t, 5+junk, n)
			assert.Equal(t, []record.Event{record.Offered, record.Claimed, record.Acknowledged}, told[one.ID])
			assert.Equal(t, []record.Event{record.Offered, record.Claimed}, told[two.ID])
			assert.Len(t, told[""], junk)
			assert.Equal(t, map[handoff.ID]Phase{one.ID: Ended, two.ID: Held}, states)
			assert.Empty(t, e.Reader.Lanes.indexes)
			if junk > 0 {
				assert.EqualValues(t, 4, w.repo.Runner.Started()-before, "who names, who shows, who shows again, and who reads")
			}
		})
	}
}

// A lane with a missing commit is refused before any of its entries is shown.
func TestAuditOfBrokenLane(t *testing.T) {
	w := newFixture(t)
	e := w.agent(t, "investigator")
	lane := refs.Ref{Name: w.home.Namespace().Lanes() + "00", OID: w.junk(t, strings.Repeat("1", gittest.Objects().Digits()), 3, "")[2]}
	err := e.Reader.Audit(t.Context(), w.home, lane, LaneAudit{
		Entry: func(*Entry) error { t.Error("shown"); return nil },
		State: func(*State) error { t.Error("told"); return nil },
	})
	assert.True(t, fault.Is(err, fault.MissingObject), "%v", err)
}

// An entry counts only in the lane that its id names. In a copy of the lane under another name it is disputed.
func TestAuditOfCopiedLane(t *testing.T) {
	w := newFixture(t)
	sender := w.agent(t, "investigator")
	p := w.offerIn(t, sender, "fixer", "00")
	lane := refs.Ref{Name: w.home.Namespace().Lanes() + "zz", OID: w.Hub.Git(t, "rev-parse", w.lane(p.ID))}
	n := 0
	require.NoError(t, sender.Reader.Audit(t.Context(), w.home, lane, LaneAudit{
		Entry: func(e *Entry) error {
			n++
			assert.Equal(t, p.ID, e.Record().ID)
			assert.True(t, fault.Is(e.Dispute, "disputed"), "%v", e.Dispute)
			return nil
		},
		State: func(*State) error { t.Error("told"); return nil },
	}))
	assert.Equal(t, 1, n)
}

// The index of a lane and the parser of an entry agree on the handoff that the entry is about.
func FuzzIndexOf(f *testing.F) {
	const id = "ho_01hzzzzzzzzzzzzzzzzzzzzz0r"
	f.Add("tree x\n\noffered\n\nHandoff-Id: " + id + "\nHandoff-Event: offered\n")
	f.Add("tree x\nHandoff-Id: " + id + "\n\na\n\nHandoff-Event: a\n")
	f.Add("tree x\n\na\nHandoff-Id: " + id + "\n\nHandoff-Event: a\nHandoff-Id: b\n")
	f.Add("\n\n\n\nHandoff-Event: a\nHandoff-Id: " + id)
	f.Fuzz(func(t *testing.T, raw string) {
		oid := strings.Repeat("0a", gittest.Objects().Digits()/2)
		at := indexOf(oid, []byte(raw))
		assert.Equal(t, oid, at.name())
		if got := readEntry(oid, []byte(raw)).Record().ID; got != "" {
			assert.Equal(t, string(got), string(at.id[:]))
		}
	})
}

// A commit without an event, or with another fault, disputes only the handoff that it names last.
func TestMalformedEntryDisputesWhatItNames(t *testing.T) {
	c := newRoles(t)
	p, other := c.offer(t, c.source, "fixer"), handoff.ID(otherID)
	for name, says := range map[string]string{
		"no event": "Handoff-Id: " + string(p.ID) + "\n",
		"two ids":  "Handoff-Id: " + string(other) + "\nHandoff-Id: " + string(p.ID) + "\n",
		"newer":    "Handoff-Id: " + string(p.ID) + "\nHandoff-Color: red\n",
	} {
		t.Run(name, func(t *testing.T) {
			lane := c.lane(p.ID)
			before := c.Hub.Git(t, "rev-parse", lane)
			c.Hub.Git(t, "update-ref", lane, c.junk(t, before, 1, says)[0])
			s := c.load(t, c.fresh(c.holder), p)
			assert.Equal(t, Disputed, s.Phase())
			assert.True(t, fault.Is(s.Dispute, "malformed_object"), s.Dispute)
			assert.Contains(t, fault.As(s.Err()).Advice(), "githandoff audit ", "nobody has to have a newer version")
			c.Hub.Git(t, "update-ref", lane, before)
		})
	}
}
