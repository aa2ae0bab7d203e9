package hooks

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// recorder stands in for githandoff and for users' hooks. It records its name, its arguments and its standard
// input, and exits with the status in the variable of the same name.
const recorder = `#!/bin/sh
{
	printf %s NAME
	for arg; do printf ' [%s]' "$arg"; done
	echo
	sed 's/^/< /'
} >>"$RECORD"
exit "${NAME_STATUS:-0}"
`

func recorderAs(name string) string { return strings.ReplaceAll(recorder, "NAME", name) }

// repo is an isolated repository, which does not read the user's configuration.
type repo struct {
	t      testing.TB
	root   string // parent of all other paths
	dir    string // the work tree, or the bare repository
	record string
	exe    string // a recorder named githandoff
	env    []string
}

func newRepo(t testing.TB, initArgs ...string) *repo {
	t.Helper()
	gittest.Need(t, "git", "sh")
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	r := &repo{
		t: t, root: root, dir: filepath.Join(root, "work tree"),
		record: filepath.Join(root, "record"),
		exe:    filepath.Join(root, "it's bin", "githandoff"),
	}
	r.env = []string{
		"PATH=" + gittest.PathWithout(t, "githandoff", "git-handoff"), "HOME=" + root, "XDG_CONFIG_HOME=" + root, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", gittest.DefaultObjects(), "RECORD=" + r.record,
		"GIT_AUTHOR_NAME=Alice", "GIT_AUTHOR_EMAIL=alice@example.com",
		"GIT_COMMITTER_NAME=Alice", "GIT_COMMITTER_EMAIL=alice@example.com",
	}
	write(t, r.exe, recorderAs("githandoff"), 0o755)
	r.run(root, "git", "config", "--global", "safe.bareRepository", "all")
	r.run(root, "git", append([]string{"init", "-q", "-b", "main"}, append(initArgs, r.dir)...)...)
	return r
}

// try runs a command and returns its output and whether it succeeded.
func (r *repo) try(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, r.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *repo) run(dir, name string, args ...string) string {
	r.t.Helper()
	out, err := r.try(dir, name, args...)
	require.NoError(r.t, err, "%s %q: %s", name, args, out)
	return out
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	return r.run(r.dir, "git", args...)
}

func (r *repo) commit(args ...string) {
	r.t.Helper()
	r.git(append([]string{"commit", "-q", "--allow-empty"}, args...)...)
}

// gitPath returns the path of a file in the git directory of a worktree.
func (r *repo) gitPath(dir, name string) string {
	r.t.Helper()
	path := strings.TrimSuffix(r.run(dir, "git", "rev-parse", "--git-path", name), "\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path
}

func (r *repo) hooksDir() string {
	r.t.Helper()
	return r.gitPath(r.dir, "hooks")
}

func (r *repo) install(names ...string) []Result {
	r.t.Helper()
	results, err := Install(r.hooksDir(), names, r.exe)
	require.NoError(r.t, err)
	return results
}

// hook installs a recorder as a hook.
func (r *repo) hook(name string) {
	r.t.Helper()
	write(r.t, filepath.Join(r.hooksDir(), name), recorderAs("before"), 0o755)
}

// recorded returns the records and removes them.
func (r *repo) recorded() string {
	r.t.Helper()
	data, err := os.ReadFile(r.record)
	if !os.IsNotExist(err) {
		require.NoError(r.t, err)
		require.NoError(r.t, os.Remove(r.record))
	}
	return string(data)
}

func (r *repo) setenv(kv string) { r.env = append(r.env, kv) }

func write(t testing.TB, path, data string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(data), 0o600))
	require.NoError(t, os.Chmod(path, mode))
}

// snapshot returns the content of a directory for a later comparison.
func snapshot(t require.TestingT, dir string) map[string]file {
	found := map[string]file{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		f, err := load(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		f.data = bytes.Clone(f.data)
		found[entry.Name()] = f
	}
	return found
}
