package notes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/fault"
)

// batch gives each target the lines event(i) of its numbers.
func batch(targets []string, numbers ...int) map[string][]string {
	b := make(map[string][]string)
	for _, target := range targets {
		for _, n := range numbers {
			b[target] = append(b[target], event(n))
		}
	}
	return b
}

func (r *repo) addAll(tip string, lines map[string][]string) string {
	r.t.Helper()
	tree, _, err := AddAll(r.t.Context(), r, r, tip, lines)
	require.NoError(r.t, err)
	return r.commit(tree)
}

func (r *repo) merge(ours, theirs string) string {
	r.t.Helper()
	tree, err := Merge(r.t.Context(), r, r, ours, theirs)
	require.NoError(r.t, err)
	return tree
}

// git merges the same two histories to the same tree.
func TestMergeFollowsGit(t *testing.T) {
	all := targets(700)
	tests := map[string]struct{ base, ours, theirs map[string][]string }{
		"same target":     {nil, batch(all[:1], 0, 2), batch(all[:1], 1, 2)},
		"other targets":   {batch(all[:3], 0), batch(all[3:5], 1), batch(all[5:9], 2)},
		"one side only":   {batch(all[:3], 0), nil, batch(all[2:9], 2)},
		"flat and cut":    {batch(all[:30], 0), batch(all[:20], 1), batch(all[10:], 2)},
		"cut and flat":    {batch(all[:30], 0), batch(all[10:], 1), batch(all[:20], 2)},
		"both flat, cut":  {nil, batch(all[:60], 1), batch(all[40:150], 2)},
		"both cut":        {batch(all[:300], 0), batch(all[100:500], 1), batch(all[200:], 2)},
		"nothing between": {batch(all[:300], 0), nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			base := r.addAll("", tt.base)
			ours, theirs := r.addAll(base, tt.ours), r.addAll(base, tt.theirs)

			got := r.merge(ours, theirs)
			assert.Equal(t, got, r.merge(theirs, ours), "not symmetric")
			assert.Equal(t, got, r.merge(r.commit(got), ours), "not stable")
			assert.Equal(t, got, r.merge(ours, r.commit(got)), "not stable")

			// A history that git sees as forked: one root commit for both.
			r.git("", "update-ref", "refs/notes/handoffs", r.child(ours, base))
			r.git("", "update-ref", "refs/notes/theirs", r.child(theirs, base))
			r.git("", "notes", "--ref", "handoffs", "merge", "--quiet", "-s", "cat_sort_uniq", "refs/notes/theirs")
			merged := strings.TrimSpace(r.git("", "rev-parse", "refs/notes/handoffs^{tree}"))
			assert.Equal(t, merged, got)
			r.fsck()
		})
	}
}

// child is a notes commit with the tree of tip on top of base.
func (r *repo) child(tip, base string) string {
	r.t.Helper()
	args := []string{"commit-tree", "-m", "notes " + tip, tip + "^{tree}"}
	if base != "" {
		args = append(args, "-p", base)
	}
	return strings.TrimSpace(r.git("", args...))
}

func TestMergeWithNothing(t *testing.T) {
	r := newRepo(t)
	tip := r.addAll("", batch(targets(300), 0))
	tree := strings.TrimSpace(r.git("", "rev-parse", tip+"^{tree}"))
	r.puts = 0
	assert.Equal(t, tree, r.merge(tip, ""))
	assert.Equal(t, tree, r.merge("", tip))
	assert.Equal(t, tree, r.merge(tip, tip))
	assert.Empty(t, r.merge("", ""))
	assert.Zero(t, r.puts)
}

func TestMergeCostsWhatDiffers(t *testing.T) {
	const n = 100_000
	r := newRepo(t)
	all := targets(n + 6)
	files := make(map[string]string, n)
	for _, target := range all[:n] {
		files[spread(target, 2)] = event(0) + "\n"
	}
	base := r.commit(r.files(files))
	ours, theirs := r.addAll(base, batch(all[n-3:n+3], 1)), r.addAll(base, batch(all[n:n+6], 2))

	r.reads, r.puts = 0, 0
	tree := r.merge(ours, theirs)
	// Two commits, two roots, and of nine targets at most two directories and
	// a note from each side.
	assert.LessOrEqual(t, r.reads, 4+9*6)
	assert.LessOrEqual(t, r.puts, 1+9*3)
	lines, err := Read(t.Context(), r, r.commit(tree), all[n+1])
	require.NoError(t, err)
	assert.Equal(t, []string{event(1), event(2)}, lines)
}

// Two small sets of objects that name each other again and again, 256^18
// directories on paper, must not keep a merge busy.
func TestMergeOfNestedBombs(t *testing.T) {
	r := newRepo(t)
	bomb := func(content string) string {
		oid := r.put("tree", encodeTree([]entry{{modeFile, "aa", r.put("blob", []byte(content))}}))
		for range 19 {
			var all []entry
			for i := range 256 {
				all = append(all, entry{modeTree, fmt.Sprintf("%02x", i), oid})
			}
			oid = r.put("tree", encodeTree(all))
		}
		return r.commit(oid)
	}
	ours, theirs := bomb("a\n"), bomb("b\n")
	r.reads = 0
	tip := r.commit(r.merge(ours, theirs))
	assert.Less(t, r.reads, 50)

	target := strings.Repeat("5c", 19) + "aa"
	lines, err := Read(t.Context(), r, tip, target)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, lines)
	r.reads = 0
	tip = r.addAll(tip, batch([]string{target}, 0))
	assert.Less(t, r.reads, 50)
	lines, err = Read(t.Context(), r, tip, target)
	require.NoError(t, err)
	assert.Equal(t, []string{event(0), "a", "b"}, lines)
}

func TestMergeKeepsOtherEntries(t *testing.T) {
	r := newRepo(t)
	target := targets(1)[0]
	dir := target[:2]
	ours := r.files(map[string]string{"README": "ours\n", "ours/x": "x\n", spread(target, 1): "a\n", dir + "/n": "1\n"})
	theirs := r.files(map[string]string{"README": "theirs\n", "zz": "z\n", spread(target, 2): "b\n", dir + "/m": "2\n"})
	tree := r.merge(r.commit(ours), r.commit(theirs))
	contents := make(map[string]string)
	for path, oid := range r.paths(tree) {
		contents[path] = r.git("", "cat-file", "blob", oid)
	}
	assert.Equal(t, map[string]string{
		"README": "ours\n", "ours/x": "x\n", "zz": "z\n", dir + "/m": "2\n", dir + "/n": "1\n",
		spread(target, 2): "a\nb\n",
	}, contents)

	// A file in the way of a directory of notes gives way.
	blocked := r.files(map[string]string{dir: "in the way\n"})
	assert.Equal(t, theirs, r.merge(r.commit(r.files(map[string]string{dir: "x\n", "README": "theirs\n"})), r.commit(theirs)))
	assert.NotContains(t, r.paths(r.merge(r.commit(blocked), r.commit(theirs))), dir)
	r.fsck()
}

func TestMergeRefusesWhatIsMalformed(t *testing.T) {
	r := newRepo(t)
	good := r.addAll("", batch(targets(1), 0))
	bad := r.commit(r.git2tree(encodeTree([]entry{{modeFile, "..", r.put("blob", nil)}})))
	_, err := Merge(t.Context(), r, r, good, bad)
	assert.True(t, fault.Is(err, "malformed_object"), "%v", err)
	_, err = Merge(t.Context(), r, r, good, strings.Repeat("1", 40))
	assert.True(t, fault.Is(err, "missing_object"), "%v", err)
}

// Any mixture of fan-outs, any pieces of a note in any of them: after a merge
// and an addition git lists the union, and what was written lies in one place.
func TestAnyMixtureAgainstGit(t *testing.T) {
	r := newRepo(t)
	pool := targets(12)
	for i := range pool[6:] { // neighbours, so that directories are shared
		pool[6+i] = pool[i][:4+2*(i%3)] + pool[6+i][4+2*(i%3):]
	}
	rapid.Check(t, func(rt *rapid.T) {
		model := make(map[string][]string)
		side := func(name string) string {
			files := make(map[string]string)
			for range rapid.IntRange(0, 14).Draw(rt, name) {
				target := rapid.SampledFrom(pool).Draw(rt, "target")
				path := spread(target, rapid.IntRange(0, 4).Draw(rt, "fanout"))
				line := rapid.SampledFrom([]string{"a", "b", "c", event(0)}).Draw(rt, "line")
				files[path] += line + "\n"
				model[target] = append(model[target], line)
			}
			return r.commit(r.few(files))
		}
		ours, theirs := side("ours"), side("theirs")
		tip := r.commit(r.merge(ours, theirs))
		more := make(map[string][]string)
		for _, target := range rapid.SliceOfDistinct(rapid.SampledFrom(pool), rapid.ID).Draw(rt, "more") {
			more[target] = []string{event(1), event(0)}
			model[target] = append(model[target], more[target]...)
		}
		tree, changed, err := AddAll(t.Context(), r, r, tip, more)
		require.NoError(rt, err)
		require.Equal(rt, len(more) > 0, changed)
		r.point(tree)
		list := r.list()
		require.ElementsMatch(rt, slices.Collect(maps.Keys(model)), slices.Collect(maps.Keys(list)))
		for target, lines := range model {
			want := union(lines)
			got, err := Read(t.Context(), r, r.commit(tree), target)
			require.NoError(rt, err)
			require.Equal(rt, want, got)
			if more[target] != nil {
				_, _, body, err := r.Object(t.Context(), list[target])
				require.NoError(rt, err)
				require.Equal(rt, string(join(want)), string(body))
			}
		}
		again, changed, err := AddAll(t.Context(), r, r, r.commit(tree), more)
		require.NoError(rt, err)
		require.False(rt, changed)
		require.Equal(rt, tree, again)
	})
	r.fsck()
}
