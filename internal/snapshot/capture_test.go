package snapshot_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/refs"
	"githandoff/internal/snapshot"
)

func ctx() context.Context { return context.Background() }

// complete is what AddWorktree calls at its end.
func complete() error { return nil }

// A receiver gets the sender's work tree, byte for byte, and the sender's repository is unchanged. Each run
// makes a different unusual work tree. For more of them: go test -rapid.checks=1000.
func TestAnyWorkTreeTravels(t *testing.T) {
	gittest.Checks(t, 30)
	env := gittest.Env(t)
	template := odd(t, env)
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		dir := filepath.Join(t.TempDir(), "w")
		_, stderr, code := template.TryGit("-c", "core.hooksPath=/dev/null", "clone", "--quiet", "--no-local", "--", template.Dir, dir)
		require.Zero(r, code, stderr)
		git := &gittest.Repo{Dir: dir, Env: env}
		defer os.RemoveAll(dir)
		for _, kv := range [][2]string{{"filter.up.clean", "tr A-Z a-z"}, {"filter.up.smudge", "tr a-z A-Z"}} {
			git.TryGit("config", kv[0], kv[1])
		}
		require.NoError(r, os.Remove(filepath.Join(dir, "loud.up")))
		git.TryGit("checkout", "--quiet", "--", "loud.up")
		m := &messer{git: git, r: r}
		for range rapid.IntRange(0, 14).Draw(r, "steps") {
			m.step()
		}
		had := state(r, git)
		before := fingerprint(r, dir)
		repo := open(r, dir, env)
		defer repo.Close()
		s, err := snapshot.Capture(ctx(), repo, request())
		if f := fault.As(err); f != nil && f.Reason == fault.CannotTravel {
			require.True(r, m.odd, "refused: %v", err)
			return
		}
		require.NoError(r, err)
		require.Equal(r, before, fingerprint(r, dir, ".git/githandoff"), "the sender's repository changed")
		require.NoError(r, repo.Apply(ctx(), refs.Transaction{
			Edits: []refs.Edit{{Ref: "refs/handoffs/work/fixer/x", New: s.Work.Commit}}, Objects: s.Objects,
		}))
		c, err := snapshot.Open(ctx(), repo, s.Work.Commit)
		require.NoError(r, err)
		out := &gittest.Repo{Dir: filepath.Join(t.TempDir(), "new"), Env: env}
		defer os.RemoveAll(out.Dir)
		require.NoError(r, c.AddWorktree(ctx(), out.Dir, "handoff/"+strconv.Itoa(run), complete))
		require.Equal(r, had, state(r, out))
		git.TryGit("reset", "--quiet", "--hard")
		git.TryGit("clean", "--quiet", "-ffd")
		again := open(r, dir, env)
		defer again.Close()
		here, err := snapshot.Open(ctx(), again, s.Work.Commit)
		require.NoError(r, err)
		require.NoError(r, here.CheckOutHere(ctx(), "here"))
		require.Equal(r, had, state(r, git), "in the sender's own work tree")
		fsck, stderr, code := git.TryGit("fsck", "--strict", "--no-dangling")
		require.Zero(r, code, fsck+stderr)
	})
}

// messer changes a work tree as people and tools do.
type messer struct {
	git *gittest.Repo
	r   *rapid.T
	odd bool // whether a snapshot of it may be refused
}

func (m *messer) path() string {
	return rapid.SampledFrom(append(append([]string{}, oddNames...), "link", "win.crlf", "mixed.auto", "loud.up",
		"new", "fresh/file", "fresh/er/file", "dir", "a/below", "x.log", "ünew\nname", "-new")).Draw(m.r, "path")
}

func (m *messer) full(path string) string { return filepath.Join(m.git.Dir, path) }

// clear makes room for a file: it removes whatever is at its path, and files in place of its
// directories.
func (m *messer) clear(path string) {
	os.RemoveAll(m.full(path))
	for d := filepath.Dir(path); d != "."; d = filepath.Dir(d) {
		if info, err := os.Lstat(m.full(d)); err == nil && !info.IsDir() {
			os.Remove(m.full(d))
		}
	}
	require.NoError(m.r, os.MkdirAll(filepath.Dir(m.full(path)), 0o755))
}

func (m *messer) content(path string) string {
	text := rapid.SampledFrom([]string{"", "one\n", "no end of line", "one\ntwo\n", "\x00\x01binary", strings.Repeat("long line ", 3000) + "\n"}).Draw(m.r, "content")
	switch filepath.Ext(path) {
	case ".crlf":
		text = strings.ReplaceAll(strings.TrimRight(text, "\x00\x01"), "\n", "\r\n")
	case ".up":
		text = strings.ToUpper(text)
	}
	return text
}

func (m *messer) step() {
	path := m.path()
	switch rapid.IntRange(0, 12).Draw(m.r, "what") {
	case 0, 1, 2:
		m.clear(path)
		require.NoError(m.r, os.WriteFile(m.full(path), []byte(m.content(path)), 0o644))
	case 3:
		if info, err := os.Lstat(m.full(path)); err == nil && info.Mode().IsRegular() {
			require.NoError(m.r, os.Chmod(m.full(path), info.Mode()^0o111))
		}
	case 4:
		os.RemoveAll(m.full(path))
	case 5:
		m.clear(path)
		require.NoError(m.r, os.Symlink(rapid.SampledFrom([]string{"a", "nowhere", "../outside", "dir"}).Draw(m.r, "to"), m.full(path)))
	case 6, 7:
		m.git.TryGit("add", "--force", "--", ":(literal)"+path)
	case 8:
		m.git.TryGit("rm", "--quiet", "-r", "--force", "--cached", "--", ":(literal)"+path)
	case 9:
		m.git.TryGit("mv", "--", path, rapid.SampledFrom([]string{"moved", "fresh/moved", "dir/moved"}).Draw(m.r, "target"))
	case 10:
		m.git.TryGit("add", "--intent-to-add", "--force", "--", ":(literal)"+path)
		m.odd = true // the file may be deleted afterwards
	case 11:
		m.git.TryGit("commit", "--quiet", "--allow-empty", "-m", "on the way")
	case 12:
		m.git.TryGit("add", "--all")
	}
}

// git itself accepts the commit as a stash.
func TestStashTakesIt(t *testing.T) {
	env := gittest.Env(t)
	git := odd(t, env)
	git.Commit(t, "dir/empty", "", "a file with the content of an entry added in intention")
	write(t, git.Dir, "a", "staged\n")
	git.Git(t, "add", "a")
	write(t, git.Dir, "a", "staged, and more\n")
	write(t, git.Dir, "dir/one", "changed\n")
	write(t, git.Dir, "fresh/file", "untracked\n")
	require.NoError(t, os.Remove(filepath.Join(git.Dir, "dir/two")))
	require.NoError(t, os.Remove(filepath.Join(git.Dir, "dir/empty")))
	had := state(t, git)
	s, _, repo := capture(t, git)
	defer repo.Close()
	other := &gittest.Repo{Dir: filepath.Join(t.TempDir(), "other"), Env: env}
	git.Git(t, "worktree", "add", "--quiet", "--detach", other.Dir)
	other.Git(t, "stash", "apply", "--quiet", "--index", s.Work.Commit)
	require.Equal(t, had, state(t, other))
	assert.Equal(t, 5, s.Work.Files)
}

// A file that a commit cannot contain is refused in one line that names it.
func TestCannotTravel(t *testing.T) {
	env := gittest.Env(t)
	for name, tc := range map[string]struct {
		mess func(*testing.T, *gittest.Repo)
		want string
	}{
		"a conflict": {func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "checkout", "--quiet", "-b", "other")
			git.Commit(t, "a", "theirs\n", "theirs")
			git.Git(t, "checkout", "--quiet", "main")
			git.Commit(t, "a", "ours\n", "ours")
			git.TryGit("merge", "--quiet", "other")
		}, "a has a merge conflict"},
		"a submodule with changes": {func(t *testing.T, git *gittest.Repo) {
			write(t, git.Dir, "sub/s", "changed\n")
		}, "sub is a submodule with changes of its own"},
		"a submodule that moved": {func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "-C", "sub", "commit", "--quiet", "--allow-empty", "-m", "on")
		}, "sub is a submodule with changes of its own"},
		"a repository in the work tree": {func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "init", "--quiet", "nested")
			(&gittest.Repo{Dir: filepath.Join(git.Dir, "nested"), Env: env}).Commit(t, "x", "x\n", "x")
		}, "nested/ is a repository of its own"},
		"only a name that git does not store": {func(t *testing.T, git *gittest.Repo) {
			write(t, git.Dir, "git~1/config", "x\n")
		}, "git stores no file under the name git~1/config"},
		"a name that git does not store, beside changes": {func(t *testing.T, git *gittest.Repo) {
			write(t, git.Dir, ".Git/config", "x\n")
			write(t, git.Dir, "new.txt", "x\n")
		}, "git stores no file under the name .Git/config"},
		"line ends that would change": {func(t *testing.T, git *gittest.Repo) {
			write(t, git.Dir, "win.crlf", "only\nLF\n")
		}, "win.crlf would have other bytes"},
		"a file added in intention that is gone": {func(t *testing.T, git *gittest.Repo) {
			write(t, git.Dir, "new", "x\n")
			git.Git(t, "add", "--intent-to-add", "new")
			require.NoError(t, os.Remove(filepath.Join(git.Dir, "new")))
		}, "new was staged for addition and is gone"},
		"one below a directory that is a file by now": {func(t *testing.T, git *gittest.Repo) {
			write(t, git.Dir, "fresh/file", "x\n")
			git.Git(t, "add", "--intent-to-add", "fresh/file")
			require.NoError(t, os.RemoveAll(filepath.Join(git.Dir, "fresh")))
			write(t, git.Dir, "fresh", "x\n")
		}, "fresh/file was staged for addition and is gone"},
		"one that HEAD has": {func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "rm", "--quiet", "--cached", "a")
			git.Git(t, "add", "--intent-to-add", "a")
			require.NoError(t, os.Remove(filepath.Join(git.Dir, "a")))
		}, "a was staged for addition and is gone"},
		"a file of Git LFS": {func(t *testing.T, git *gittest.Repo) {
			git.Git(t, "config", "filter.up.clean", "sed -e 's/.*/version https:\\/\\/git-lfs.github.com\\/spec\\/v1/'")
			write(t, git.Dir, "loud.up", "the real content\n")
		}, "loud.up is kept by Git LFS"},
	} {
		t.Run(name, func(t *testing.T) {
			git := odd(t, env)
			tc.mess(t, git)
			repo := open(t, git.Dir, env)
			defer repo.Close()
			before := fingerprint(t, git.Dir)
			_, err := snapshot.Capture(ctx(), repo, request())
			require.ErrorContains(t, err, tc.want)
			assert.True(t, fault.Is(err, fault.CannotTravel))
			assert.Equal(t, fault.Policy, fault.CodeOf(err))
			assert.Equal(t, before, fingerprint(t, git.Dir, ".git/githandoff"))
		})
	}
	t.Run("no commit yet", func(t *testing.T) {
		git := gittest.NewRepo(t, env)
		repo := open(t, git.Dir, env)
		defer repo.Close()
		_, err := snapshot.Capture(ctx(), repo, request())
		require.ErrorContains(t, err, "HEAD has no commit yet")
	})
}

// A work tree in which another program writes is refused. A snapshot of two different times must not be made.
func TestChangedMeanwhile(t *testing.T) {
	env := gittest.Env(t)
	git := odd(t, env)
	git.Git(t, "config", "filter.up.clean", "sh -c 'echo more >>run.sh; tr A-Z a-z'")
	write(t, git.Dir, "loud.up", "OTHER\n")
	repo := open(t, git.Dir, env)
	defer repo.Close()
	_, err := snapshot.Capture(ctx(), repo, request())
	require.ErrorContains(t, err, "changed while it was taken")
	assert.True(t, fault.Is(err, fault.WorkChanged))
	assert.Equal(t, fault.Conflict, fault.CodeOf(err))
}
