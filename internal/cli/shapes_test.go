package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// In a repository of any shape a handoff goes its whole way, within the repository and
// through a hub, and nothing else changes.
func TestShapes(t *testing.T) {
	bin := gittest.BuildBinary(t)
	kinds := append(gittest.Kinds(),
		gittest.Kind{Name: "GIT_DIR and GIT_WORK_TREE", New: newGitDirElsewhere},
		gittest.Kind{Name: "bare, with a linked worktree", New: newBareWorktree},
	)
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			p := person{kind.New(t, gittest.Env(t)), bin}
			if kind.Name == "mirror" { // refused until it is an ordinary clone, as the hint makes it
				refused(t, p, 2, "githandoff: origin is a mirror", []string{"init", "--as", "fixer"})
				p.repo.Git(t, "config", "--unset", "remote.origin.mirror")
			}
			wholeWay(t, p, hubOf(t, p.repo))
		})
	}
	t.Run("reftable", func(t *testing.T) {
		t.Parallel()
		repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
		if _, _, code := repo.TryGit("init", "--quiet", "--ref-format=reftable"); code == 0 {
			repo.Commit(t, "README", "one\n", "first")
			p := person{repo, bin}
			wholeWay(t, p, hubOf(t, repo))
			return
		}
		// git 2.45 is the first that has it. An older one must refuse the repository.
		unknownExtension(t, person{repo, bin}, "refStorage", "reftable")
	})
	t.Run("an extension that git does not know", func(t *testing.T) {
		t.Parallel()
		repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
		unknownExtension(t, person{repo, bin}, "madeUp", "true")
	})
	t.Run("SHA-256", func(t *testing.T) {
		t.Parallel()
		repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
		repo.Git(t, "init", "--quiet", "--object-format=sha256")
		repo.Commit(t, "README", "one\n", "first")
		refused(t, person{repo, bin}, 8, "githandoff: repositories with object format sha256 are not supported", everyStep...)
	})
}

// wholeWay offers, claims and acknowledges twice: in this repository, and through the hub.
func wholeWay(t *testing.T, p person, hub string) {
	t.Helper()
	p.run(t, 0, "init", "--as", "fixer")
	before := untouched(t, p.repo)
	for _, to := range []string{"fixer", "fixer@" + hub} {
		id := p.run(t, 0, "emit", "--to", to, "--goal", "repair", "--summary", "the cause is known")
		require.Contains(t, p.run(t, 0, "resume", id), "the cause is known", to)
		p.run(t, 3, "resume", "--next")
		p.run(t, 0, "ack", "--result", "pr=12")
		require.Contains(t, p.run(t, 0, "ack", id), "already acknowledged", to)
		p.run(t, 0, "sync")
		require.Contains(t, p.run(t, 0, "audit"), "acknowledged "+id, to)
	}
	require.Empty(t, openRefs(t, p.repo))
	require.Equal(t, before, untouched(t, p.repo), "HEAD, branches, index and work tree")
	require.Empty(t, p.repo.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
	for name := range files(t, p.repo.Git(t, "rev-parse", "--path-format=absolute", "--git-common-dir")) {
		// The locks below githandoff are files that stay: the kernel's lock on them is what counts.
		assert.NotRegexp(t, `/tmp_|\.lock$`, ownLock.ReplaceAllString(name, ""), "half-written")
	}
}

var ownLock = regexp.MustCompile(`/githandoff/[a-z]+\.lock$`)

// hubOf returns the remote of the repository, which is made if there is none.
func hubOf(t *testing.T, repo *gittest.Repo) string {
	t.Helper()
	if repo.Git(t, "remote") == "" {
		// Its own environment: GIT_DIR would name the other repository.
		repo.Git(t, "remote", "add", "origin", gittest.NewBare(t, gittest.Env(t)).Dir)
	}
	return "origin"
}

// everyStep is a life in one repository.
var everyStep = [][]string{
	{"init", "--as", "fixer"},
	{"emit", "--to", "fixer", "--goal", "repair", "--summary", "the cause is known"},
	{"resume"},
	{"ack"},
	{"audit"},
}

// unknownExtension makes a repository that asks of git what it cannot do.
func unknownExtension(t *testing.T, p person, name, value string) {
	t.Helper()
	p.repo.Git(t, "init", "--quiet")
	p.repo.Git(t, "config", "core.repositoryFormatVersion", "1")
	p.repo.Git(t, "config", "extensions."+name, value)
	refused(t, p, 2, "githandoff: unknown repository extension found: "+strings.ToLower(name), everyStep...)
}

// refused runs each command, which must say why in one line and write nothing.
func refused(t *testing.T, p person, code int, why string, commands ...[]string) {
	t.Helper()
	before := files(t, p.repo.Dir)
	for _, args := range commands {
		var out, diag bytes.Buffer
		cmd := exec.Command(p.bin, args...)
		cmd.Dir, cmd.Env = p.repo.Dir, p.repo.Env
		cmd.Stdout, cmd.Stderr = &out, &diag
		_ = cmd.Run() // its exit code is what counts
		require.Equal(t, code, cmd.ProcessState.ExitCode(), "%v: %s", args, &diag)
		assert.Empty(t, out.String(), "%v", args)
		said := strings.Split(strings.TrimSuffix(diag.String(), "\n"), "\n")
		assert.Contains(t, said[0], why, "%v", args)
		for _, line := range said[1:] {
			assert.Regexp(t, "^hint: ", line, "%v", args)
		}
	}
	assert.Equal(t, before, files(t, p.repo.Dir))
	data, err := os.ReadDir(gittest.Getenv(p.repo.Env, "XDG_DATA_HOME"))
	require.NoError(t, err)
	assert.Empty(t, data, "no key is made")
}

// untouched is what a handoff must leave alone.
func untouched(t *testing.T, r *gittest.Repo) string {
	t.Helper()
	if r.Git(t, "rev-parse", "--is-bare-repository") == "false" {
		return state(t, r)
	}
	return r.Git(t, "rev-parse", "--symbolic-full-name", "HEAD") + r.Git(t, "for-each-ref", "refs/heads", "refs/tags", "refs/remotes")
}

// files returns what is in each file below dir.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	}))
	return all
}

// newGitDirElsewhere is found by the environment alone.
func newGitDirElsewhere(t testing.TB, env []string) *gittest.Repo {
	t.Helper()
	git, work := filepath.Join(t.TempDir(), "elsewhere.git"), t.TempDir()
	repo := &gittest.Repo{Dir: work, Env: append(env, "GIT_DIR="+git, "GIT_WORK_TREE="+work)}
	repo.Git(t, "init", "--quiet")
	repo.Commit(t, "README", "one\n", "first")
	return repo
}

// newBareWorktree is a linked worktree of a bare repository.
func newBareWorktree(t testing.TB, env []string) *gittest.Repo {
	t.Helper()
	bare := gittest.NewBare(t, env)
	tree := bare.Git(t, "hash-object", "-t", "tree", "-w", "/dev/null")
	bare.Git(t, "update-ref", "refs/heads/main", bare.Git(t, "commit-tree", "-m", "first", tree))
	linked := &gittest.Repo{Dir: filepath.Join(t.TempDir(), "linked"), Env: env}
	bare.Git(t, "worktree", "add", "--quiet", "-b", "linked", linked.Dir, "main")
	return linked
}

// Two code repositories that share no remote hand work over through a third, which holds
// handoffs alone.
func TestMailbox(t *testing.T) {
	bin, env := gittest.BuildBinary(t), gittest.Env(t)
	box := gittest.NewBare(t, env)
	at := func(agent string) person {
		p := person{gittest.NewRepo(t, env), bin}
		p.repo.Commit(t, "own.txt", agent, "history of "+agent)
		p.run(t, 0, "init", "--as", agent)
		p.run(t, 0, "repo", "add", "mailbox", box.Dir)
		p.repo.Git(t, "config", "handoff.pull", "mailbox")
		return p
	}
	source, target := at("investigator"), at("fixer")
	source.run(t, 0, "trust", "add", "fixer", "--role", "recipient")
	target.run(t, 0, "trust", "add", "investigator", "--role", "sender")

	id := source.run(t, 0, "emit", "--to", "fixer@mailbox", "--goal", "repair", "--summary", "the cause is known")
	require.Contains(t, target.run(t, 0, "resume"), "the cause is known")
	target.run(t, 0, "ack", "--result", "pr=12")
	require.Contains(t, source.run(t, 0, "sync"), "acknowledged "+id)
	for _, p := range []person{source, target} {
		require.Contains(t, p.run(t, 0, "audit"), "acknowledged "+id)
		require.Empty(t, p.repo.Git(t, "remote"), "the mailbox is no remote of git")
	}
	require.Empty(t, openRefs(t, box))
	require.Empty(t, box.Git(t, "for-each-ref", "refs/heads"), "no code is there")
}
