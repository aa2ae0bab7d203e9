package snapshot_test

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
	"githandoff/internal/snapshot"
	"githandoff/internal/workcopy"
)

// hostile makes the objects of a snapshot as git itself would not make them.
type hostile struct {
	t    *testing.T
	git  *gittest.Repo
	blob string
}

// tree writes a tree of entries "mode name", in any order. A third element is the object id; without it the
// entry leads to a blob.
func (h *hostile) tree(entries ...[]string) string {
	var b strings.Builder
	for _, e := range entries {
		oid := h.blob
		if len(e) == 3 {
			oid = e[2]
		}
		b.WriteString(e[0] + " " + e[1] + "\x00" + bytesOf(h.t, oid))
	}
	path := filepath.Join(h.t.TempDir(), "tree")
	require.NoError(h.t, os.WriteFile(path, []byte(b.String()), 0o600))
	return h.git.Git(h.t, "hash-object", "-t", "tree", "-w", "--literally", path)
}

func (h *hostile) commit(tree, message string, parents ...string) string {
	args := []string{"commit-tree", "-m", message}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return h.git.Git(h.t, append(args, tree)...)
}

func file(name string) []string     { return []string{"100644", name} }
func link(name string) []string     { return []string{"120000", name} }
func dir(name, oid string) []string { return []string{"40000", name, oid} }
func gitlink(name string) []string {
	return []string{"160000", name, strings.Repeat("1", gittest.Objects().Digits())}
}

// A snapshot that git would not have made is refused in one line, in a new worktree and in an
// existing one. Nothing is written.
func TestHostileSnapshot(t *testing.T) {
	env := gittest.Env(t)
	git := gittest.NewRepo(t, env)
	git.Commit(t, "a", "a\n", "base")
	head := git.Git(t, "rev-parse", "HEAD")
	clean := git.Git(t, "rev-parse", "HEAD^{tree}")
	outside := filepath.Join(t.TempDir(), "outside")
	target := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.WriteFile(target, []byte(outside), 0o600))
	h := &hostile{t: t, git: git, blob: git.Git(t, "hash-object", "-w", "--", target)}
	below := h.tree(file("evil"))
	tracked := func(tree string) string { return h.commit(tree, "w", head, h.commit(clean, "i", head)) }
	index := func(tree string) string { return h.commit(clean, "w", head, h.commit(tree, "i", head)) }
	others := func(tree string) string {
		return h.commit(clean, "w", head, h.commit(clean, "i", head), h.commit(tree, "u"))
	}
	intent := func(lines string) string { return h.commit(clean, "w", head, h.commit(clean, "i\n\n"+lines, head)) }
	trees := map[string]string{
		"git's directory":            h.tree(dir(".git", below)),
		"git's directory, shouted":   h.tree(dir(".GIT", below)),
		"git's directory, short":     h.tree(dir("git~1", below)),
		"git's directory, with dots": h.tree(dir(".git. .", below)),
		"git's directory, a stream":  h.tree(file(".git::$INDEX_ALLOCATION")),
		"git's file":                 h.tree(file(".git")),
		"git's directory, deep":      h.tree(dir("d", h.tree(dir(".git", below)))),
		"a parent directory":         h.tree(dir("..", below)),
		"this directory":             h.tree(dir(".", below)),
		"a path as a name":           h.tree(file("../evil")),
		"an absolute name":           h.tree(file(outside)),
		"no name":                    h.tree(file("")),
		"a link with a file below":   h.tree(link("x"), dir("x", below)),
		"a file twice":               h.tree(file("x"), file("x")),
		"out of order":               h.tree(file("x"), file("b")),
		"a mode of no kind":          h.tree([]string{"150000", "x"}),
		"modules behind a link":      h.tree(link(".gitmodules"), gitlink("sub")),
		"a submodule in git's place": h.tree(gitlink(".git")),
		"a submodule outside":        h.tree(gitlink("../sub")),
	}
	for name, oid := range map[string]string{
		"one parent":       h.commit(clean, "w", head),
		"no parent":        h.commit(clean, "w"),
		"four parents":     h.commit(clean, "w", head, h.commit(clean, "i", head), h.commit(clean, "u"), h.commit(clean, "v")),
		"parents swapped":  h.commit(clean, "w", h.commit(clean, "i", head), head),
		"the last swapped": h.commit(clean, "w", head, h.commit(clean, "u"), h.commit(clean, "i", head)),
		"a tree":           clean,
		"others with a past": h.commit(clean, "w", head, h.commit(clean, "i", head),
			h.commit(clean, "u", head)),
		"an intent outside":            intent("Intent-To-Add: ../evil"),
		"an intent in git's directory": intent("Intent-To-Add: .GIT/config"),
		"an intent twice":              intent("Intent-To-Add: a\nIntent-To-Add: a"),
		"an intent of no mode":         intent("Intent-To-Add: a\nIntent-Mode: 160000 a"),
		"a mode without an intent":     intent("Intent-Mode: 120000 a"),
		"an intent in a quote cut off": intent("Intent-To-Add: \"a"),
	} {
		t.Run(name, func(t *testing.T) { refusedHostile(t, git, oid, outside) })
	}
	for name, tree := range trees {
		for place, make := range map[string]func(string) string{"tracked": tracked, "index": index, "untracked": others} {
			t.Run(fmt.Sprintf("%s, %s", name, place), func(t *testing.T) { refusedHostile(t, git, make(tree), outside) })
		}
	}
}

// refusedHostile tries to check a snapshot out in a new worktree and in the existing one, and
// requires a refusal.
func refusedHostile(t *testing.T, git *gittest.Repo, oid, outside string) {
	repo := open(t, git.Dir, git.Env)
	defer repo.Close()
	before := fingerprint(t, git.Dir)
	top := t.TempDir()
	for _, bring := range []func(c *snapshot.Contents) error{
		func(c *snapshot.Contents) error {
			return (&workcopy.Handler{Repo: repo}).Fits(ctx(), &workcopy.Copy{}, c)
		},
		func(c *snapshot.Contents) error {
			return c.AddWorktree(ctx(), filepath.Join(top, "new"), branch, complete)
		},
		func(c *snapshot.Contents) error { return c.FitsHere(ctx()) },
		func(c *snapshot.Contents) error { return c.CheckOutHere(ctx(), "here") },
		func(c *snapshot.Contents) error { return c.Apply(ctx(), repo.Head) },
	} {
		c, err := snapshot.Open(ctx(), repo, oid)
		if err == nil {
			err = bring(c)
		}
		require.Error(t, err)
		assert.True(t, fault.Is(err, fault.MalformedObject), "%v", err)
		assert.Equal(t, fault.Denied, fault.CodeOf(err))
		assert.NotContains(t, err.Error(), "\n")
		names, rerr := os.ReadDir(top)
		require.NoError(t, rerr)
		assert.Empty(t, names)
		assert.NoFileExists(t, outside)
	}
	assert.Equal(t, before, fingerprint(t, git.Dir, ".git/githandoff"))
}

// If an untracked file of the snapshot is below a link, the link becomes a directory. Nothing is written to the
// target of the link.
func TestFileBelowLink(t *testing.T) {
	env := gittest.Env(t)
	git := gittest.NewRepo(t, env)
	git.Commit(t, "a", "a\n", "base")
	head, clean := git.Git(t, "rev-parse", "HEAD"), git.Git(t, "rev-parse", "HEAD^{tree}")
	outside := t.TempDir()
	target := filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.WriteFile(target, []byte(outside), 0o600))
	h := &hostile{t: t, git: git, blob: git.Git(t, "hash-object", "-w", "--", target)}
	oid := h.commit(h.tree(link("x")), "w", head, h.commit(clean, "i", head), h.commit(h.tree(dir("x", h.tree(file("evil")))), "u"))
	repo := open(t, git.Dir, env)
	defer repo.Close()
	c, err := snapshot.Open(ctx(), repo, oid)
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "new")
	require.NoError(t, c.AddWorktree(ctx(), out, branch, complete))
	assert.FileExists(t, filepath.Join(out, "x", "evil"))
	names, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Empty(t, names)
}
