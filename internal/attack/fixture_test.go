package attack

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/sign"
)

// fixture is a hub to which everybody may push, and the clone in which fixer receives.
// The trust list of fixer says which senders it trusts. An attacker acts at the hub.
type fixture struct {
	*gittest.Fixture
	mail  string          // of the authors of forged commits, if it is not derived from their names
	lanes map[string]bool // of forged handoffs: each has its own, so that none is judged by the other

	fixer   *gittest.Repo
	home    string // repo id of the hub
	keys    sign.Keystore
	boss    sign.Signer // trusted as sender
	mallory sign.Signer // known to gpg, trusted by nobody

	// alice is a root for herself, within repo.*; planner gets work from her and hands it
	// on to fixer. fixer trusts them after trustAlice.
	alice, planner sign.Signer
}

// keyAge is old enough for records of yesterday.
const keyAge = 30 * 24 * time.Hour

// newFixture makes the hub, fixer and the keys.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	gittest.Need(t, "gpg", "ssh-keygen")
	f := newUser(t)
	f.fixer = f.Agent(t, "fixer", "boss")
	f.home = f.fixer.Git(t, "config", "handoffrepo.origin.id")
	return f
}

// newLocalFixture returns a fixture without a hub: fixer's repository is the home, and whoever works in
// another worktree of it may write its refs.
func newLocalFixture(t testing.TB) *fixture {
	t.Helper()
	f := newUser(t)
	f.fixer = f.NewRepo(t, "fixer")
	f.Hub = f.fixer
	f.fixer.Must(t, "init", "--as", "fixer")
	f.trust(t, "boss")
	f.home = f.fixer.Git(t, "config", "handoff.repoid")
	return f
}

// newUser returns a fixture of a user whose keys git can check.
func newUser(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{Fixture: gittest.NewFixture(t), lanes: map[string]bool{}}
	f.keys = keystore(f.Env)
	made, err := keysOnce()
	require.NoError(t, err)
	made.keys.Write(t, f.keys.Dir)
	made.gnupg.Write(t, gittest.Getenv(f.Env, "GNUPGHOME"))
	for name, key := range map[string]*sign.Signer{"boss": &f.boss, "mallory": &f.mallory, "alice": &f.alice, "planner": &f.planner} {
		*key, err = f.keys.Load(name)
		require.NoError(t, err)
	}
	return f
}

func keystore(env []string) sign.Keystore {
	return sign.NewKeystore(func(name string) string { return gittest.Getenv(env, name) })
}

// userKeys holds the keys of all fixtures of this process, in a keystore and in a keyring.
type userKeys struct{ keys, gnupg gittest.Template }

var keysOnce = sync.OnceValues(func() (*userKeys, error) {
	dir, err := os.MkdirTemp("/tmp", "gh-") // see gittest.Env
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	env := append(os.Environ(), "XDG_DATA_HOME="+dir, "GNUPGHOME="+dir)
	ks := keystore(env)
	for _, name := range []string{"boss", "mallory", "fixer", "alice", "planner"} {
		key, err := ks.Generate(name, name, nil, time.Now().Add(-keyAge), rand.Reader)
		if err != nil {
			return nil, err
		}
		if err := importKey(env, key); err != nil {
			return nil, err
		}
	}
	all := &userKeys{}
	if all.keys, err = gittest.ReadTemplate(ks.Dir); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(filepath.Dir(ks.Dir)); err != nil {
		return nil, err
	}
	all.gnupg, err = gittest.ReadTemplate(dir)
	return all, err
})

// importKey puts a public key into the user's gpg keyring.
func importKey(env []string, k sign.Signer) error {
	cmd := exec.Command("gpg", "--batch", "--quiet", "--import")
	cmd.Env, cmd.Stdin = env, strings.NewReader(k.Public().Text())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gpg --import: %w\n%s", err, out)
	}
	return nil
}

// newKey makes an agent's key that is old; git can check its signatures.
func (s *fixture) newKey(t testing.TB, name string) sign.Signer {
	t.Helper()
	k, err := s.keys.Generate(name, name, nil, time.Now().Add(-keyAge), rand.Reader)
	require.NoError(t, err)
	require.NoError(t, importKey(s.Env, k))
	return k
}

// trust lets fixer trust a key of the keystore; args go to trust add.
func (s *fixture) trust(t testing.TB, args ...string) {
	t.Helper()
	s.fixer.Must(t, append([]string{"trust", "add"}, args...)...)
}

// refusal is the object that --json prints on standard error.
type refusal struct {
	Code                  int
	Reason, Message, Hint string
}

// refusalOf reads a refusal from the last line of standard error.
func refusalOf(t testing.TB, r gittest.Result) refusal {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
	var body struct{ Error refusal }
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &body), "%s", r)
	assert.Equal(t, r.Code, body.Error.Code, "the exit code and the one that is printed")
	return body.Error
}

// object writes a loose object of any bytes, as everybody with a disk can. git does not check more when
// it reads one.
func object(t testing.TB, repo *gittest.Repo, kind string, body []byte) string {
	t.Helper()
	plain := append(fmt.Appendf(nil, "%s %d\x00", kind, len(body)), body...)
	oid := gittest.Objects().Hash(kind, body)
	path := filepath.Join(gitDir(repo), "objects", oid[:2], oid[2:])
	if _, err := os.Stat(path); err == nil {
		return oid
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, err := z.Write(plain)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, packed.Bytes(), 0o444))
	return oid
}

func gitDir(repo *gittest.Repo) string {
	if dir := filepath.Join(repo.Dir, ".git"); exists(dir) {
		return dir
	}
	return repo.Dir
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// entry is one line of a tree.
type entry struct{ mode, name, oid string }

// tree makes a tree of any entries; what they name may be missing.
func tree(t testing.TB, repo *gittest.Repo, entries ...entry) string {
	t.Helper()
	var body []byte
	for _, e := range entries {
		oid, err := hex.DecodeString(e.oid)
		require.NoError(t, err)
		body = append(fmt.Appendf(body, "%s %s\x00", e.mode, e.name), oid...)
	}
	return object(t, repo, "tree", body)
}

// raw returns the body of an object.
func raw(t testing.TB, repo *gittest.Repo, name string) []byte {
	t.Helper()
	body, stderr, code := repo.TryGit("cat-file", repo.Git(t, "cat-file", "-t", name), name)
	require.Zero(t, code, stderr)
	return []byte(body)
}
