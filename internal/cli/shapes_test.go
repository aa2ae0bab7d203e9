package cli_test

import (
	"io/fs"
	"os"
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
	kinds := append(gittest.Kinds(),
		gittest.Kind{Name: "GIT_DIR and GIT_WORK_TREE", New: newGitDirElsewhere},
		gittest.Kind{Name: "bare, with a linked worktree", New: newBareWorktree},
	)
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			p := kind.New(t, gittest.Env(t))
			if kind.Name == "mirror" { // init refuses it until it is an ordinary clone, as the hint makes it
				refused(t, p, 2, "githandoff: origin is a mirror", []string{"init", "--as", "fixer"})
				p.Git(t, "config", "--unset", "remote.origin.mirror")
			}
			wholeWay(t, p, hubOf(t, p))
		})
	}
	t.Run("reftable", func(t *testing.T) {
		t.Parallel()
		repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
		if _, _, code := repo.TryGit("init", "--quiet", "--ref-format=reftable"); code == 0 {
			repo.Commit(t, "README", "one\n", "first")
			wholeWay(t, repo, hubOf(t, repo))
			return
		}
		// git 2.45 is the first that has reftable. An older git must refuse the repository.
		unknownExtension(t, repo, "refStorage", "reftable")
	})
	t.Run("an extension that git does not know", func(t *testing.T) {
		t.Parallel()
		repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
		unknownExtension(t, repo, "madeUp", "true")
	})
	t.Run("SHA-256", func(t *testing.T) {
		t.Parallel()
		repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
		repo.Git(t, "init", "--quiet", "--object-format=sha256")
		repo.Commit(t, "README", "one\n", "first")
		hub := filepath.Join(t.TempDir(), "hub.git")
		repo.Git(t, "init", "--quiet", "--bare", "--object-format=sha256", hub)
		repo.Git(t, "remote", "add", "origin", hub)
		wholeWay(t, repo, hubOf(t, repo))
	})
	t.Run("two object formats", func(t *testing.T) {
		t.Parallel()
		repo := &gittest.Repo{Dir: t.TempDir(), Env: gittest.Env(t)}
		repo.Git(t, "init", "--quiet", "--object-format=sha1")
		repo.Git(t, "config", "extensions.compatObjectFormat", "sha256")
		code, words := 8, "githandoff: repositories with two object formats"
		if _, _, refuses := repo.TryGit("rev-parse"); refuses != 0 { // a git that knows the extension wants version 1
			code, words = 2, "githandoff: repo version is 0, but v1-only extension found: compatobjectformat"
		}
		refused(t, repo, code, words, everyStep...)
	})
}

// wholeWay offers, claims and acknowledges twice: in this repository, and through the hub.
func wholeWay(t *testing.T, p *gittest.Repo, hub string) {
	t.Helper()
	p.Must(t, "init", "--as", "fixer")
	before := untouched(t, p)
	for _, to := range []string{"fixer", "fixer@" + hub} {
		id := p.Must(t, "emit", "--to", to, "--goal", "repair", "--summary", "the cause is known")
		require.Contains(t, p.Must(t, "resume", id), "the cause is known", to)
		p.Exits(t, 3, "resume", "--next")
		p.Must(t, "ack", "--result", "pr=12")
		require.Contains(t, p.Must(t, "ack", id), "already acknowledged", to)
		p.Must(t, "sync")
		require.Contains(t, p.Must(t, "audit"), "acknowledged "+id, to)
	}
	require.Empty(t, openRefs(t, p))
	require.Equal(t, before, untouched(t, p), "HEAD, branches, index and work tree")
	require.Empty(t, p.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
	for name := range files(t, p.Git(t, "rev-parse", "--path-format=absolute", "--git-common-dir")) {
		// The locks below githandoff are files that stay: the kernel's lock on them counts.
		assert.NotRegexp(t, `/tmp_|\.lock$`, ownLock.ReplaceAllString(name, ""), "half-written")
	}
}

var ownLock = regexp.MustCompile(`/githandoff/[a-z]+\.lock$`)

// hubOf returns the remote of the repository, which is made if there is none.
func hubOf(t *testing.T, repo *gittest.Repo) string {
	t.Helper()
	if repo.Git(t, "remote") == "" {
		// The hub has its own environment: GIT_DIR would name the other repository.
		repo.Git(t, "remote", "add", "origin", gittest.NewBare(t, gittest.Env(t)).Dir)
	}
	return "origin"
}

// everyStep lists the commands of a handoff's life in one repository.
var everyStep = [][]string{
	{"init", "--as", "fixer"},
	{"emit", "--to", "fixer", "--goal", "repair", "--summary", "the cause is known"},
	{"resume"},
	{"ack"},
	{"audit"},
}

// unknownExtension makes a repository with an extension that git does not know, and requires that each
// command refuses it.
func unknownExtension(t *testing.T, p *gittest.Repo, name, value string) {
	t.Helper()
	p.Git(t, "init", "--quiet")
	p.Git(t, "config", "core.repositoryFormatVersion", "1")
	p.Git(t, "config", "extensions."+name, value)
	refused(t, p, 2, "githandoff: unknown repository extension found: "+strings.ToLower(name), everyStep...)
}

// refused runs each command, which must say why in one line and write nothing.
func refused(t *testing.T, p *gittest.Repo, code int, why string, commands ...[]string) {
	t.Helper()
	before := files(t, p.Dir)
	for _, args := range commands {
		r := p.Run(t, args...)
		require.Equal(t, code, r.Code, "%v: %s", args, r)
		assert.Empty(t, r.Stdout, "%v", args)
		said := strings.Split(strings.TrimSuffix(r.Stderr, "\n"), "\n")
		assert.Contains(t, said[0], why, "%v", args)
		for _, line := range said[1:] {
			assert.Regexp(t, "^hint: ", line, "%v", args)
		}
	}
	assert.Equal(t, before, files(t, p.Dir))
	data, err := os.ReadDir(gittest.Getenv(p.Env, "XDG_DATA_HOME"))
	require.NoError(t, err)
	assert.Empty(t, data, "no key is made")
}

// untouched returns the state that a handoff must leave alone.
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

// newGitDirElsewhere makes a repository that only the environment leads to.
func newGitDirElsewhere(t testing.TB, env []string) *gittest.Repo {
	t.Helper()
	git, work := filepath.Join(t.TempDir(), "elsewhere.git"), t.TempDir()
	repo := &gittest.Repo{Dir: work, Env: append(env, "GIT_DIR="+git, "GIT_WORK_TREE="+work)}
	repo.Git(t, "init", "--quiet")
	repo.Commit(t, "README", "one\n", "first")
	return repo
}

// newBareWorktree returns a linked worktree of a bare repository.
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
	f := gittest.NewFixture(t)
	box := gittest.NewBare(t, f.Env)
	at := func(agent string) *gittest.Repo {
		p := f.NewRepo(t, agent)
		p.Must(t, "init", "--as", agent)
		p.Must(t, "repo", "add", "mailbox", box.Dir)
		p.Git(t, "config", "handoff.pull", "mailbox")
		return p
	}
	source, target := at("investigator"), at("fixer")
	source.Must(t, "trust", "add", "fixer", "--role", "recipient")
	target.Must(t, "trust", "add", "investigator", "--role", "sender")

	id := source.Must(t, "emit", "--to", "fixer@mailbox", "--goal", "repair", "--summary", "the cause is known")
	require.Contains(t, target.Must(t, "resume"), "the cause is known")
	target.Must(t, "ack", "--result", "pr=12")
	require.Contains(t, source.Must(t, "sync"), "acknowledged "+id)
	for _, p := range []*gittest.Repo{source, target} {
		require.Contains(t, p.Must(t, "audit"), "acknowledged "+id)
		require.Empty(t, p.Git(t, "remote"), "the mailbox is no remote of git")
	}
	require.Empty(t, openRefs(t, box))
	require.Empty(t, box.Git(t, "for-each-ref", "refs/heads"), "no code is there")
}
