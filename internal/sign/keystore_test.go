package sign

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

func newKeystore(t testing.TB) Keystore {
	t.Helper()
	return Keystore{Dir: filepath.Join(t.TempDir(), "a", "keys"), Now: later(day)}
}

func generated(t testing.TB, ks Keystore, name string) Signer {
	t.Helper()
	s, err := ks.Generate(name, name, nil, born(), rand.Reader)
	require.NoError(t, err)
	return s
}

func TestKeystore(t *testing.T) {
	ks := newKeystore(t)
	infos, err := ks.List()
	require.NoError(t, err)
	assert.Empty(t, infos)
	_, err = ks.Load("fixer")
	refused(t, err, "no_key")
	assert.Equal(t, fault.NotFound, fault.CodeOf(err))

	s := generated(t, ks, "fixer")
	assert.Equal(t, s.KID(), generated(t, ks, "fixer").KID(), "the key that is there")
	alice := generated(t, ks, "alice@example.com")
	assert.NotEqual(t, s.KID(), alice.KID())
	assert.Equal(t, "<alice@example.com>", alice.Public().UserID())
	assert.Equal(t, born(), s.Public().Created())

	for _, name := range []string{"fixer", s.KID()} {
		loaded, err := ks.Load(name)
		require.NoError(t, err)
		armored := mustSign(t, loaded, NamespaceGit, "x")
		public, err := ks.Public(name)
		require.NoError(t, err)
		require.NoError(t, Verify(public, NamespaceGit, []byte("x"), armored))
		assert.Equal(t, s.Public().Text(), public.Text())
	}
	_, err = ks.Load("openpgp:0123456789012345678901234567890123456789")
	refused(t, err, "no_key")

	infos, err = ks.List()
	require.NoError(t, err)
	require.Len(t, infos, 2)
	assert.Equal(t, []string{"alice@example.com", "fixer"}, []string{infos[0].Name, infos[1].Name})

	dir, err := os.Stat(ks.Dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), dir.Mode().Perm())
	file, err := os.Stat(filepath.Join(ks.Dir, "fixer.asc"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), file.Mode().Perm())
	files, err := os.ReadDir(ks.Dir)
	require.NoError(t, err)
	assert.Len(t, files, 2, "nothing left behind")
}

func TestGeneratedKeyFitsGPG(t *testing.T) {
	public := generated(t, newKeystore(t), "fixer").Public()
	assert.Equal(t, packet.PubKeyAlgoEdDSA, public.pgp.PrimaryKey.PubKeyAlgo)
	assert.Equal(t, 4, public.pgp.PrimaryKey.Version)
	assert.True(t, public.CanSeal(born().Add(day)))
	assert.False(t, sshKey(t, "ed25519").Public().CanSeal(born()))
}

func TestGenerateAtOnce(t *testing.T) {
	ks := newKeystore(t)
	const n = 16
	kids := make([]KID, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			s, err := ks.Generate("fixer", "fixer", nil, born(), rand.Reader)
			if assert.NoError(t, err) {
				kids[i] = s.KID()
			}
		})
	}
	wg.Wait()
	for _, kid := range kids {
		assert.Equal(t, kids[0], kid)
	}
}

func TestKeyNames(t *testing.T) {
	ks := newKeystore(t)
	for _, name := range []string{"", ".", "..", "../x", "a/b", ".hidden", "a b", "a\n", "-a", "ä"} {
		_, err := ks.Generate(name, "x", nil, born(), rand.Reader)
		refused(t, err, "malformed")
	}
}

// A key that another user could have read or written is not used.
func TestUnsafeKeys(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir, file string){
		"readable by the group": func(t *testing.T, _, file string) { require.NoError(t, os.Chmod(file, 0o640)) },
		"writable by others":    func(t *testing.T, _, file string) { require.NoError(t, os.Chmod(file, 0o602)) },
		"directory open":        func(t *testing.T, dir, _ string) { require.NoError(t, os.Chmod(dir, 0o755)) },
		"symbolic link": func(t *testing.T, _, file string) {
			target := filepath.Join(t.TempDir(), "target")
			require.NoError(t, os.Rename(file, target))
			require.NoError(t, os.Symlink(target, file))
		},
		"linked directory": func(t *testing.T, dir, _ string) {
			target := filepath.Join(t.TempDir(), "target")
			require.NoError(t, os.Rename(dir, target))
			require.NoError(t, os.Symlink(target, dir))
		},
		"directory in its place": func(t *testing.T, _, file string) {
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.Mkdir(file, 0o700))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ks := newKeystore(t)
			generated(t, ks, "fixer")
			spoil(t, ks.Dir, filepath.Join(ks.Dir, "fixer.asc"))
			_, err := ks.Load("fixer")
			refused(t, err, "unsafe_file")
			_, err = ks.Generate("fixer", "fixer", nil, born(), rand.Reader)
			refused(t, err, "unsafe_file")
		})
	}
}

func TestKeysOfAnotherUser(t *testing.T) {
	gittest.NeedRoot(t)
	ks := newKeystore(t)
	generated(t, ks, "fixer")
	require.NoError(t, os.Chown(filepath.Join(ks.Dir, "fixer.asc"), 12345, -1))
	_, err := ks.Load("fixer")
	refused(t, err, "unsafe_file")
}

// A damaged file is reported and hides no other key.
func TestDamagedKey(t *testing.T) {
	ks := newKeystore(t)
	s := generated(t, ks, "fixer")
	writeFile(t, ks.Dir, "broken.asc", []byte("hello"))
	writeFile(t, ks.Dir, "public.asc", []byte(s.Public().Text()))
	for _, name := range []string{"broken", "public"} {
		_, err := ks.Load(name)
		refused(t, err, "malformed")
	}
	infos, err := ks.List()
	require.NoError(t, err)
	require.Len(t, infos, 3)
	assert.Error(t, infos[0].Err)
	loaded, err := ks.Load(s.KID())
	require.NoError(t, err)
	assert.Equal(t, s.KID(), loaded.KID())
}

func TestDirectoriesOfKeysAndTrust(t *testing.T) {
	env := map[string]string{"HOME": "/home/a"}
	getenv := func(name string) string { return env[name] }
	assert.Equal(t, "/home/a/.local/share/githandoff/keys", NewKeystore(getenv).Dir)
	path, err := UserTrustPath(getenv)
	require.NoError(t, err)
	assert.Equal(t, "/home/a/.config/githandoff/trust.json", path)

	t.Chdir(t.TempDir())
	env["XDG_DATA_HOME"], env["XDG_CONFIG_HOME"] = "data", "relative"
	_, err = UserTrustPath(getenv)
	refused(t, err, "relative_path")
	ks := NewKeystore(getenv)
	_, err = ks.List()
	refused(t, err, "relative_path")
	_, err = ks.Load("fixer")
	refused(t, err, "relative_path")
	_, err = ks.Generate("fixer", "fixer", nil, born(), rand.Reader)
	refused(t, err, "relative_path")
	left, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, left, "nothing is written where the command happened to run")
}

// A key with a passphrase is listed without it, and signs and decrypts only with it.
func TestLockedKey(t *testing.T) {
	ks := Keystore{Dir: filepath.Join(t.TempDir(), "keys"), Now: later(day)}
	made, err := ks.Generate("alice@example.com", "alice@example.com", []byte("open sesame"), born(), rand.Reader)
	require.NoError(t, err)
	require.NoError(t, Verify(made.Public(), NamespaceGit, []byte("x"), mustSign(t, made, NamespaceGit, "x")))
	text, err := os.ReadFile(filepath.Join(ks.Dir, "alice@example.com.asc"))
	require.NoError(t, err)

	public, err := ks.Public("alice@example.com")
	require.NoError(t, err)
	assert.Equal(t, made.KID(), public.KID())
	infos, err := ks.List()
	require.NoError(t, err)
	require.Len(t, infos, 1)
	assert.NoError(t, infos[0].Err)
	for name, opts := range map[string]Options{
		"by name": {Agent: "alice@example.com", Keystore: ks},
		"by id":   {Key: made.KID(), Keystore: ks},
		"by env":  {Env: string(text), Keystore: ks},
	} {
		_, err := OpenSigner(t.Context(), opts)
		refused(t, err, "key_locked")
		assert.Equal(t, fault.Unavailable, fault.CodeOf(err), name)
	}
	_, err = ks.Generate("alice@example.com", "x", nil, born(), rand.Reader)
	refused(t, err, "key_locked")

	for passphrase, reason := range map[string]string{"": "key_locked", "open sesam": "key_locked", "open sesame": ""} {
		asked := KID("")
		ks.Passphrase = func(kid KID) ([]byte, error) { asked = kid; return []byte(passphrase), nil }
		s, err := ks.Load("alice@example.com")
		assert.Equal(t, made.KID(), asked)
		if reason != "" {
			refused(t, err, reason)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, Verify(public, NamespaceGit, []byte("x"), mustSign(t, s, NamespaceGit, "x")))
		raw, err := Seal([]byte("text"), []PublicKey{public}, born().Add(day), rand.Reader)
		require.NoError(t, err)
		got, err := Unseal(t.Context(), s, raw, 4)
		require.NoError(t, err)
		assert.Equal(t, "text", string(got))
	}
}

// A key file must be a regular file of limited size, so that a command neither waits for a pipe nor reads a
// device without end.
func TestKeyFileIsAFile(t *testing.T) {
	dir := t.TempDir()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(large, nil, 0o600))
	require.NoError(t, os.Truncate(large, 1<<40))
	for path, want := range map[string]string{
		pipe: "is not a regular file", "/dev/zero": "is not a regular file", dir: "is not a regular file",
		large: "is neither an armored OpenPGP private key nor an OpenSSH one",
	} {
		_, err := OpenSigner(t.Context(), Options{Key: path})
		assert.Equal(t, fault.Invalid, fault.CodeOf(err), path)
		assert.ErrorContains(t, err, want)
	}
}
