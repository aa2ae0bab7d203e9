package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/snapshot"
)

// A snapshot carries the state of a work tree, however its repository is set up. A checkout in that work tree
// works as well, or is refused in one line.
func TestAnySetUp(t *testing.T) {
	env := gittest.Env(t)
	for name, tc := range map[string]struct {
		from    []string // options of a git clone to use instead of the repository itself
		set     func(t *testing.T, git *gittest.Repo)
		refused string // reason if a checkout in this work tree is refused; "" if not
	}{
		"nothing special": {},
		"a sparse checkout": {set: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "sparse-checkout", "init", "--cone") // git 2.34 knows no "set --cone"
			git.Git(t, "sparse-checkout", "set", "dir")
		}, refused: "this work tree is a sparse checkout, without "},
		"a sparse index": {set: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "sparse-checkout", "init", "--cone", "--sparse-index")
			git.Git(t, "sparse-checkout", "set", "dir")
		}, refused: "this work tree is a sparse checkout, without "},
		"a split index": {set: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "config", "core.splitIndex", "true")
			git.Git(t, "update-index", "--split-index")
		}},
		"an untracked cache": {set: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "config", "core.untrackedCache", "true")
			git.Git(t, "update-index", "--force-untracked-cache")
			git.Git(t, "status")
		}},
		"a file system monitor that lies": {set: func(t *testing.T, git *gittest.Repo) {
			hook := filepath.Join(git.Dir, ".git", "lies")
			require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\nprintf 'token\\0'\n"), 0o755))
			git.Git(t, "config", "core.fsmonitor", hook)
			git.Git(t, "update-index", "--fsmonitor")
			git.Git(t, "status")
		}},
		"files that are not compared": {set: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "config", "core.fileMode", "false")
			git.Git(t, "config", "core.trustctime", "false")
			git.Git(t, "config", "core.checkStat", "minimal")
		}},
		"odd settings of status": {set: func(t *testing.T, git *gittest.Repo) {
			for _, kv := range []string{"status.showUntrackedFiles=no", "status.renames=copies", "status.relativePaths=true", "core.quotePath=false", "diff.ignoreSubmodules=all", "status.branch=true", "status.showStash=true"} {
				key, value, _ := strings.Cut(kv, "=")
				git.Git(t, "config", key, value)
			}
			write(t, git.Dir, "top", "stashed\n")
			git.Git(t, "stash", "--quiet")
		}},
		"a shallow clone": {from: []string{"--depth=1"}},
		"a partial clone": {from: []string{"--filter=blob:none"}},
		"index format 4": {set: func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "config", "index.version", "4")
			git.Git(t, "update-index", "--index-version", "4")
		}},
		"trees with mode 100664": {set: oldModes},
		"a detached HEAD":        {set: func(t *testing.T, git *gittest.Repo) { git.Git(t, "checkout", "--quiet", "--detach") }},
	} {
		t.Run(name, func(t *testing.T) {
			git := gittest.NewRepo(t, env)
			for _, path := range []string{"dir/one", "dir/two", "far/away", "top"} {
				write(t, git.Dir, path, "content of "+path+"\n")
			}
			git.Git(t, "add", "--all")
			git.Git(t, "commit", "--quiet", "-m", "base")
			git.Commit(t, "top", "second\n", "second")
			if tc.from != nil {
				git.Git(t, "config", "uploadpack.allowFilter", "true")
				dir := filepath.Join(t.TempDir(), "clone")
				git.Git(t, append(append([]string{"-c", "protocol.file.allow=always", "clone", "--quiet"}, tc.from...), "--", "file://"+git.Dir, dir)...)
				git = &gittest.Repo{Dir: dir, Env: env}
			}
			if tc.set != nil {
				tc.set(t, git)
			}
			write(t, git.Dir, "dir/one", "changed\n")
			write(t, git.Dir, "dir/new", "untracked\n")
			git.Git(t, "rm", "--quiet", "--cached", "dir/two")
			want := changes(t, git)
			s, c, repo := capture(t, git)
			defer repo.Close()
			assert.Equal(t, 3, s.Work.Files)
			out := &gittest.Repo{Dir: filepath.Join(t.TempDir(), "new"), Env: env}
			require.NoError(t, c.AddWorktree(ctx(), out.Dir, branch, complete))
			assert.Equal(t, want, changes(t, out))
			assert.FileExists(t, filepath.Join(out.Dir, "far", "away"), "all of it is checked out")

			git.Git(t, "reset", "--quiet", "--hard")
			git.Git(t, "clean", "--quiet", "-fd")
			again := open(t, git.Dir, env)
			defer again.Close()
			here, err := snapshot.Open(ctx(), again, s.Work.Commit)
			require.NoError(t, err)
			err = here.CheckOutHere(ctx(), "here")
			if tc.refused != "" {
				require.ErrorContains(t, err, tc.refused)
				assert.True(t, fault.Is(err, fault.WorkTreeTaken))
				return
			}
			require.NoError(t, err)
			assert.Equal(t, want, changes(t, git))
		})
	}
}

// changes returns the paths that git reports as changed, with their content, even if settings hide some.
func changes(t *testing.T, git *gittest.Repo) string {
	t.Helper()
	out := git.Git(t, "-c", "core.fsmonitor=false", "-c", "status.branch=false", "-c", "status.showStash=false", "status", "--porcelain=v2", "--untracked-files=all", "--no-renames")
	for _, path := range []string{"dir/one", "dir/two", "dir/new", "top"} {
		b, err := os.ReadFile(filepath.Join(git.Dir, path))
		require.NoError(t, err)
		out += "\n" + path + ": " + string(b)
	}
	return out
}

// oldModes makes HEAD a commit whose trees have a file mode that git no longer writes.
func oldModes(t *testing.T, git *gittest.Repo) {
	write(t, git.Dir, "dir/one", "content of dir/one\n")
	raw := func(entries ...string) string {
		path := filepath.Join(t.TempDir(), "tree")
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(entries, "")), 0o644))
		return git.Git(t, "hash-object", "-t", "tree", "-w", "--literally", path)
	}
	entry := func(mode, name, rev string) string {
		return mode + " " + name + "\x00" + bytesOf(t, git.Git(t, "rev-parse", rev))
	}
	dir := raw(entry("100664", "one", "HEAD:dir/one"), entry("100644", "two", "HEAD:dir/two"))
	top := raw(entry("40000", "dir", dir), entry("40000", "far", "HEAD:far"), entry("100664", "top", "HEAD:top"))
	git.Git(t, "reset", "--quiet", "--hard", git.Git(t, "commit-tree", "-m", "old modes", top))
}
