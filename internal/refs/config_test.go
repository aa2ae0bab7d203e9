package refs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// git says what a boolean means.
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

// Configuration that a library would refuse is git's business alone.
func TestConfigThatGitTakes(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Git(t, "config", "pack.window", "1k")
	repo.Git(t, "config", "branch.main.rebase", "merges")
	repo.Git(t, "config", "--add", "remote.origin.fetch", "^refs/handoffs/*")
	assert.Equal(t, "1k", open(t, repo).Config.Get("pack.window"))
}
