package gittest

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"githandoff/internal/gitobj"

	"github.com/stretchr/testify/require"
)

// Objects returns the object format of new repositories in the tests: the value of GITHANDOFF_OBJECTS, such as
// sha256, or sha1.
func Objects() gitobj.Format {
	return gitobj.Format(cmp.Or(os.Getenv("GITHANDOFF_OBJECTS"), string(gitobj.SHA1)))
}

// SignatureHeader returns the name of the header that contains the signature of a commit in these repositories.
func SignatureHeader() string { return Objects().SignatureHeader() }

// DefaultObjects returns the environment variable with which git uses [Objects] in new repositories.
func DefaultObjects() string { return "GIT_DEFAULT_HASH=" + string(Objects()) }

// GitConfig returns the global configuration of a test's user. Garbage collection stays automatic, as for users,
// but must not run in the background while the test's directories are removed. git discovers bare repositories,
// which git 3.0 does only with this setting. New repositories store their refs in the format that
// GITHANDOFF_REFS names, such as "reftable", or in files, which are not the default of git 3.0.
func GitConfig(name, mail string) string {
	return fmt.Sprintf(`[user]
	name = %s
	email = %s
[init]
	defaultBranch = main
	defaultRefFormat = %s
[handoff]
	publish = false
[gc]
	autoDetach = false
[maintenance]
	autoDetach = false
[safe]
	bareRepository = all
`, name, mail, cmp.Or(os.Getenv("GITHANDOFF_REFS"), "files"))
}

// Env returns the environment of a new user with its own home, as "NAME=value" strings for [os/exec.Cmd.Env].
// From the caller's environment it keeps only PATH without githandoff, TMPDIR, and the directory for coverage:
// no GIT_*, no agent, no keyring and no proxy. The home, and a gpg-agent that was started in it, are removed at
// the end of the test.
//
// To add a variable, append to the result: the last value of a name wins.
func Env(t testing.TB) []string {
	t.Helper()
	// The directory is directly below /tmp because it contains the socket of gpg-agent, and the path of a socket
	// is limited to 108 bytes.
	dir, err := os.MkdirTemp("/tmp", "gh-")
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the test's home: %v", err)
		}
	})

	env := []string{
		"LC_ALL=C",
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + filepath.Join(dir, "gitconfig"),
		"GIT_TERMINAL_PROMPT=0",
		DefaultObjects(),
	}
	env = append(env, "PATH="+PathWithout(t, "githandoff", "git-handoff"))
	env = append(env, Cover()...)
	if value, ok := os.LookupEnv("TMPDIR"); ok {
		env = append(env, "TMPDIR="+value)
	}
	for name, sub := range map[string]string{
		"HOME":            "home",
		"XDG_CONFIG_HOME": "config",
		"XDG_DATA_HOME":   "data",
		"XDG_RUNTIME_DIR": "run",
		"GNUPGHOME":       "gnupg",
	} {
		path := filepath.Join(dir, sub)
		require.NoError(t, os.Mkdir(path, 0o700))
		env = append(env, name+"="+path)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "gitconfig"), []byte(GitConfig("Agent", "agent@example.com")), 0o600))
	t.Cleanup(func() { killAgent(t, env) })
	return slices.Clip(env) // so that two appends do not share memory
}

// FixedDates returns env with a constant author and committer date, for tests
// that compare object ids.
func FixedDates(env []string) []string {
	const date = "2026-11-20T22:00:00Z"
	return append(slices.Clip(env), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
}

// Getenv returns the value that name has in env, or "".
func Getenv(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// killAgent stops the daemons of GnuPG, which outlive the gpg that started them. A home that gpg never used is
// empty and has no daemons.
func killAgent(t testing.TB, env []string) {
	entries, err := os.ReadDir(Getenv(env, "GNUPGHOME"))
	if err != nil || len(entries) == 0 {
		return
	}
	cmd := exec.Command("gpgconf", "--kill", "all")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("stop gpg-agent: %v\n%s", err, out)
	}
}
