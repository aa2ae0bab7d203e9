package sign

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// The list of a hub must belong to the owner of the repository or to root, whoever pushes.
func TestHubTrustIsTheOwners(t *testing.T) {
	gittest.NeedRoot(t)
	const owner, pusher = 12345, 54321
	for name, tt := range map[string]struct {
		spoil  func(t *testing.T, hub, dir, file string)
		reason string
	}{
		"the owner's": {func(*testing.T, string, string, string) {}, ""},
		"root's":      {func(t *testing.T, _, _, file string) { require.NoError(t, os.Chown(file, 0, -1)) }, ""},
		"a pusher's":  {func(t *testing.T, _, _, file string) { require.NoError(t, os.Chown(file, pusher, -1)) }, "unsafe_file"},
		"in a pusher's directory": {
			func(t *testing.T, _, dir, _ string) { require.NoError(t, os.Chown(dir, pusher, -1)) }, "unsafe_file",
		},
		"in a directory that pushers write": {
			func(t *testing.T, _, dir, _ string) { require.NoError(t, os.Chmod(dir, 0o770)) }, "unsafe_file",
		},
		"in a linked directory": {func(t *testing.T, hub, dir, _ string) {
			require.NoError(t, os.Rename(dir, filepath.Join(hub, "elsewhere")))
			require.NoError(t, os.Symlink("elsewhere", dir))
		}, "unsafe_file"},
		"written by pushers":     {func(t *testing.T, _, _, file string) { require.NoError(t, os.Chmod(file, 0o660)) }, "unsafe_file"},
		"of a repository of his": {func(t *testing.T, hub, _, _ string) { require.NoError(t, os.Chown(hub, pusher, -1)) }, "unsafe_file"},
	} {
		t.Run(name, func(t *testing.T) {
			hub := t.TempDir()
			dir := filepath.Join(hub, "githandoff")
			require.NoError(t, os.Mkdir(dir, 0o750))
			b, err := EncodeEntries([]TrustEntry{entryOf(sshKey(t, "ed25519"))})
			require.NoError(t, err)
			file := writeFile(t, dir, "trust.json", b)
			require.NoError(t, os.Chmod(file, 0o640))
			for _, path := range []string{hub, dir, file} {
				require.NoError(t, os.Chown(path, owner, -1))
			}
			tt.spoil(t, hub, dir, file)
			trust, err := LoadHubTrust(file, hub)
			if tt.reason != "" {
				refused(t, err, tt.reason)
				return
			}
			require.NoError(t, err)
			assert.Len(t, trust.Entries(), 1)
		})
	}
}

func TestHubTrustWithoutAFileIsEmpty(t *testing.T) {
	hub := t.TempDir()
	trust, err := LoadHubTrust(filepath.Join(hub, "githandoff", "trust.json"), hub)
	require.NoError(t, err)
	assert.Empty(t, trust.Entries())
}

// In a shared repository others may read the list and its directory. If a list exists already, the
// next change makes it readable.
func TestOthersReadTheListOfASharedRepository(t *testing.T) {
	path := filepath.Join(t.TempDir(), "githandoff", "trust.json")
	e := entryOf(sshKey(t, "ed25519"))
	for _, tt := range []struct{ shared, file, dir fs.FileMode }{
		{0, 0o600, 0o700}, {0o040, 0o640, 0o750}, {0o044, 0o644, 0o755},
	} {
		trust := loaded(t, path, "")
		trust.SharedRead = tt.shared
		require.NoError(t, trust.Add(path, e))
		for name, want := range map[string]fs.FileMode{path: tt.file, filepath.Dir(path): tt.dir} {
			info, err := os.Stat(name)
			require.NoError(t, err)
			assert.Equal(t, want, info.Mode().Perm(), name)
		}
		_, err := LoadHubTrust(path, filepath.Dir(filepath.Dir(path)))
		require.NoError(t, err)
	}
	user := filepath.Join(t.TempDir(), "trust.json")
	trust := loaded(t, path, user)
	trust.SharedRead = 0o044
	require.NoError(t, trust.Add(user, e))
	info, err := os.Stat(user)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), "a user's own list")
}
