package lifecycle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// junk writes n commits with a text on top of a commit, one above the other, and returns them, oldest first.
func (w *fixture) junk(t testing.TB, onto string, n int, text string) []string {
	t.Helper()
	oids := make([]string, 0, n)
	for i := range n {
		parent := ""
		if onto != "" {
			parent = "parent " + onto + "\n"
		}
		const by = "m <m@example.com> 1700000000 +0000\n"
		o := refs.NewObject(gittest.Objects(), "commit", fmt.Appendf(nil, "tree %s\n%sauthor %scommitter %s\njunk %d\n\n%s", gittest.Objects().EmptyTree(), parent, by, by, i, text))
		require.NoError(t, w.repo.Store.Write(o))
		onto = o.OID
		oids = append(oids, onto)
	}
	return oids
}

func (w *fixture) fresh(e *Engine) *Engine {
	return remade(e, nil)
}

// A long lane is read once for all questions about it. Later reads read only the new entries.
func TestLongLaneIsReadOnce(t *testing.T) {
	w := newFixture(t)
	sender, fixer := w.agent(t, "investigator"), w.agent(t, "fixer")
	p := w.offer(t, sender, "fixer")
	lane := w.lane(p.ID)
	more := strings.Repeat("x", 4*maxKept/(3*refs.ManyAsked)) // more text than the reader keeps
	added := w.junk(t, w.Hub.Git(t, "rev-parse", lane), 3*refs.ManyAsked, more)
	w.Hub.Git(t, "update-ref", lane, added[len(added)-1])

	fixer = w.fresh(fixer)
	before := w.repo.Runner.Started()
	require.Equal(t, Open, w.load(t, fixer, p).Phase())
	assert.EqualValues(t, 3, w.repo.Runner.Started()-before, "who names, who shows, and who reads")
	h := w.claim(t, fixer, p)
	_, _, err := fixer.Acknowledge(t.Context(), w.home, h, Outcome{})
	require.NoError(t, err)
	assert.LessOrEqual(t, w.repo.Runner.Started()-before, int64(3), "and who moves refs")
	assert.Equal(t, Ended, w.load(t, w.fresh(fixer), p).Phase())
}

// Some files of git change the parents of a commit as git reports them. The reader of a lane reads parents from
// the commits alone.
func TestLaneIsNotCutByGrafts(t *testing.T) {
	for _, file := range []string{"info/grafts", "shallow"} {
		t.Run(file, func(t *testing.T) {
			w := newFixture(t)
			sender, fixer := w.agent(t, "investigator"), w.agent(t, "fixer")
			p := w.offer(t, sender, "fixer")
			lane := w.lane(p.ID)
			offer := w.Hub.Git(t, "rev-parse", lane)
			_, _, err := fixer.Acknowledge(t.Context(), w.home, w.claim(t, fixer, p), Outcome{})
			require.NoError(t, err)
			added := w.junk(t, w.Hub.Git(t, "rev-parse", lane), 3*refs.ManyAsked, "")
			w.Hub.Git(t, "update-ref", lane, added[len(added)-1])
			cut := map[string]string{"info/grafts": added[refs.ManyAsked] + " " + offer + "\n", "shallow": added[refs.ManyAsked] + "\n"}
			path := filepath.Join(w.repo.CommonDir, file)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(cut[file]), 0o644))
			require.Less(t, len(strings.Fields(w.Hub.Git(t, "rev-list", lane))), len(added), "git believes it")

			assert.Equal(t, Ended, w.load(t, w.fresh(fixer), p).Phase())
		})
	}
}

// Unsigned entries about an ended handoff change nothing, however many there are, and only a limited number of
// them is kept.
func TestManyEntriesOfStrangers(t *testing.T) {
	w := newFixture(t)
	sender, fixer := w.agent(t, "investigator"), w.agent(t, "fixer")
	p := w.offer(t, sender, "fixer")
	h := w.claim(t, fixer, p)
	lane := w.lane(p.ID)
	says := fmt.Sprintf("Handoff-Id: %s\nHandoff-Event: acknowledged\n", p.ID)
	flood := func() {
		added := w.junk(t, w.Hub.Git(t, "rev-parse", lane), manyEntries+50, says)
		w.Hub.Git(t, "update-ref", lane, added[len(added)-1])
	}
	_, _, err := fixer.Acknowledge(t.Context(), w.home, h, Outcome{})
	require.NoError(t, err)
	flood()
	s := w.load(t, w.fresh(fixer), p)
	assert.Equal(t, Ended, s.Phase(), "what comes after the receipt changes nothing")
	assert.Len(t, s.Entries, manyEntries+1)
	assert.Error(t, s.Entries[manyEntries].Dispute)
}

func TestLaneIDs(t *testing.T) {
	w := newFixture(t)
	e := w.agent(t, "investigator")
	var onto string
	ids := []handoff.ID{"ho_00000000000000000000000001", "ho_00000000000000000000000101", "ho_00000000000000000000000201"}
	for _, id := range append(ids, ids[0], "none") {
		onto = w.junk(t, onto, 1, "Handoff-Id: "+string(id)+"\n")[0]
	}
	for suffix, want := range map[string][]handoff.ID{"000001": ids[:1], "0000101": ids[1:2], "01": ids[:2], "02": nil} {
		got, err := e.Reader.Lanes.IDs(t.Context(), onto, func(id handoff.ID) bool { return strings.HasSuffix(string(id), suffix) })
		require.NoError(t, err)
		assert.Equal(t, want, got, suffix)
	}
}

// However the histories of a lane were joined, and whichever of them the reader knew before, an entry comes
// after all its ancestors, and the hub's entries come before those that the hub lacked.
func TestLaneOrder(t *testing.T) {
	w := newFixture(t)
	root := w.person(t, "alice@example.com")
	id, err := handoff.NewID(w.Now(), root.Author.Random)
	require.NoError(t, err)
	entry := func(t *rapid.T, parent string) string {
		e := w.fresh(root)
		rec := record.Record{
			ID: id, From: "alice", To: "fixer", Home: w.home.RepoID, Digest: "sha256:" + strings.Repeat("0", 64),
			Expires: w.Now().Add(DefaultTTL), Payload: gittest.Objects().EmptyTree(), Counts: new(handoff.Envelope).Counts(), Status: handoff.StatusComplete,
		}
		require.NoError(t, e.Author.stamp(&rec, record.Revoked, ""))
		o, err := e.Author.commit(t.Context(), sign.Mail(e.Author.Actor), &rec, gittest.Objects().EmptyTree(), parent)
		require.NoError(t, err)
		require.NoError(t, w.repo.Store.Write(o))
		return o.OID
	}
	rapid.Check(t, func(t *rapid.T) {
		e := w.fresh(root)
		parents := map[string][]string{}
		tips := []string{entry(t, "")}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			x, y := rapid.SampledFrom(tips).Draw(t, "x"), rapid.SampledFrom(tips).Draw(t, "y")
			tip, above := "", []string{x}
			if x != y {
				o, err := e.Join(t.Context(), x, y)
				require.NoError(t, err)
				require.NoError(t, w.repo.Store.Write(o))
				tip, above = o.OID, []string{x, y}
			} else {
				tip = entry(t, x)
			}
			parents[tip], tips = above, append(tips, tip)
			if rapid.Bool().Draw(t, "look") {
				_, err := e.Reader.Lanes.about(t.Context(), tip, id)
				require.NoError(t, err)
			}
		}
		last := tips[len(tips)-1]
		var want []string // a hub's own entries come first
		var visit func(oid string)
		visit = func(oid string) {
			if slices.Contains(want, oid) {
				return
			}
			for _, p := range parents[oid] {
				visit(p)
			}
			want = append(want, oid)
		}
		visit(last)
		found, err := e.Reader.Lanes.about(t.Context(), last, id)
		require.NoError(t, err)
		var got []string
		for _, entry := range found {
			require.NoError(t, entry.Dispute)
			got = append(got, entry.OID)
		}
		assert.Equal(t, want, got)
	})
}
