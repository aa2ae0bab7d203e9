package lifecycle

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// learned audits the lane of a handoff, and returns the lesson and the dispute of each entry.
func (w *fixture) learned(t *testing.T, e *Engine, p Place, signed func(string) bool) (lesson Lesson, disputes []error) {
	t.Helper()
	lane := refs.Ref{Name: w.lane(p.ID), OID: w.Hub.Git(t, "rev-parse", w.lane(p.ID))}
	require.NoError(t, again(e).Reader.Audit(t.Context(), w.home, lane, LaneAudit{
		Entry:  func(e *Entry) error { disputes = append(disputes, e.Dispute); return nil },
		State:  func(*State) error { return nil },
		Signed: signed, Learn: func(l Lesson) { lesson = l },
	}))
	return lesson, disputes
}

// A lane is sound if each entry counts for every reader at any time. A lane that is not sound is judged again by
// the next audit.
func TestSoundLanes(t *testing.T) {
	for name, tt := range map[string]struct {
		sound bool
		make  func(t *testing.T, c *roles) Place
	}{
		"a whole life": {true, func(t *testing.T, c *roles) Place {
			p := c.offer(t, c.source, "fixer")
			_, _, err := c.holder.Acknowledge(t.Context(), c.home, c.claim(t, c.holder, p), Outcome{})
			require.NoError(t, err)
			return p
		}},
		"a dispute": {false, func(t *testing.T, c *roles) Place {
			p := c.offer(t, c.source, "fixer")
			c.forge(t, c.stranger, c.load(t, c.holder, p), record.Claimed)
			return p
		}},
		"a step that was ahead of the clock": {false, func(t *testing.T, c *roles) Place {
			p := c.offer(t, c.source, "fixer")
			c.forge(t, c.holder, c.load(t, c.holder, p), record.Claimed, c.dated(time.Hour))
			c.load(t, c.source, p) // records that the entry was ahead
			c.Pass(2 * time.Hour)
			return p
		}},
		"two histories that a root key joined": {false, func(t *testing.T, c *roles) Place {
			p := c.offer(t, c.source, "fixer")
			lane := c.lane(p.ID)
			ours := c.Hub.Git(t, "rev-parse", lane)
			o, err := c.root.Join(t.Context(), ours, c.Hub.Git(t, "commit-tree", "-p", ours, "-m", "x", gittest.Objects().EmptyTree()))
			if err != nil { // that commit is no entry, so join a claim instead
				c.claim(t, c.holder, p)
				o, err = c.root.Join(t.Context(), ours, c.Hub.Git(t, "rev-parse", lane))
			}
			require.NoError(t, err)
			require.NoError(t, c.repo.Store.Write(o))
			c.Hub.Git(t, "update-ref", lane, o.OID)
			return p
		}},
		"a return handoff by who may only receive": {false, func(t *testing.T, c *roles) Place {
			worker := c.agent(t, "worker", sign.RoleRecipient)
			p := c.offer(t, c.source, "worker")
			h := c.claim(t, worker, p)
			child := c.envelope(t, "worker", "investigator")
			child.Parent = p.ID
			back, err := worker.Author.Prepare(t.Context(), c.home, child, "")
			require.NoError(t, err)
			_, err = worker.Fail(t.Context(), c.home, h, Outcome{Next: child.ID, Child: back})
			require.NoError(t, err)
			return Place{Agent: "investigator", ID: child.ID}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newRoles(t)
			c.remembering(t)
			p := tt.make(t, c)
			lesson, disputes := c.learned(t, c.source, p, nil)
			assert.Equal(t, tt.sound, lesson.Sound, "%v", disputes)
			if name != "a dispute" {
				assert.Equal(t, make([]error, len(disputes)), disputes, "all of it counts")
			}
			assert.Len(t, lesson.Entries, len(disputes))
			assert.True(t, lesson.Homes[c.home.RepoID])
		})
	}
}

// An audit may skip a signature that an earlier audit checked and that was made by the key that the entry names.
func TestSignaturesThatAreLearned(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.forge(t, c.stranger, c.load(t, c.holder, p), record.Claimed)
	c.forge(t, c.peer, c.load(t, c.holder, p), record.Claimed, func(r *record.Record) { r.Key = c.holder.Author.Signer.KID() })
	lesson, disputes := c.learned(t, c.source, p, nil)
	require.Len(t, disputes, 3)
	require.NoError(t, disputes[0])
	refusedAs(t, "untrusted_key", disputes[1])
	refusedAs(t, "signature_invalid", disputes[2])
	var signed []bool
	for _, e := range lesson.Entries {
		signed = append(signed, e.Signed)
	}
	assert.Equal(t, []bool{true, false, false}, signed)

	// The next audit checks the other signatures, and applies all rules to every entry.
	known := map[string]bool{}
	for _, e := range lesson.Entries {
		known[e.OID] = e.Signed
	}
	_, later := c.learned(t, c.source, p, func(oid string) bool { return known[oid] })
	assert.Equal(t, disputes, later)
	// A signature that is known is not checked again.
	_, later = c.learned(t, c.source, p, func(string) bool { return true })
	assert.Equal(t, disputes[:2], later[:2], "nobody pinned that key")
	assert.NoError(t, later[2])
}

// Signatures are checked in parallel. The verdict is the same for any number of entries.
func TestManySignatures(t *testing.T) {
	w := newFixture(t)
	sender := w.agent(t, "investigator")
	sender.Reader.Ahead.Path = filepath.Join(t.TempDir(), "ahead")
	p := w.offerIn(t, sender, "fixer", "00")
	s := w.load(t, sender, p)
	tip := s.LaneTip
	for range 40 {
		again := *s.Offer
		again.Nonce = nonceOf(t, sender)
		o := w.signed(t, sender, again, gittest.Objects().EmptyTree(), tip)
		require.NoError(t, w.repo.Store.Write(o))
		tip = o.OID
	}
	w.Hub.Git(t, "update-ref", w.lane(p.ID), tip)
	_, disputes := w.learned(t, sender, p, nil)
	assert.Equal(t, make([]error, 41), disputes, "an offer that is repeated counts")
}

func nonceOf(t *testing.T, e *Engine) string {
	t.Helper()
	var rec record.Record
	require.NoError(t, e.Author.stamp(&rec, record.Offered, ""))
	return rec.Nonce
}

// A sound lane is shown as an audit shows it. A missing commit of the lane is noticed.
func TestSoundLaneIsShown(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	_, _, err := c.holder.Acknowledge(t.Context(), c.home, c.claim(t, c.holder, p), Outcome{Data: `{"pr":"#7"}`})
	require.NoError(t, err)
	lane := refs.Ref{Name: c.lane(p.ID), OID: c.Hub.Git(t, "rev-parse", c.lane(p.ID))}
	type told struct {
		entries []record.Record
		states  []Phase
	}
	var judged, shown told
	into := func(x *told) LaneAudit {
		return LaneAudit{
			Entry: func(e *Entry) error { x.entries = append(x.entries, *e.Record()); return nil },
			State: func(s *State) error { x.states = append(x.states, s.Phase()); return nil },
		}
	}
	var lesson Lesson
	a := into(&judged)
	a.Learn = func(l Lesson) { lesson = l }
	require.NoError(t, again(c.source).Reader.Audit(t.Context(), c.home, lane, a))
	read := func(ctx context.Context, oid string) (*refs.Object, error) {
		return c.repo.Read(ctx, oid, record.MaxCommit)
	}
	require.NoError(t, Sound(t.Context(), lane, lesson.Entries, read, into(&shown)))
	assert.Equal(t, judged, shown)
	assert.Equal(t, []Phase{Ended}, shown.states)

	gone := func(context.Context, string) (*refs.Object, error) { return nil, nil }
	assert.True(t, fault.Is(Sound(t.Context(), lane, lesson.Entries, gone, into(&told{})), fault.MissingObject))
}
