package gittest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fixture is one user, a hub, and the repositories in which the user's agents work. All agents share the user's
// keystore, so each can trust another by its name. The fixture is removed at the end of the test.
type Fixture struct {
	Dir string   // directory of the hub and the repositories
	Env []string // environment of all repositories
	Hub *Repo    // bare repository whose branch main has one commit
	URL string   // URL of the hub in clones
}

// NewFixture makes the user and the hub. Clones reach the hub by its path, unless the test
// sets another URL.
func NewFixture(t testing.TB) *Fixture {
	t.Helper()
	f := withoutHub(t)
	repositories(t).hub.Write(t, f.Hub.Dir)
	return f
}

// withoutHub makes the user alone.
func withoutHub(t testing.TB) *Fixture {
	t.Helper()
	f := &Fixture{Dir: t.TempDir(), Env: Env(t)}
	f.Hub = f.At("hub.git")
	f.URL = f.Hub.Dir
	return f
}

// Serve makes the hub reachable over a transport. Repositories that are made later use it.
func (f *Fixture) Serve(t testing.TB, tr Transport) {
	t.Helper()
	var base string
	base, f.Env = tr.Serve(t, f.Env, f.Dir)
	f.URL = base + "/" + filepath.Base(f.Hub.Dir)
}

// At returns the repository with a name. It need not exist yet.
func (f *Fixture) At(name string) *Repo {
	return &Repo{Dir: filepath.Join(f.Dir, name), Env: f.Env}
}

// NewRepo makes a repository that has one commit and does not know the hub.
func (f *Fixture) NewRepo(t testing.TB, name string) *Repo {
	t.Helper()
	r := f.At(name)
	repositories(t).plain.Write(t, r.Dir)
	r.Commit(t, "README", "one\n", "first")
	return r
}

// Clone clones the hub; flags go to git clone.
func (f *Fixture) Clone(t testing.TB, name string, flags ...string) *Repo {
	t.Helper()
	r := f.At(name)
	require.NoError(t, os.Mkdir(r.Dir, 0o755))
	r.Git(t, append(append([]string{"clone", "--quiet", "--template="}, flags...), "--", f.URL, ".")...)
	return r
}

// Agent makes a clone in which an agent works, with a new key if the agent has none. The clone trusts the other
// named agents, which must have keys.
func (f *Fixture) Agent(t testing.TB, agent string, trusted ...string) *Repo {
	t.Helper()
	return f.Twin(t, agent, agent, trusted...)
}

// Twin makes another clone for an agent, under a name of its own.
func (f *Fixture) Twin(t testing.TB, name, agent string, trusted ...string) *Repo {
	t.Helper()
	r := f.Clone(t, name)
	r.Must(t, "init", "--as", agent)
	for _, other := range trusted {
		r.Must(t, "trust", "add", other)
	}
	return r
}

// Pair makes boss, who sends, and fixer, who receives. They trust each other.
func (f *Fixture) Pair(t testing.TB) (boss, fixer *Repo) {
	t.Helper()
	boss = f.Agent(t, "boss")
	fixer = f.Agent(t, "fixer", "boss")
	boss.Must(t, "trust", "add", "fixer")
	return boss, fixer
}

// pairs has the files of a fixture with a pair, which takes some 60 processes to make. No clone has read the hub yet,
// so only paths differ.
var pairs Copies

// NewPair makes a fixture with a pair, which has keys like every other pair of this process.
func NewPair(t testing.TB) (f *Fixture, boss, fixer *Repo) {
	t.Helper()
	f = withoutHub(t)
	user := filepath.Dir(Getenv(f.Env, "HOME"))
	require.NoError(t, pairs.Fill(func() error {
		repositories(t).hub.Write(t, f.Hub.Dir)
		f.Pair(t)
		return nil
	}, f.Dir, user))
	return f, f.At("boss"), f.At("fixer")
}
