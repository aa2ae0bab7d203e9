package attack

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/sign"
)

// scene is a hub that everybody may push to, and the clone in which fixer
// receives. Whom fixer trusts is in its trust list; what an attacker does, he
// does at the hub.
type scene struct {
	mail string // of the authors of what is forged, if not that of their names

	dir, binary string
	env         []string
	hub, fixer  *gittest.Repo
	home        string // repo id of the hub
	keys        sign.Keystore
	boss        sign.Signer // trusted as sender
	mallory     sign.Signer // known to gpg, trusted by nobody
}

// long is how old the keys of a scene are: old enough for records of yesterday.
const long = 30 * 24 * time.Hour

func newScene(t testing.TB) *scene {
	t.Helper()
	gittest.Need(t, "gpg", "ssh-keygen")
	s := &scene{dir: t.TempDir(), binary: gittest.BuildBinary(t), env: gittest.Env(t)}
	s.keys = sign.NewKeystore(func(name string) string { return gittest.Getenv(s.env, name) })
	s.hub = gittest.NewBareAt(t, s.env, filepath.Join(s.dir, "hub.git"))
	s.boss, s.mallory = s.key(t, "boss"), s.key(t, "mallory")
	s.key(t, "fixer")
	s.fixer = s.clone(t, "fixer", s.hub)
	s.must(t, s.fixer, "init", "--as", "fixer")
	s.trust(t, "boss")
	s.home = s.fixer.Git(t, "config", "handoffrepo.origin.id")
	return s
}

// newHouse is a scene without a hub: fixer's repository is the home itself, and
// whoever works in another worktree of it may write its refs.
func newHouse(t testing.TB) *scene {
	t.Helper()
	s := &scene{dir: t.TempDir(), binary: gittest.BuildBinary(t), env: gittest.Env(t)}
	s.keys = sign.NewKeystore(func(name string) string { return gittest.Getenv(s.env, name) })
	s.fixer = gittest.NewRepo(t, s.env)
	s.fixer.Commit(t, "README", "one\n", "first")
	s.hub = s.fixer
	s.boss = s.key(t, "boss")
	s.key(t, "fixer")
	s.must(t, s.fixer, "init", "--as", "fixer")
	s.trust(t, "boss")
	s.home = s.fixer.Git(t, "config", "handoff.repoid")
	return s
}

// key makes an agent's key that is long old; git can check what it signs.
func (s *scene) key(t testing.TB, name string) sign.Signer {
	t.Helper()
	k, err := s.keys.Generate(name, name, time.Now().Add(-long), rand.Reader)
	require.NoError(t, err)
	s.importKey(t, k)
	return k
}

// importKey puts a public key into everybody's gpg keyring.
func (s *scene) importKey(t testing.TB, k sign.Signer) {
	t.Helper()
	cmd := exec.Command("gpg", "--batch", "--quiet", "--import")
	cmd.Env, cmd.Stdin = s.env, strings.NewReader(k.Public().Text())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// trust lets fixer trust a key of the keystore; args go to trust add.
func (s *scene) trust(t testing.TB, args ...string) {
	t.Helper()
	s.must(t, s.fixer, append([]string{"trust", "add"}, args...)...)
}

func (s *scene) clone(t testing.TB, name string, of *gittest.Repo) *gittest.Repo {
	t.Helper()
	r := &gittest.Repo{Dir: filepath.Join(s.dir, name), Env: s.env}
	require.NoError(t, os.Mkdir(r.Dir, 0o755))
	r.Git(t, "clone", "--quiet", "--template=", "--", of.Dir, ".")
	return r
}

// result is what came of one githandoff.
type result struct {
	out, diag string
	code      int
}

// refusal is the object that --json prints on standard error.
type refusal struct {
	Code                  int
	Reason, Message, Hint string
}

// refusal reads it from the last line.
func (r result) refusal(t testing.TB) refusal {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(r.diag), "\n")
	var body struct{ Error refusal }
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &body), "exit %d\n%s%s", r.code, r.out, r.diag)
	assert.Equal(t, r.code, body.Error.Code, "the exit code and the one that is printed")
	return body.Error
}

func (s *scene) run(t testing.TB, in *gittest.Repo, args ...string) result {
	t.Helper()
	var out, diag bytes.Buffer
	cmd := exec.Command(s.binary, args...)
	cmd.Dir, cmd.Env = in.Dir, s.env
	cmd.Stdout, cmd.Stderr = &out, &diag
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return result{out.String(), diag.String(), cmd.ProcessState.ExitCode()}
}

// must runs githandoff, which has to succeed, and returns its output.
func (s *scene) must(t testing.TB, in *gittest.Repo, args ...string) string {
	t.Helper()
	r := s.run(t, in, args...)
	require.Zero(t, r.code, "githandoff %s\n%s%s", strings.Join(args, " "), r.out, r.diag)
	return strings.TrimSpace(r.out)
}

// object writes a loose object of any bytes, as everybody can who has a disk:
// git itself checks no more when it reads one.
func object(t testing.TB, repo *gittest.Repo, kind string, body []byte) string {
	t.Helper()
	plain := append(fmt.Appendf(nil, "%s %d\x00", kind, len(body)), body...)
	oid := fmt.Sprintf("%x", sha1.Sum(plain))
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

// raw is the body of an object.
func raw(t testing.TB, repo *gittest.Repo, name string) []byte {
	t.Helper()
	cmd := exec.Command("git", "cat-file", repo.Git(t, "cat-file", "-t", name), name)
	cmd.Dir, cmd.Env = repo.Dir, repo.Env
	out, err := cmd.Output()
	require.NoError(t, err)
	return out
}
