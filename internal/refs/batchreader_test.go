package refs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// A batch of questions gets the answers that single questions would get, whatever the objects are. Only an
// object that is no commit is reported as such.
func TestQueueAnswersLikeSingleQuestions(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	r := open(t, repo)
	const by = "m <m@example.com> 1700000000 +0000"
	commit := func(text string) string {
		o := NewObject(gittest.Objects(), "commit", fmt.Appendf(nil, "tree %s\nauthor %s\ncommitter %s\n\n%s\n", gittest.Objects().EmptyTree(), by, by, text))
		require.NoError(t, r.Store.Write(o))
		return o.OID
	}
	zeros := filepath.Join(t.TempDir(), "zeros")
	require.NoError(t, os.WriteFile(zeros, nil, 0o600))
	require.NoError(t, os.Truncate(zeros, 33<<20))
	const limit = 1 << 10
	one := func(i int) []string {
		return []string{
			commit(fmt.Sprint("good ", i)), commit("the same"), commit("the same"),
			strings.Repeat("1", gittest.Objects().Digits()), commit(strings.Repeat("x", limit)),
		}
	}
	huge, blob := repo.Git(t, "hash-object", "-w", zeros), repo.Git(t, "hash-object", "-w", repo.Dir+"/.git/HEAD")
	for name, n := range map[string]int{"few": 2, "many": ManyAsked} {
		t.Run(name, func(t *testing.T) {
			var oids []string
			for i := range n {
				oids = append(oids, one(i)...)
			}
			oids = append(oids, huge, commit("beside what is huge"), blob, commit("the last"))
			q := NewBatchReader(r, "commit", oids, limit)
			defer q.Close()
			var before *Object
			for i, oid := range oids {
				got, gerr := q.Next(t.Context(), oid)
				if i > 0 && oid == oids[i-1] {
					assert.Same(t, before, got, "it is read once")
				}
				before = got
				if oid == blob && n == ManyAsked {
					assert.True(t, fault.Is(gerr, "malformed_object"), "%v", gerr)
					continue
				}
				want, werr := r.Read(t.Context(), oid, limit)
				assert.Equal(t, want, got, oid)
				assert.Equal(t, werr, gerr, oid)
			}
		})
	}
}

// Objects that are no commits are not read, however many refs lead to them.
func TestCommitsBesideManyLargeBlobs(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	first := repo.Commit(t, "a", "x", "first")
	r := open(t, repo)
	var edits []Edit
	for i := range 3 * ManyAsked {
		o := NewObject(gittest.Objects(), "blob", fmt.Appendf(make([]byte, 1<<20), "%d", i%3))
		if i < 3 {
			require.NoError(t, r.Store.Write(o))
		}
		edits = append(edits, Edit{Ref: fmt.Sprintf("refs/handoffs/test/%04d", i), New: o.OID})
	}
	edits = append(edits, Edit{Ref: "refs/handoffs/test/a", New: first}, Edit{Ref: "refs/handoffs/test/b", New: first})
	require.NoError(t, r.Apply(t.Context(), Transaction{Edits: edits}))
	before := r.Runner.Started()
	commits, others := 0, 0
	require.NoError(t, Commits(t.Context(), r, func(_ Ref, raw []byte) error {
		if raw == nil {
			others++
		} else {
			commits++
		}
		return nil
	}, "refs/handoffs/test/"))
	assert.Equal(t, []int{2, 3 * ManyAsked}, []int{commits, others})
	assert.EqualValues(t, 3, r.Runner.Started()-before, "objects, sizes, the commits among them")
}
