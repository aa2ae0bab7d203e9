package refs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// In every kind of repository git reads what githandoff writes, and the other way round.
func TestOpenKinds(t *testing.T) {
	for _, kind := range gittest.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			repo := kind.New(t, gittest.Env(t))
			r := open(t, repo)
			abs := func(what ...string) string {
				return repo.Git(t, append([]string{"rev-parse", "--path-format=absolute"}, what...)...)
			}
			assert.Equal(t, abs("--git-dir"), r.GitDir)
			assert.Equal(t, abs("--git-common-dir"), r.CommonDir)
			assert.Equal(t, abs("--git-path", "objects"), r.Objects)
			assert.Equal(t, repo.Git(t, "rev-parse", "HEAD"), r.Head)
			assert.Equal(t, repo.Git(t, "branch", "--show-current"), r.Branch)
			bare := repo.Git(t, "rev-parse", "--is-bare-repository") == "true"
			assert.Equal(t, bare, r.Bare)
			if bare {
				assert.Empty(t, r.Worktree)
			} else {
				assert.Equal(t, abs("--show-toplevel"), r.Worktree)
			}

			head, err := r.Read(t.Context(), "HEAD", 1<<20)
			require.NoError(t, err)
			require.NotNil(t, head)
			assert.Equal(t, r.Head, head.OID)
			c := commit("from here")
			require.NoError(t, r.Apply(t.Context(), Transaction{
				Edits: []Edit{{Ref: LocalNamespace.Lane(someID), New: c.OID}}, Objects: []*Object{emptyTree(), c},
			}))
			assert.Equal(t, c.OID, repo.Git(t, "rev-parse", LocalNamespace.Lane(someID)))
			assert.Equal(t, string(c.Body), repo.Git(t, "cat-file", "commit", c.OID)+"\n")
			assert.Empty(t, repo.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
		})
	}
}

func TestOpenFromBelow(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a/b/c", "x", "first")
	below := &gittest.Repo{Dir: filepath.Join(repo.Dir, "a/b"), Env: repo.Env}
	r := open(t, below)
	assert.Equal(t, open(t, repo).Worktree, r.Worktree)
	assert.Equal(t, filepath.Join(r.CommonDir, "githandoff/trust.json"), r.Own("trust.json"))
	assert.Equal(t, []string{r.CommonDir, r.Worktree}, r.Paths())
}

func TestOpenLinkedWorktree(t *testing.T) {
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	repo.Commit(t, "a", "x", "first")
	linked := &gittest.Repo{Dir: filepath.Join(t.TempDir(), "linked"), Env: env}
	repo.Git(t, "worktree", "add", "--quiet", "--detach", linked.Dir)
	one, two := open(t, repo), open(t, linked)
	assert.Equal(t, one.Own("x"), two.Own("x"))
	assert.NotEqual(t, one.OwnWorktree("x"), two.OwnWorktree("x"))
	assert.Equal(t, one.Paths(), two.Paths())
	assert.Empty(t, two.Branch, "detached")
	assert.Equal(t, one.Head, two.Head)
}

func TestOpenUnborn(t *testing.T) {
	r := open(t, gittest.NewRepo(t, gittest.Env(t)))
	assert.Empty(t, r.Head)
	assert.Empty(t, r.Branch)
	assert.NotEmpty(t, r.Worktree)
}

// git uses the object format only if the repository's own configuration has it together with a version.
func TestOpenFormatLikeGit(t *testing.T) {
	for name, change := range map[string][][]string{
		"as made":       nil,
		"no version":    {{"config", "--unset", "core.repositoryFormatVersion"}},
		"a second one":  {{"config", "--add", "extensions.objectFormat", "sha1"}},
		"of the user":   {{"config", "--global", "extensions.objectFormat", "sha1"}},
		"of a worktree": {{"config", "extensions.worktreeConfig", "true"}, {"config", "--worktree", "extensions.objectFormat", "sha1"}},
		"version of the user": {
			{"config", "--unset", "core.repositoryFormatVersion"}, {"config", "--global", "core.repositoryFormatVersion", "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
			repo.Git(t, "init", "--quiet", "--object-format=sha256")
			for _, args := range change {
				repo.Git(t, args...)
			}
			want := strings.TrimSpace(repo.Git(t, "rev-parse", "--show-object-format"))
			assert.Equal(t, want, string(open(t, repo).Format))
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	env := gittest.Env(t)
	t.Run("no repository", func(t *testing.T) {
		_, err := tryOpen(t, &gittest.Repo{Dir: t.TempDir(), Env: env})
		assert.Equal(t, fault.Usage, fault.CodeOf(err))
		assert.True(t, fault.Is(err, "not_a_repository"), err)
		assert.ErrorContains(t, err, "not a git repository")
	})
	t.Run("two object formats", func(t *testing.T) {
		repo := &gittest.Repo{Dir: t.TempDir(), Env: env}
		repo.Git(t, "init", "--quiet", "--object-format=sha1")
		repo.Git(t, "config", "extensions.compatObjectFormat", "sha256")
		for _, version := range []string{"0", "1"} {
			repo.Git(t, "config", "--file", ".git/config", "core.repositoryFormatVersion", version)
			_, err := tryOpen(t, repo)
			require.Error(t, err)
			if _, _, code := repo.TryGit("rev-parse"); code != 0 {
				continue // every git refuses one of the formats, and one built without Rust refuses both
			}
			assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
			assert.True(t, fault.Is(err, "object_format"), err)
			assert.ErrorContains(t, err, "extensions.compatObjectFormat")
		}
	})
	t.Run("broken configuration", func(t *testing.T) {
		repo := gittest.NewRepo(t, env)
		require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, ".git/config"), []byte("[core\n"), 0o600))
		_, err := tryOpen(t, repo)
		require.Error(t, err)
		assert.Equal(t, fault.Usage, fault.CodeOf(err))
		assert.ErrorContains(t, err, "bad config line")
	})
}

// hookEnv runs git with a hook that waits, and returns the directory and the environment of the hook.
func hookEnv(t *testing.T, repo *gittest.Repo, hook string, git ...string) *gittest.Repo {
	t.Helper()
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	seen := filepath.Join(t.TempDir(), "seen")
	script := "#!/bin/sh\ncat >/dev/null\n{ pwd; tr '\\0' '\\n' </proc/self/environ; } >'" + seen + ".new'\nmv '" + seen + ".new' '" + seen + "'\nread -r _ <'" + gate + "'\n"
	dir := repo.Git(t, "rev-parse", "--path-format=absolute", "--git-path", "hooks")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, hook), []byte(script), 0o755))

	cmd := exec.Command("git", git...)
	cmd.Dir, cmd.Env = repo.Dir, repo.Env
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		if _, err := os.Stat(seen); err == nil { // no hook reads from the pipe otherwise
			assert.NoError(t, os.WriteFile(gate, []byte("go\n"), 0o600))
		}
		assert.NoError(t, cmd.Wait())
	})
	require.Eventually(t, func() bool { _, err := os.Stat(seen); return err == nil }, gateTimeout, gatePoll)
	b, err := os.ReadFile(seen)
	require.NoError(t, err)
	line := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	return &gittest.Repo{Dir: line[0], Env: line[1:]}
}

func TestOpenInAHook(t *testing.T) {
	t.Parallel()
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "x", "first")
	linked := &gittest.Repo{Dir: filepath.Join(t.TempDir(), "linked"), Env: repo.Env}
	repo.Git(t, "worktree", "add", "--quiet", "-b", "topic", linked.Dir)
	in := hookEnv(t, linked, "post-commit", "commit", "--quiet", "--allow-empty", "-m", "second")
	require.NotEmpty(t, gittest.Getenv(in.Env, "GIT_INDEX_FILE"), "the environment is a hook's")

	r := open(t, in)
	assert.Equal(t, linked.Git(t, "rev-parse", "--path-format=absolute", "--git-dir"), r.GitDir)
	assert.Equal(t, filepath.Join(repo.Dir, ".git"), r.CommonDir)
	assert.Equal(t, linked.Git(t, "rev-parse", "HEAD"), r.Head)
	assert.Equal(t, "topic", r.Branch)
	assert.Equal(t, linked.Dir, r.Worktree)
}

// A hook of a server sees the objects of a push before they are in the repository.
func TestOpenInQuarantine(t *testing.T) {
	t.Parallel()
	env := gittest.Env(t)
	hub := gittest.NewBare(t, env)
	clone := gittest.Clone(t, env, hub.Dir)
	oid := clone.Commit(t, "a", "x", "first")
	clone.Git(t, "config", "remote.origin.receivepack", "git -c core.hooksPath='"+filepath.Join(hub.Dir, "hooks")+"' receive-pack")
	in := hookEnv(t, &gittest.Repo{Dir: hub.Dir, Env: env}, "pre-receive", "-C", clone.Dir, "push", "--quiet", "origin", "HEAD:main")
	require.NotEmpty(t, gittest.Getenv(in.Env, "GIT_QUARANTINE_PATH"))

	outside, err := open(t, hub).Read(t.Context(), oid, 1<<20)
	require.NoError(t, err)
	assert.Nil(t, outside, "not there yet")
	r := open(t, in)
	assert.True(t, r.Bare)
	inside, err := r.Read(t.Context(), oid, 1<<20)
	require.NoError(t, err)
	require.NotNil(t, inside)
	assert.Equal(t, oid, inside.OID)
}

func TestOpenCancelled(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Open(ctx, &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(repo.Env)})
	assert.Error(t, err)
}

// A process that was started ahead answers like one that is started when it is needed.
func TestOpenToWrite(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	head := repo.Commit(t, "a", "x", "first")
	run := &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(repo.Env)}
	r, err := OpenToWrite(t.Context(), run)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	o, err := r.Read(t.Context(), head, 1<<20)
	require.NoError(t, err)
	require.NotNil(t, o)
	require.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{Ref: LocalNamespace.Lane(someID), New: head}}}))
	assert.Equal(t, head, repo.Git(t, "rev-parse", LocalNamespace.Lane(someID)))
	assert.EqualValues(t, 2, run.Started(), "config, update-ref")

	bare := gittest.NewBareAt(t, repo.Env, filepath.Join(repo.Dir, "vendor/evil.git"))
	for _, dir := range []string{t.TempDir(), bare.Dir} {
		_, err = OpenToWrite(t.Context(), &gitexec.Runner{Dir: dir, Env: run.Env})
		assert.True(t, fault.Is(err, "not_a_repository"), err)
	}
}

// A hook of the configuration does not run for any git of githandoff, whatever its name, not even for the
// process that was started ahead.
func TestOpenSwitchesConfiguredHooksOff(t *testing.T) {
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	head := repo.Commit(t, "a", "x", "first")
	mark, trace := filepath.Join(t.TempDir(), "ran"), filepath.Join(t.TempDir(), "trace")
	names := []string{"a=b.c", "The Hook"}
	for _, name := range names {
		repo.Git(t, "config", "hook."+name+".command", "touch '"+mark+"' #")
		repo.Git(t, "config", "hook."+name+".event", "reference-transaction")
	}
	repo.Git(t, "update-ref", "refs/heads/other", head)
	version, err := gitexec.Installed(t.Context(), env)
	require.NoError(t, err)
	if !gitexec.OlderThan(version, "2.54") {
		require.FileExists(t, mark, "the hook is a hook")
		require.NoError(t, os.Remove(mark))
	}

	r, err := OpenToWrite(t.Context(), &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(append(env, "GIT_TRACE2_EVENT="+trace))})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	for _, name := range names {
		out, err := r.Runner.Run(t.Context(), gitexec.Cmd{Args: []string{"config", "--type=bool", "hook." + name + ".enabled"}})
		require.NoError(t, err)
		assert.Equal(t, "false\n", string(out))
	}
	require.NoError(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{Ref: LocalNamespace.Lane(someID), New: head}}}))
	r.Close()
	assert.NoFileExists(t, mark)

	out, err := os.ReadFile(trace)
	require.NoError(t, err)
	started := ""
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, `"update-ref","--stdin"]`) {
			started = line
		}
	}
	assert.Contains(t, started, "hook.The Hook.enabled", "the last process moved the ref")
}
