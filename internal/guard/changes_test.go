package guard_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/guard"
	"githandoff/internal/refs"
)

func TestChanged(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	commit := func(args ...string) string {
		git.Git(t, append([]string{"commit", "-q", "-m", "x"}, args...)...)
		return git.Git(t, "rev-parse", "HEAD")
	}
	root := git.Commit(t, "a", "1\n2\n3\n", "root")
	mode := func() string {
		require.NoError(t, os.Chmod(filepath.Join(git.Dir, "a"), 0o755))
		return commit("-a")
	}()
	git.Git(t, "mv", "a", "ü\tx")
	moved := commit()
	git.Git(t, "update-index", "--add", "--cacheinfo", "160000,"+root+",sub")
	module := commit()
	git.Git(t, "rm", "-q", "-f", "ü\tx")
	gone := commit()

	git.Git(t, "checkout", "-q", "-f", "-b", "one", root)
	git.Commit(t, "one", "1\n", "one")
	git.Git(t, "checkout", "-q", "-b", "two", root)
	git.Commit(t, "two", "1\n", "two")
	git.Git(t, "merge", "-q", "--no-edit", "one")
	merged := git.Git(t, "rev-parse", "HEAD")
	git.Git(t, "checkout", "-q", "--detach", merged+"^1")
	git.Git(t, "merge", "-q", "-s", "ours", "--no-edit", "one")
	undone := git.Git(t, "rev-parse", "HEAD")
	git.Git(t, "checkout", "-q", "--detach", merged+"^1")
	git.Git(t, "merge", "-q", "--no-commit", "one")
	require.NoError(t, os.WriteFile(filepath.Join(git.Dir, "stowaway"), []byte("x"), 0o644))
	git.Git(t, "add", "stowaway")
	laden := commit()
	git.Git(t, "checkout", "-q", "-b", "three", root)
	git.Commit(t, "three", "1\n", "three")
	git.Git(t, "merge", "-q", "--no-edit", "one", "two~1")
	octopus := git.Git(t, "rev-parse", "HEAD")
	git.Git(t, "checkout", "-q", "--detach", root)
	git.Commit(t, "one", "2\n", "another one")
	git.TryGit("merge", "-q", "--no-edit", "one")
	git.Git(t, "checkout", "-q", "--ours", "--", "one")
	settled := commit("-a")

	git.Git(t, "checkout", "-q", "--detach", root)
	odd := []string{"\nx", strings.Join([]string{root, merged, octopus}, " "), strings.Join([]string{merged, octopus, gone}, " ")}
	for _, name := range odd {
		require.NoError(t, os.WriteFile(filepath.Join(git.Dir, name), nil, 0o644))
	}
	git.Git(t, "add", "-A")
	strange := commit()

	// These settings would hide changes.
	for _, kv := range [][2]string{
		{"diff.renames", "copies"},
		{"log.showRoot", "false"},
		{"diff.ignoreSubmodules", "all"},
		{"diff.relative", "true"},
		{"log.showSignature", "true"},
		{"core.quotePath", "true"},
		{"diff.noprefix", "true"},
		{"log.diffMerges", "off"},
	} {
		git.Git(t, "config", kv[0], kv[1])
	}
	repo, known := enginetest.Open(t, git), gittest.HasGit(t, guard.MergesGit)
	for name, tc := range map[string]struct {
		commits []string
		want    []string
	}{
		"nothing":                {nil, nil},
		"a first commit":         {[]string{root}, []string{"a"}},
		"a mode":                 {[]string{mode}, []string{"a"}},
		"a rename":               {[]string{moved}, []string{"a", "ü\tx"}},
		"a submodule":            {[]string{module}, []string{"sub"}},
		"a deletion":             {[]string{gone}, []string{"ü\tx"}},
		"several":                {[]string{root, moved, gone}, []string{"a", "ü\tx"}},
		"a merge":                {[]string{merged}, nil},
		"a merge that undoes":    {[]string{undone}, []string{"one"}},
		"a merge with more":      {[]string{laden}, []string{"stowaway"}},
		"a conflict":             {[]string{settled}, []string{"one"}},
		"a merge of three":       {[]string{octopus}, []string{"one", "three", "two"}},
		"a merge and what it is": {[]string{merged, undone, laden}, []string{"one", "stowaway"}},
		"names like commits":     {[]string{strange}, odd},
		"some of each":           {[]string{mode, undone, strange, octopus, module}, append([]string{"a", "one", "sub", "three", "two"}, odd...)},
	} {
		got, err := guard.Changed(t.Context(), repo, tc.commits)
		if merges := []string{merged, undone, laden, settled}; !known && slices.ContainsFunc(tc.commits, func(oid string) bool { return slices.Contains(merges, oid) }) {
			assert.True(t, fault.Is(err, fault.GitTooOld), "%s: %v", name, err)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, len(tc.want), len(got), "%s: %q", name, got)
		assert.ElementsMatch(t, tc.want, got, name)
	}

	before := repo.Runner.Started()
	_, err := guard.Changed(t.Context(), repo, []string{root, mode, moved, module, gone, strange})
	require.NoError(t, err)
	assert.EqualValues(t, 1, repo.Runner.Started()-before, "no merge, one process")
}

// A few small trees can describe more paths than fit into memory.
func TestChangedTooMuch(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	root := git.Commit(t, "a", "1", "root")
	tree := func(mode, oid, name string, entries int) string {
		var list strings.Builder
		for i := range entries {
			fmt.Fprintf(&list, "%s %s\t%s%03d\n", mode, oid, name, i)
		}
		return git.GitIn(t, strings.NewReader(list.String()), "mktree")
	}
	wide := tree("100644 blob", git.Git(t, "rev-parse", "HEAD:a"), "f", 40)
	wide = tree("040000 tree", tree("040000 tree", wide, "d", 100), "d", 100)
	wide = tree("040000 tree", wide, strings.Repeat("d", 200), 1)
	long := git.Git(t, "commit-tree", "-p", root, "-m", "long", wide)
	_, err := guard.Changed(t.Context(), enginetest.Open(t, git), []string{long})
	assert.True(t, fault.Is(err, fault.TooLarge), "%v", err)
	assert.ErrorContains(t, err, "the commits change paths of more than 64 MiB")
	if runtime.GOOS != "linux" {
		return // other systems do not bound the memory of a process
	}
	for range 14 {
		wide = tree("040000 tree", wide, strings.Repeat("d", 200), 1)
	}
	one, two := git.Git(t, "commit-tree", "-p", root, "-m", "bomb", wide), git.Git(t, "commit-tree", "-p", root, "-m", "none", "HEAD^{tree}")
	commits := []string{one}
	if gittest.HasGit(t, guard.MergesGit) {
		commits = append(commits, git.Git(t, "commit-tree", "-p", two, "-p", two+"~1", "-m", "merge", wide))
	}
	for _, oid := range commits {
		_, err := guard.Changed(t.Context(), enginetest.Open(t, git), []string{oid})
		assert.True(t, fault.Is(err, fault.TooLarge), "%v", err)
		assert.ErrorContains(t, err, "of memory")
	}
}

// git before 2.35 has no --remerge-diff. Its version is checked only when the command fails.
func TestChangedWithAnOldGit(t *testing.T) {
	gittest.WrapGit(t, `case " $* " in
*' --remerge-diff '*) echo 'fatal: unrecognized argument: --remerge-diff' >&2; exit 128 ;;
*' version '*) echo git version 2.34.1; exit ;;
esac`)
	git := gittest.NewRepo(t, gittest.Env(t))
	root := git.Commit(t, "a", "1", "root")
	merge := git.Git(t, "commit-tree", "-p", root, "-p", git.Commit(t, "b", "2", "second"), "-m", "merge", "HEAD^{tree}")
	repo := enginetest.Open(t, git)
	got, err := guard.Changed(t.Context(), repo, []string{root})
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, got)
	_, err = guard.Changed(t.Context(), repo, []string{merge})
	assert.True(t, fault.Is(err, fault.GitTooOld), "%v", err)
}

// A push that only deletes refs changes no path and needs no token, even if HEAD is at no remote.
func TestNeedsOfADeletion(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	head := git.Commit(t, "a", "1\n", "one\n\nHandoff-Token: obo_x")
	repo := enginetest.Open(t, git)
	for now, want := range map[string][]string{
		"":   {"repo.push:refs/heads/gone"},
		head: {"repo.push:refs/heads/gone", "repo.write:a"},
	} {
		edits := []refs.Edit{{Ref: "refs/heads/gone", New: now}}
		needs, err := guard.Needs(t.Context(), repo, edits)
		require.NoError(t, err)
		assert.ElementsMatch(t, want, needs)
		tokens, err := guard.Tokens(t.Context(), repo, edits)
		require.NoError(t, err)
		assert.Equal(t, now != "", len(tokens) > 0)
	}
}
