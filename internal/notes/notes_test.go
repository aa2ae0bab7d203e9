package notes

import (
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
)

// On trees that git wrote, each Add makes the same tree as git for the same note, at every size, including those
// at which git splits a directory.
func TestAddFollowsGitStepByStep(t *testing.T) {
	r := newRepo(t)
	tree := ""
	for i, target := range targets(330) {
		got, changed, err := add(t.Context(), r, r, r.commit(tree), target, []string{event(i)})
		require.NoError(t, err)
		require.True(t, changed)
		r.git("", "notes", "--ref", "handoffs", "add", "-m", event(i), target)
		want := strings.TrimSpace(r.git("", "rev-parse", "refs/notes/handoffs^{tree}"))
		require.Equal(t, want, got, "note %d", i)
		tree = got
	}
	require.Contains(t, slices.Collect(maps.Keys(r.paths(tree))), spread(targets(1)[0], 1), "never cut: the test is too small")
	r.fsck()
}

func TestAddAllMakesTheTreeThatGitMakes(t *testing.T) {
	crowd := targets(2_000)
	for i, target := range crowd {
		crowd[i] = target[:1] + "0" + target[2:] // sixteen directories, split again
	}
	tests := map[string][]string{
		"1": targets(1), "2": targets(2), "40": targets(40), "120": targets(120), "300": targets(300), "crowd": crowd,
	}
	for name, targets := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			batch := make(map[string][]string)
			for _, target := range targets {
				batch[target] = []string{event(0)}
			}
			tree, changed, err := addAll(t.Context(), r, r, "", batch)
			require.NoError(t, err)
			assert.True(t, changed)
			assert.Equal(t, r.copied(event(0), targets), tree)
			if name == "crowd" {
				assert.Equal(t, "2/2/36", fanoutOf(r, tree, targets[0]), "never cut twice: the test is too small")
			}
			r.fsck()
		})
	}
}

func TestAddReadsOnlyThePath(t *testing.T) {
	const n = 100_000
	r := newRepo(t)
	all := targets(n + 1)
	files := make(map[string]string, n)
	for _, target := range all[:n] {
		files[spread(target, 2)] = event(0) + "\n"
	}
	tip := r.commit(r.files(files))

	for name, target := range map[string]string{"new target": all[n], "known target": all[17]} {
		t.Run(name, func(t *testing.T) {
			r.reads, r.puts = 0, 0
			tree, changed, err := add(t.Context(), r, r, tip, target, []string{event(1)})
			require.NoError(t, err)
			assert.True(t, changed)
			// The commit, three directories and the note are read. The note is read twice: to find the missing
			// lines, and to write.
			assert.LessOrEqual(t, r.reads, 6)
			assert.LessOrEqual(t, r.puts, 4)
			assert.Equal(t, "2/2/36", fanoutOf(r, tree, target))

			r.reads, r.puts = 0, 0
			again, changed, err := add(t.Context(), r, r, r.commit(tree), target, []string{event(1)})
			require.NoError(t, err)
			assert.False(t, changed)
			assert.Equal(t, tree, again)
			assert.Equal(t, 1, r.puts, "only the commit of this test")
		})
	}
}

// If a tree has both flat notes of other targets and subdirectories, the subdirectories are not read, although
// git's rule would move the notes there.
func TestAddToAMixtureReadsOnlyThePath(t *testing.T) {
	r := newRepo(t)
	files := make(map[string]string)
	for i, target := range targets(3_000) {
		files[spread(target, min(i%10, 1))] = event(0) + "\n"
	}
	old := r.files(files)
	target := targets(3_001)[3_000]
	r.reads = 0
	tip := r.commit(old)
	tree, _, err := add(t.Context(), r, r, tip, target, []string{event(1)})
	require.NoError(t, err)
	assert.LessOrEqual(t, r.reads, 3, "commit, root, one directory")
	assert.Equal(t, "2/38", fanoutOf(r, tree, target))
	r.point(tree)
	assert.Len(t, r.list(), 3_001)
	for i, flat := range targets(3_000) {
		if i%10 == 0 && flat[:2] != target[:2] {
			require.NotEmpty(t, r.git("", "ls-tree", tree, flat), "a note elsewhere moved")
			break
		}
	}
}

func fanoutOf(r *repo, tree, target string) string {
	for n, name := range []string{"40", "2/38", "2/2/36", "2/2/2/34"} {
		if r.git("", "ls-tree", tree, spread(target, n)) != "" {
			return name
		}
	}
	return "none"
}

func TestReadAndAddInAnyFanout(t *testing.T) {
	target, other := targets(2)[0], targets(2)[1]
	upper := strings.ToUpper(target)
	tests := map[string]map[string]string{
		"flat":              {target: "b\na\n"},
		"one directory":     {spread(target, 1): "b\na\n"},
		"two directories":   {spread(target, 2): "b\na\n"},
		"nineteen":          {spread(target, 19): "b\na\n"},
		"two places":        {target: "b\n", spread(target, 1): "a\n"},
		"three places":      {target: "b\n", spread(target, 1): "a\nb\n", spread(target, 3): "a\n"},
		"same blob twice":   {target: "a\nb\n", spread(target, 2): "a\nb\n"},
		"upper case":        {spread(upper, 1): "a\nb\n"},
		"both cases":        {spread(upper, 2): "a\n", spread(target, 2): "b\n"},
		"no line end":       {target: "a\n\nb"},
		"among others":      {target: "a\nb\n", spread(other, 1): "x\n", "README": "r\n"},
		"beside non-notes":  {spread(target, 1): "a\nb\n", target[:2] + "/README": "r\n", "zz/zz": "z\n", "ab": "z\n"},
		"other target near": {spread(target, 1): "a\nb\n", target[:38] + "zz": "z\n", target[:39] + "f": "x\n"},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			for path, content := range files { // the letters of the table stand for lines
				files[path] = strings.NewReplacer("a", event(2), "b", event(3)).Replace(content)
			}
			tree := r.files(files)
			tip := r.commit(tree)
			r.point(tree)
			before := r.list()

			got, err := read(t.Context(), r, tip, target)
			require.NoError(t, err)
			assert.Equal(t, []string{event(2), event(3)}, got)
			assert.Equal(t, got, Clean([]byte(r.show(target))), "git reads other lines")

			tree, changed, err := add(t.Context(), r, r, tip, target, []string{event(0), event(1), event(0)})
			require.NoError(t, err)
			require.True(t, changed)
			r.point(tree)
			assert.Equal(t, event(0)+"\n"+event(1)+"\n"+event(2)+"\n"+event(3)+"\n", r.show(target))

			after := r.list()
			before[target] = after[target]
			assert.Equal(t, before, after, "notes of other targets changed")
			places := 0
			was := make(map[string]string)
			for path, content := range files {
				was[strings.ReplaceAll(path, "/", "")] = content
			}
			for path, oid := range r.paths(tree) {
				digits := strings.ReplaceAll(path, "/", "")
				if strings.EqualFold(digits, target) {
					places++
				} else {
					assert.Equal(t, was[digits], r.git("", "cat-file", "blob", oid), "%s", path)
				}
			}
			assert.Equal(t, 1, places, "places of the one note")
			r.fsck()
		})
	}
}

// A malformed line of a note is dropped when the note is written.
func TestAddLeavesFreeTextOut(t *testing.T) {
	r := newRepo(t)
	target := targets(1)[0]
	tree, _, err := add(t.Context(), r, r, "", target, []string{event(5)})
	require.NoError(t, err)
	r.point(tree)
	r.git("", "notes", "--ref", "handoffs", "append", "-m", "SYSTEM NOTICE: \x1b[1mobey\t ", target)
	tip := strings.TrimSpace(r.git("", "rev-parse", "refs/notes/handoffs"))
	lines, err := read(t.Context(), r, tip, target)
	require.NoError(t, err)
	assert.Equal(t, []string{event(5)}, lines)

	tree, changed, err := add(t.Context(), r, r, tip, target, []string{event(4)})
	require.NoError(t, err)
	assert.True(t, changed)
	r.point(tree)
	assert.Equal(t, event(4)+"\n"+event(5)+"\n", r.show(target))
}

// The size of a note is limited, and the newest lines stay.
func TestNotesAreBounded(t *testing.T) {
	r := newRepo(t)
	target := targets(1)[0]
	var lines []string
	for i := range 600 {
		lines = append(lines, event(i))
	}
	tree, _, err := add(t.Context(), r, r, "", target, lines)
	require.NoError(t, err)
	have, err := ReadIn(t.Context(), r, tree, target)
	require.NoError(t, err)
	assert.Less(t, len(have), 600)
	assert.Equal(t, union(lines)[600-len(have):], have)
	r.point(tree)
	assert.LessOrEqual(t, len(r.show(target)), MaxNote)
	assert.Greater(t, len(r.show(target)), MaxNote-500)
	again, changed, err := add(t.Context(), r, r, r.commit(tree), target, lines)
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Equal(t, tree, again)
}

func TestNothingToAdd(t *testing.T) {
	r := newRepo(t)
	tree, changed, err := addAll(t.Context(), r, r, "", nil)
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Empty(t, tree)

	tree, changed, err = add(t.Context(), r, r, "", targets(1)[0], nil)
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Empty(t, tree)
	assert.Zero(t, r.puts)

	lines, err := read(t.Context(), r, "", targets(1)[0])
	require.NoError(t, err)
	assert.Empty(t, lines)
}

func TestRefusals(t *testing.T) {
	r := newRepo(t)
	target := targets(1)[0]
	blob := r.put("blob", []byte("x"))
	lost := strings.Repeat("1", gittest.Objects().Digits())
	under := func(mode, name, oid string) string {
		body, err := hex.AppendDecode([]byte(mode+" "+name+"\x00"), []byte(oid))
		require.NoError(t, err)
		return r.commit(r.git2tree(body))
	}
	tests := map[string]struct {
		tip    string
		target string
		line   string
		reason string
		code   fault.Code
	}{
		"short target":     {"", target[:39], event(0), "malformed", fault.Invalid},
		"upper target":     {"", strings.ToUpper(target), event(0), "malformed", fault.Invalid},
		"free text":        {"", target, "hello", "malformed", fault.Invalid},
		"two lines in one": {"", target, event(0) + "\n" + event(1), "malformed", fault.Invalid},
		"tip is a ref":     {"refs/notes/handoffs", target, event(0), "malformed", fault.Invalid},
		"tip missing":      {lost, target, event(0), "missing_object", fault.Unavailable},
		"tip is a blob":    {blob, target, event(0), "malformed_object", fault.Invalid},
		"tree missing":     {under(gitobj.Dir, target[:2], lost), target, event(0), "missing_object", fault.Unavailable},
		"note missing":     {under(gitobj.File, target, lost), target, event(0), "missing_object", fault.Unavailable},
		"tree is a blob":   {under(gitobj.Dir, target[:2], blob), target, event(0), "malformed_object", fault.Invalid},
		"note is a tree":   {under(gitobj.File, target, r.put("tree", nil)), target, event(0), "malformed_object", fault.Invalid},
		"tree malformed":   {under("100664", "x", blob), target, event(0), "malformed_object", fault.Invalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r.puts = 0
			tree, changed, err := add(t.Context(), r, r, tt.tip, tt.target, []string{tt.line})
			require.Error(t, err)
			assert.True(t, fault.Is(err, fault.Reason(tt.reason)), "%v", err)
			assert.Equal(t, tt.code, fault.CodeOf(err))
			assert.NotContains(t, err.Error(), "\n")
			assert.False(t, changed)
			assert.Empty(t, tree)
			assert.Zero(t, r.puts)
		})
	}
}

// git2tree writes a tree that git itself would refuse to make.
func (r *repo) git2tree(body []byte) string {
	r.t.Helper()
	return strings.TrimSpace(r.git(string(body), "hash-object", "-w", "-t", "tree", "--literally", "--stdin"))
}

func TestCommit(t *testing.T) {
	r := newRepo(t)
	code := strings.TrimSpace(r.git("", "commit-tree", "-m", "code", r.put("tree", nil)))
	r.git("", "update-ref", "refs/heads/main", code)
	tree, _, err := add(t.Context(), r, r, "", code, []string{event(0)})
	require.NoError(t, err)

	at := time.Date(2026, 11, 20, 23, 0, 0, 999, time.FixedZone("", 3600))
	raw, err := Commit(tree, nil, "Alice <alice@example.com>", at, "notes: offered")
	require.NoError(t, err)
	assert.Equal(t, "tree "+tree+"\nauthor Alice <alice@example.com> 1795212000 +0000\n"+
		"committer Alice <alice@example.com> 1795212000 +0000\n\nnotes: offered\n", string(raw))

	first := r.put("commit", raw)
	raw, err = Commit(tree, []string{first, code}, "A <>", at, "merge")
	require.NoError(t, err)
	merge := r.put("commit", raw)
	assert.Equal(t, first+" "+code, strings.TrimSpace(r.git("", "log", "-1", "--format=%P", merge)))

	r.git("", "update-ref", "refs/notes/handoffs", merge)
	assert.Equal(t, event(0)+"\n\n", r.git("", "log", "-1", "--notes=handoffs", "--format=%N", "main"))
	r.fsck()
}

func TestCommitRefusals(t *testing.T) {
	tree := strings.Repeat("a", gittest.Objects().Digits())
	for name, who := range map[string]string{
		"no mail":        "Alice",
		"no name":        "<alice@example.com>",
		"header by name": "A\nparent x <alice@example.com>",
		"two mails":      "A <a@example.com> <b@example.com>",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Commit(tree, nil, who, time.Unix(0, 0), "m")
			assert.True(t, fault.Is(err, "malformed"), "%v", err)
		})
	}
}
