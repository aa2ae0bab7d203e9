package notes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
)

func (r *repo) changes(before, after string) (map[string]string, error) {
	found := make(map[string]string)
	err := Changes(r.t.Context(), r, before, after, func(c Change) error {
		found[c.Target] = c.Blob
		return nil
	})
	return found, err
}

// After any sequence of notes that are set and removed, git lists the expected notes, and the changes between
// any two of the trees are those of the model.
func TestSetAgainstGit(t *testing.T) {
	r := newRepo(t)
	pool := targets(40)
	rapid.Check(t, func(rt *rapid.T) {
		tree, model := "", map[string][]string{}
		first, was := "", map[string][]string{}
		for step := range rapid.IntRange(1, 4).Draw(rt, "steps") {
			if step == 1 {
				first, was = tree, maps.Clone(model)
			}
			want := map[string][]string{}
			for _, target := range rapid.SliceOfDistinct(rapid.SampledFrom(pool), rapid.ID).Draw(rt, "targets") {
				lines := []string{}
				for i := range rapid.IntRange(0, 2).Draw(rt, "lines") {
					lines = append(lines, event(i))
				}
				want[target] = union(lines)
				if model[target] = want[target]; len(lines) == 0 {
					delete(model, target)
				}
			}
			var err error
			tree, err = Set(t.Context(), r, r, tree, want)
			require.NoError(rt, err)
		}
		require.Equal(rt, len(model) == 0, tree == "")
		if tree == "" {
			return
		}
		r.point(tree)
		require.ElementsMatch(rt, slices.Collect(maps.Keys(model)), slices.Collect(maps.Keys(r.list())))
		for target, lines := range model {
			have, err := ReadIn(t.Context(), r, tree, target)
			require.NoError(rt, err)
			require.Equal(rt, lines, have)
		}
		found, err := r.changes(first, tree)
		require.NoError(rt, err)
		for _, target := range pool {
			if !slices.Equal(was[target], model[target]) {
				require.Contains(rt, found, target)
			}
		}
		same, err := r.changes(tree, tree)
		require.NoError(rt, err)
		require.Empty(rt, same)
	})
	r.fsck()
}

// Subtrees that are equal on both sides are not read.
func TestChangesCostWhatDiffers(t *testing.T) {
	r := newRepo(t)
	lines := make(map[string][]string)
	for _, target := range targets(2000) {
		lines[target] = []string{event(0)}
	}
	before, err := AddTo(t.Context(), r, r, "", lines)
	require.NoError(t, err)
	after, err := AddTo(t.Context(), r, r, before, map[string][]string{targets(1)[0]: {event(1)}})
	require.NoError(t, err)
	r.reads = 0
	found, err := r.changes(before, after)
	require.NoError(t, err)
	assert.Len(t, found, 1)
	assert.LessOrEqual(t, r.reads, 6)
}

// A tree that git can read but that this package would not write is refused.
func TestChangesRefuse(t *testing.T) {
	r := newRepo(t)
	target := targets(1)[0]
	blob := r.put("blob", []byte(event(0)+"\n"))
	one := func(mode, name, oid string) string {
		return r.git2tree(encodeTree(t, gitobj.TreeEntry{Mode: mode, Name: name, OID: oid}))
	}
	for name, tree := range map[string]string{
		"a file of code":     one(gitobj.File, "main.go", blob),
		"a symbolic link":    one(gitobj.Symlink, target, blob),
		"a program":          one(gitobj.Exec, target, blob),
		"a submodule":        one(gitobj.Gitlink, target, target),
		"upper case":         one(gitobj.File, strings.ToUpper(target), blob),
		"a short name":       one(gitobj.File, target[:39], blob),
		"a directory of 3":   one(gitobj.Dir, target[:3], one(gitobj.File, target[3:], blob)),
		"no tree":            blob,
		"a tree that is not": strings.Repeat("1", gittest.Objects().Digits()),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.changes("", tree)
			require.Error(t, err)
			assert.NotNil(t, fault.As(err), "%v", err)
		})
	}
}

// A few objects that nest into a huge tree are not walked to its end.
func TestChangesOfNestedBombs(t *testing.T) {
	r := newRepo(t)
	blob := r.put("blob", []byte(event(0)+"\n"))
	tree := ""
	for depth := 19; depth >= 0; depth-- {
		var all []gitobj.TreeEntry
		for i := range 256 {
			e := gitobj.TreeEntry{Mode: gitobj.Dir, Name: fmt.Sprintf("%02x", i), OID: tree}
			if depth == 19 {
				e.Mode, e.OID = gitobj.File, blob
			}
			all = append(all, e)
		}
		tree = r.put("tree", encodeTree(t, all...))
	}
	r.reads = 0
	_, err := r.changes("", tree)
	assert.True(t, fault.Is(err, "malformed_object"), "%v", err)
	_, err = r.changes(tree, "")
	assert.True(t, fault.Is(err, "malformed_object"), "%v", err)
	assert.Equal(t, 40, r.reads, "each of 20 trees is read once")
}

// wide is an endless store of trees that all differ: four levels of 256 entries each, and empty trees below.
type wide struct {
	t     *testing.T
	reads int
}

func (w *wide) Object(_ context.Context, oid string) (kind string, body []byte, err error) {
	w.reads++
	if oid[0] == '4' {
		return "tree", nil, nil
	}
	var all []gitobj.TreeEntry
	for i := range 256 {
		below := fmt.Sprintf("%c%02x%s", oid[0]+1, i, oid[1:len(oid)-2])
		all = append(all, gitobj.TreeEntry{Mode: gitobj.Dir, Name: fmt.Sprintf("%02x", i), OID: below})
	}
	return "tree", encodeTree(w.t, all...), nil
}

// Each tree that is read counts toward the limit with more than its bytes.
func TestChangesOfManyTrees(t *testing.T) {
	w := &wide{t: t}
	err := Changes(t.Context(), w, "", gittest.Objects().Zero(), func(Change) error { return nil })
	assert.True(t, fault.Is(err, "too_large"), "%v", err)
	assert.Less(t, w.reads, 150_000)
}

func TestShown(t *testing.T) {
	const a, b = "ho_01m7y896er9qkxsrwexxgkjazc", "ho_01m7y896ermtgew8fbyvb2xg9m"
	sum := "sha256:" + strings.Repeat("0", 64)
	assert.Equal(t, []string{"acknowledged …xxgkjazc boss → fixer", "offered …yvb2xg9m boss → _"}, Shown([]string{
		"2026-11-20T22:00:00Z offered " + b + " boss → @client " + sum,
		"2026-11-20T22:00:02Z acknowledged " + a + " boss → fixer@client " + sum,
		"2026-11-20T22:00:02Z claimed " + a + " boss → fixer@client " + sum,
		"2026-11-20T22:00:01Z offered " + a + " boss → fixer@client " + sum,
		"SYSTEM NOTICE",
	}))
	assert.Empty(t, Shown(nil))
}

func TestInForm(t *testing.T) {
	assert.True(t, InForm([]byte(event(0)+"\n"+event(1)+"\n")))
	for name, note := range map[string]string{
		"empty":                  "",
		"no line end":            event(0),
		"an empty line":          event(0) + "\n\n",
		"out of order":           event(1) + "\n" + event(0) + "\n",
		"twice":                  event(0) + "\n" + event(0) + "\n",
		"free text":              event(0) + "\nobey\n",
		"no event":               strings.Replace(event(0), "offered", "obeyed", 1) + "\n",
		"an alias that is prose": strings.Replace(event(0), " sha256:", "@RUN:curl|sh sha256:", 1) + "\n",
		"too large":              strings.Repeat(event(0)+"\n", MaxNote/len(event(0))+1),
	} {
		assert.False(t, InForm([]byte(note)), name)
	}
}

func TestSnapshot(t *testing.T) {
	r := newRepo(t)
	tree, err := Set(t.Context(), r, r, "", map[string][]string{targets(1)[0]: {event(0)}})
	require.NoError(t, err)
	oid := r.put("commit", Snapshot(tree, ""))
	assert.Equal(t, oid, r.put("commit", Snapshot(tree, "")))
	assert.Equal(t, "githandoff 0", strings.TrimSpace(r.git("", "log", "-1", "--format=%an %at%P", oid)))
	assert.Equal(t, oid, strings.TrimSpace(r.git("", "log", "-1", "--format=%P", r.put("commit", Snapshot(tree, oid)))))
	r.fsck()
}
