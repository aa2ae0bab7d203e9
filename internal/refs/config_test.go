package refs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

func TestConfig(t *testing.T) {
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	extra := filepath.Join(t.TempDir(), "extra")
	require.NoError(t, os.WriteFile(extra, []byte("[handoff]\n\tserves = included\n"), 0o600))
	repo.Git(t, "config", "--global", "handoff.agent", "global")
	repo.Git(t, "config", "handoff.agent", "local")
	repo.Git(t, "config", "--add", "handoff.serves", "one, two three")
	repo.Git(t, "config", "include.path", extra)
	repo.Git(t, "config", "remote.origin.url", "/srv/hub.git")
	repo.Git(t, "config", "remote.Team.A.url", "/srv/team.git")
	repo.Git(t, "config", "handoff.text", "two\nlines = x")

	c := open(t, repo).Config
	assert.Equal(t, "local", c.Get("handoff.agent"), "the narrower scope wins")
	assert.Equal(t, "", c.Get("handoff.absent"))
	assert.Equal(t, []string{"one", "two", "three", "included"}, c.All("handoff.serves"))
	assert.Equal(t, "two\nlines = x", c.Get("handoff.text"))
	names := c.Subsections("remote", "url")
	slices.Sort(names)
	assert.Equal(t, []string{"Team.A", "origin"}, names)
	assert.NotContains(t, c, "")
}

// A boolean setting has the value that git gives it.
func TestConfigBool(t *testing.T) {
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	for _, line := range []string{"", "=", "= true", "= TRUE", "= yes", "= on", "= 1", "= false", "= no", "= off", "= 0"} {
		path := filepath.Join(repo.Dir, ".git/config")
		require.NoError(t, os.WriteFile(path, []byte("[core]\n\tbare = false\n[handoff]\n\tarchive "+line+"\n"), 0o600))
		want := repo.Git(t, "config", "--bool", "handoff.archive") == "true"
		c := open(t, repo).Config
		assert.Equal(t, want, c.Bool("handoff.archive"), "archive %s", line)
		assert.Equal(t, !want, c.Off("handoff.archive"), "archive %s", line)
	}
	assert.False(t, Config{}.Bool("handoff.archive"))
	assert.False(t, Config{}.Off("handoff.archive"))
	assert.False(t, Config{"handoff.archive": {"flase"}}.Off("handoff.archive"))
}

// The settings of transports allow what git's own do.
func TestTransports(t *testing.T) {
	env := gittest.Env(t)
	repo := gittest.NewRepo(t, env)
	urls := map[string]string{"file": repo.Dir, "http": "http://127.0.0.1:1/none", "ssh": "ssh://127.0.0.1:1/none"}
	for _, lines := range []string{
		"", "allow = never", "allow = USER", "allow = always",
		"allow = never\n[protocol \"file\"]\n\tallow = user",
		"allow = never\n[protocol \"http\"]\n\tallow = Always",
		"allow = always\n[protocol \"ssh\"]\n\tallow = never",
		"allow =", "allow = always\n[protocol \"file\"]\n\tallow = nobody",
	} {
		for _, typed := range []string{"", "GIT_PROTOCOL_FROM_USER=1", "GIT_PROTOCOL_FROM_USER=false", "GIT_PROTOCOL_FROM_USER=", "GIT_PROTOCOL_FROM_USER=00", "GIT_PROTOCOL_FROM_USER=2"} {
			require.NoError(t, os.WriteFile(filepath.Join(repo.Dir, ".git/config"), []byte("[core]\n\tbare = false\n[protocol]\n\t"+lines+"\n"), 0o600))
			own := &gittest.Repo{Dir: repo.Dir, Env: append(slices.Clone(env), "GIT_SSH_COMMAND=false")}
			if typed != "" {
				own.Env = append(own.Env, typed)
			}
			allowed := gitexec.AllowedTransports(open(t, own).Runner.Env)
			for transport, url := range urls {
				_, said, code := own.TryGit("ls-remote", url)
				forbids := code != 0 && (strings.Contains(said, "transport '"+transport+"' not allowed") || strings.Contains(said, "unknown value"))
				assert.Equal(t, !forbids, slices.Contains(allowed, transport), "%s: %q %s", transport, lines, typed)
			}
		}
	}
}

// In a partial clone the process that was started ahead fetches no missing object over a transport that a
// setting forbids.
func TestTransportsOfTheProcessStartedAhead(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewRepo(t, env)
	hub.Commit(t, "a", "x", "first")
	clone := gittest.PartialClone(t, hub)
	clone.Git(t, "config", "protocol.allow", "never")
	later := hub.Commit(t, "a", "y", "later")

	r, err := OpenToWrite(t.Context(), &gitexec.Runner{Dir: clone.Dir, Env: gitexec.Environ(env)})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	require.Error(t, r.Apply(t.Context(), Transaction{Edits: []Edit{{Ref: LocalNamespace.Lane(someID), New: later}}}))
}

// A configuration that a library would refuse does not matter, since only git reads it.
func TestConfigThatGitTakes(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Git(t, "config", "pack.window", "1k")
	repo.Git(t, "config", "branch.main.rebase", "merges")
	repo.Git(t, "config", "--add", "remote.origin.fetch", "^refs/handoffs/*")
	assert.Equal(t, "1k", open(t, repo).Config.Get("pack.window"))
}
