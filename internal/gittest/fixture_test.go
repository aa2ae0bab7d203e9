package gittest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

func TestFixtureAgentsHandOver(t *testing.T) {
	handOver(t, "the first pair")
	handOver(t, "a copy")
}

func handOver(t *testing.T, goal string) {
	t.Helper()
	f, boss, fixer := gittest.NewPair(t)
	for _, r := range []*gittest.Repo{boss, fixer} {
		assert.Equal(t, f.URL, r.Git(t, "config", "remote.origin.url"))
		assert.NoDirExists(t, filepath.Join(r.Dir, ".git", "githandoff", "read"), "the copies of a hub's refs are named by its path")
	}
	id := boss.Must(t, "emit", "--quiet", "--to", "fixer@origin", "--goal", goal)
	twin := f.Twin(t, "twin", "fixer", "boss")
	assert.Contains(t, twin.Must(t, "inbox"), id[len(id)-8:])

	fixer.Must(t, "resume", id)
	r := twin.Refuses(t, 5, []string{"held by fixer"}, "resume", id)
	assert.Empty(t, r.Stdout)
	assert.Contains(t, r.String(), "exit 5\n")
	for _, r := range []*gittest.Repo{f.Hub, fixer} {
		assert.Empty(t, r.Git(t, "fsck", "--strict", "--no-progress"))
		assert.Equal(t, "1", r.Git(t, "rev-list", "--count", "main"))
	}
}

// A copied repository has the same files as one that git makes.
func TestTemplatesAreWhatGitMakes(t *testing.T) {
	env := gittest.Env(t)
	for name, copied := range map[string]*gittest.Repo{"": gittest.NewRepo(t, env), "--bare": gittest.NewBare(t, env)} {
		made := &gittest.Repo{Dir: t.TempDir(), Env: env}
		args := []string{"init", "--quiet"}
		if name != "" {
			args = append(args, name)
		}
		made.Git(t, args...)
		assert.Equal(t, files(t, made.Dir), files(t, copied.Dir), name)
	}
}

// files returns the modes and contents of the files below a directory, without git's sample hooks.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir || filepath.Ext(path) == ".sample" {
			return err
		}
		info, err := d.Info()
		require.NoError(t, err)
		rel, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		all[rel] = info.Mode().String()
		if !d.IsDir() {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			all[rel] += " " + string(b)
		}
		return nil
	}))
	return all
}
