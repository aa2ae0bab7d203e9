package private

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func home(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o700))
	return dir
}

func mkdir(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(path, 0o700))
	require.NoError(t, os.Chmod(path, mode))
}

func unsafe(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	assert.True(t, fault.Is(err, "unsafe_file"), err)
	assert.Equal(t, fault.Denied, fault.CodeOf(err))
}

func TestPlaces(t *testing.T) {
	h := home(t)
	for _, tc := range []struct {
		vars                map[string]string
		data, config, state string
	}{
		{map[string]string{"HOME": h}, h + "/.local/share/githandoff", h + "/.config/githandoff", h + "/.local/state/githandoff"},
		{map[string]string{"HOME": h + "/"}, h + "/.local/share/githandoff", h + "/.config/githandoff", h + "/.local/state/githandoff"},
		{
			map[string]string{"HOME": h, "XDG_DATA_HOME": h + "/d", "XDG_CONFIG_HOME": h + "/c/", "XDG_STATE_HOME": h + "/s"},
			h + "/d/githandoff", h + "/c/githandoff", h + "/s/githandoff",
		},
	} {
		data, err := Dir(env(tc.vars), Data)
		require.NoError(t, err)
		assert.Equal(t, tc.data, data)
		config, err := Dir(env(tc.vars), Config)
		require.NoError(t, err)
		assert.Equal(t, tc.config, config)
		state, err := Dir(env(tc.vars), State)
		require.NoError(t, err)
		assert.Equal(t, tc.state, state)
	}
}

// If HOME is not an absolute path, the home comes from the user database. The value of HOME is never joined to
// the current directory.
func TestHomeThatIsNoPath(t *testing.T) {
	for _, value := range []string{"", ".", "..", "home", "./", "~", "~/x", " /x"} {
		dir, err := Home(env(map[string]string{"HOME": value}))
		if err != nil { // the database does not know this user
			assert.True(t, fault.Is(err, "no_home"), err)
			continue
		}
		assert.True(t, filepath.IsAbs(dir), "%q: %s", value, dir)
	}
}

func TestRelativePlaces(t *testing.T) {
	for _, value := range []string{".", "x", "./x", "../x", "~/x"} {
		for _, name := range []string{Data, Config, State} {
			_, err := Dir(env(map[string]string{"HOME": home(t), name: value}), name)
			require.True(t, fault.Is(err, "relative_path"), err)
			assert.Equal(t, fault.Usage, fault.CodeOf(err))
			assert.ErrorContains(t, err, name)
		}
	}
}

// Each directory of the path is checked, not only the last one.
func TestPlacesThatOthersCanChange(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, h string){
		"its own directory is open": func(t *testing.T, h string) { mkdir(t, h+"/.local/share/githandoff", 0o777) },
		"the one above":             func(t *testing.T, h string) { mkdir(t, h+"/.local/share", 0o777) },
		"two above":                 func(t *testing.T, h string) { mkdir(t, h+"/.local", 0o757) },
		"its own is a link": func(t *testing.T, h string) {
			mkdir(t, h+"/.local/share", 0o700)
			mkdir(t, h+"/elsewhere", 0o700)
			require.NoError(t, os.Symlink(h+"/elsewhere", h+"/.local/share/githandoff"))
		},
		"a link leads to one that is open": func(t *testing.T, h string) {
			mkdir(t, h+"/open/share", 0o700)
			mkdir(t, h+"/open", 0o777)
			require.NoError(t, os.Symlink("open", h+"/.local"))
		},
		"its own is a file": func(t *testing.T, h string) {
			mkdir(t, h+"/.local/share", 0o700)
			require.NoError(t, os.WriteFile(h+"/.local/share/githandoff", nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := home(t)
			spoil(t, h)
			_, err := Dir(env(map[string]string{"HOME": h}), Data)
			unsafe(t, err)
		})
	}
}

func TestPlacesOfAnotherUser(t *testing.T) {
	gittest.NeedRoot(t)
	for _, sub := range []string{".local/share/githandoff", ".local/share", ".local"} {
		h := home(t)
		mkdir(t, h+"/.local/share/githandoff", 0o700)
		require.NoError(t, os.Chown(filepath.Join(h, sub), 12345, 12345))
		_, err := Dir(env(map[string]string{"HOME": h}), Data)
		unsafe(t, err)
	}
	h := home(t)
	mkdir(t, h+"/share", 0o700)
	require.NoError(t, os.Symlink("share", h+"/.config"))
	_, err := Dir(env(map[string]string{"HOME": h}), Config)
	require.NoError(t, err, "a link of one's own")
	require.NoError(t, os.Lchown(h+"/.config", 12345, 12345))
	_, err = Dir(env(map[string]string{"HOME": h}), Config)
	unsafe(t, err)

	for _, group := range []int{0, 12345} {
		for _, sub := range []string{".config", ".config/githandoff"} {
			h = home(t)
			mkdir(t, h+"/.config/githandoff", 0o700)
			mkdir(t, filepath.Join(h, sub), 0o775)
			require.NoError(t, os.Chown(filepath.Join(h, sub), 0, group))
			_, err = Dir(env(map[string]string{"HOME": h}), Config)
			unsafe(t, err)
		}
	}
}

// Outside the home directory only the named directory itself is checked.
func TestPlacesOutsideTheHome(t *testing.T) {
	h, elsewhere := home(t), home(t)
	mkdir(t, elsewhere+"/data", 0o777)
	_, err := Dir(env(map[string]string{"HOME": h, "XDG_DATA_HOME": elsewhere + "/data"}), Data)
	unsafe(t, err)
	require.NoError(t, os.Chmod(elsewhere+"/data", 0o777|fs.ModeSticky))
	_, err = Dir(env(map[string]string{"HOME": h, "XDG_DATA_HOME": elsewhere + "/data"}), Data)
	assert.NoError(t, err, "as /tmp is")
}

func TestCheckTree(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"itself":    func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir, 0o757)) },
		"below":     func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir+"/claims", 0o772)) },
		"far below": func(t *testing.T, dir string) { require.NoError(t, os.Chmod(dir+"/claims/ended", 0o702)) },
		"link": func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(dir, dir+"2"))
			require.NoError(t, os.Symlink(dir+"2", dir))
		},
		"link in it": func(t *testing.T, dir string) { require.NoError(t, os.Symlink(t.TempDir(), dir+"/journal")) },
		"not a place": func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(dir, dir+"2"))
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := home(t) + "/githandoff"
			require.NoError(t, CheckTree(dir), "not there yet")
			mkdir(t, dir+"/claims/ended", 0o700)
			require.NoError(t, CheckTree(dir))
			spoil(t, dir)
			unsafe(t, CheckTree(dir))
		})
	}
}

func TestReadState(t *testing.T) {
	dir := home(t)
	path := dir + "/agent"
	b, err := ReadState(path)
	require.NoError(t, err)
	assert.Nil(t, b)
	require.NoError(t, os.WriteFile(path, []byte("fixer\n"), 0o600))
	b, err = ReadState(path)
	require.NoError(t, err)
	assert.Equal(t, "fixer\n", string(b))

	require.NoError(t, os.Chmod(path, 0o666))
	_, err = ReadState(path)
	unsafe(t, err)
	assert.Equal(t, []string{"chmod", "0644", path}, fault.As(err).Hints[0].Run)
	require.NoError(t, os.Chmod(path, 0o600))

	require.NoError(t, os.Symlink(path, dir+"/link"))
	_, err = ReadState(dir + "/link")
	unsafe(t, err)
	require.NoError(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	_, err = ReadState(dir + "/pipe")
	unsafe(t, err)
	require.NoError(t, os.WriteFile(dir+"/large", make([]byte, maxState+1), 0o600))
	_, err = ReadState(dir + "/large")
	assert.True(t, fault.Is(err, "too_large"), err)
}

func TestReadStateOfAnotherUser(t *testing.T) {
	gittest.NeedRoot(t)
	dir := home(t)
	require.NoError(t, os.WriteFile(dir+"/step", nil, 0o600))
	require.NoError(t, os.Chown(dir+"/step", 12345, 12345))
	_, err := ReadState(dir + "/step")
	unsafe(t, err)
	require.NoError(t, os.Chown(dir, 12345, 12345))
	_, err = ReadState(dir + "/step")
	assert.NoError(t, err, "of whoever the directory belongs to")
}

func TestAloneInGroup(t *testing.T) {
	const users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n"
	for name, c := range map[string]struct {
		groups, users string
		alone         bool
	}{
		"no members":               {"root:x:0:\nann:x:1000:\n", users, true},
		"itself":                   {"ann:x:1000:ann\n", users, true},
		"another member":           {"ann:x:1000:bob\n", users, false},
		"another member beside":    {"ann:x:1000:ann,bob\n", users, false},
		"a second line":            {"ann:x:1000:\nstaff:x:1000:bob\n", users, false},
		"another's first group":    {"ann:x:1000:\n", users + "carl:x:1002:1000::/:/bin/sh\n", false},
		"unknown to the database":  {"root:x:0:\n", users, false},
		"a line that is cut short": {"ann:x:1000\n", users, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.alone, aloneInGroup(strings.NewReader(c.groups), strings.NewReader(c.users), "ann", 1000))
		})
	}
}

// Under umask 002 an agent writes a draft that its group may change. The draft is accepted if the group has no
// other member. Files that others or another group may write are never accepted.
func TestUmaskOfAPrivateGroup(t *testing.T) {
	dir := home(t)
	path := dir + "/draft.json"
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o664))
	_, err := ReadState(path)
	if ownGroup(uint32(os.Getegid())) {
		assert.NoError(t, err)
		require.NoError(t, os.Chmod(path, 0o666))
		_, err = ReadState(path)
	}
	unsafe(t, err)
}

func TestWriteFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a/b")
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two"} {
		require.NoError(t, WriteFile(path, []byte(text)))
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(b))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	assert.Error(t, WriteFile(filepath.Join(dir, "taken"), []byte("x")))
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, names, 2, "a failure leaves no file behind")
}

// On a file system where chmod has no effect, the hint is not chmod.
func TestFileSystemWithoutModes(t *testing.T) {
	dir := home(t)
	path := filepath.Join(dir, "trust.json")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o777))
	refused := func() string {
		_, err := Read(path, Others, maxState)
		unsafe(t, err)
		require.Len(t, fault.As(err).Hints, 1)
		return fault.As(err).Hints[0].String()
	}
	assert.Contains(t, refused(), "chmod 0755 "+fault.Arg(path))

	defer func(real func(dir, pattern string) (*os.File, error)) { newFile = real }(newFile)
	newFile = func(dir, pattern string) (*os.File, error) {
		f, err := os.CreateTemp(dir, pattern)
		require.NoError(t, err)
		require.NoError(t, f.Chmod(0o777))
		return f, nil
	}
	assert.Contains(t, refused(), "this file system lets everybody change its files")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing is left")
}

// A file system without locks is named as the reason, and not taken for a lock that others hold.
func TestFileSystemWithoutLocks(t *testing.T) {
	defer func(real func(int, int) error) { flock = real }(flock)
	for _, no := range []syscall.Errno{syscall.ENOLCK, syscall.ENOSYS} { // NFS without lockd, Lustre without flock
		flock = func(int, int) error { return no }
		_, err := Lock(t.Context(), filepath.Join(t.TempDir(), "lock"))
		require.ErrorIs(t, err, no)
		assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
		assert.Contains(t, fault.As(err).Advice(), "this file system has no locks")
	}
}
