// Package enginetest sets up tests of the packages below the program: those that sign,
// store, read and check handoffs. It does not import internal/lifecycle, so that the tests
// of that package can use it; they make their engines themselves.
//
//	f := enginetest.New(t)
//	repo := enginetest.Open(t, f.Hub)
//	key := enginetest.NewKey(t)
//	f.Pin(t, enginetest.Entry(key, "fixer", sign.RoleRecipient))
package enginetest

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Fixture is a user with one home of handoffs, which is the repository Hub; the clock of
// everybody who works there; and the one list of keys that they trust.
type Fixture struct {
	*gittest.Fixture
	Clock
	Random  io.Reader         // source of ids and salts
	Trusted []sign.TrustEntry // keys that all repositories trust; call Spread after a change
	follow  []func(*sign.Trust)
	lanes   map[string]bool // lanes of the ids that NewID made
}

// New makes a fixture whose home is a hub.
func New(t testing.TB) *Fixture {
	t.Helper()
	f := &Fixture{Fixture: gittest.NewFixture(t), Random: rand.Reader, lanes: map[string]bool{}}
	f.Set(Start())
	return f
}

// NewLocal makes a fixture whose home is a repository with a work tree and one commit. No
// URL leads to it.
func NewLocal(t testing.TB) *Fixture {
	t.Helper()
	f := New(t)
	f.Hub, f.URL = f.NewRepo(t, "local"), ""
	return f
}

// Open opens a repository as a command does, until the test ends.
func Open(t testing.TB, r *gittest.Repo) *refs.Repo {
	t.Helper()
	repo, err := refs.Open(t.Context(), &gitexec.Runner{Dir: r.Dir, Env: gitexec.Environ(r.Env)})
	require.NoError(t, err)
	t.Cleanup(repo.Close)
	return repo
}

// NewKey makes an SSH key that nobody trusts.
func NewKey(t testing.TB) sign.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return KeyOf(t, private)
}

// KeyOf makes the SSH key that signs with a private key.
func KeyOf(t testing.TB, private ed25519.PrivateKey) sign.Signer {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	signer, err := sign.OpenSigner(t.Context(), sign.Options{Env: string(pem.EncodeToMemory(block))})
	require.NoError(t, err)
	return signer
}

// Entry trusts a key in these roles. A name that no agent can have, such as a mail address,
// is that of a person.
func Entry(key sign.Signer, name string, roles ...string) sign.TrustEntry {
	entry := sign.TrustEntry{KID: key.KID(), Key: key.Public().Text(), Roles: roles}
	if handoff.CheckAgent(name) == nil {
		entry.Agents = []string{name}
	} else {
		entry.Principals = []string{"user:" + name}
	}
	return entry
}

// SignCommit signs a commit with a key. A commit without an address gets the one of its
// record's actor. Parents that are "" are left out.
func SignCommit(t testing.TB, key sign.Signer, c *record.Commit) *refs.Object {
	t.Helper()
	c.Email = cmp.Or(c.Email, sign.Mail(c.Record.Actor))
	c.Parents = slices.DeleteFunc(slices.Clone(c.Parents), func(p string) bool { return p == "" })
	signature, err := key.Sign(t.Context(), sign.NamespaceGit, c.Payload())
	require.NoError(t, err)
	c.Signature = signature
	return refs.NewObject(gitobj.FormatOf(c.Tree), "commit", c.Encode())
}

// Pin lets everybody trust a key.
func (f *Fixture) Pin(t testing.TB, entry sign.TrustEntry) {
	t.Helper()
	f.Trusted = append(f.Trusted, entry)
	f.Spread(t)
}

// Trust returns the trust list as it is now.
func (f *Fixture) Trust(t testing.TB) *sign.Trust {
	t.Helper()
	trust, err := NewTrust(f.Trusted...)
	require.NoError(t, err)
	return trust
}

// NewTrust makes the trust list of entries, from a file that is removed again.
func NewTrust(entries ...sign.TrustEntry) (*sign.Trust, error) {
	b, err := sign.EncodeEntries(entries)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "trust")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "trust.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return nil, err
	}
	return sign.LoadTrust(path, "")
}

// Follow gives somebody the trust list, now and after each change.
func (f *Fixture) Follow(t testing.TB, set func(*sign.Trust)) {
	t.Helper()
	f.follow = append(f.follow, set)
	f.Spread(t)
}

// Spread gives the trust list to everybody who follows it.
func (f *Fixture) Spread(t testing.TB) {
	t.Helper()
	trust := f.Trust(t)
	for _, set := range f.follow {
		set(trust)
	}
}

// TTL is the lifetime of an envelope: lifecycle.DefaultTTL.
const TTL = 7 * 24 * time.Hour

// NewID makes an id in a lane in which the fixture has made none yet, as long as there is one. Of
// random ids, one pair in 1,024 shares a lane, which a test of two lanes must not meet.
func (f *Fixture) NewID(t testing.TB) handoff.ID {
	t.Helper()
	if len(f.lanes) == handoff.MaxLanes {
		clear(f.lanes)
	}
	for {
		id, err := handoff.NewID(f.Now(), f.Random)
		require.NoError(t, err)
		if !f.lanes[id.Lane()] {
			f.lanes[id.Lane()] = true
			return id
		}
	}
}

// Envelope returns a complete one, with an id of NewID. Without a recipient, handoff.Nobody, it waits
// for a decision.
func (f *Fixture) Envelope(t testing.TB, from, to string) *handoff.Envelope {
	t.Helper()
	id := f.NewID(t)
	salt, err := handoff.RandomHex(f.Random)
	require.NoError(t, err)
	env := &handoff.Envelope{
		Schema: handoff.Schema, ID: id, Salt: salt, CreatedAt: handoff.FormatTime(f.Now()),
		ExpiresAt: handoff.FormatTime(f.Now().Add(TTL)), Task: "LIN-423",
		Source: handoff.Source{Agent: from}, Target: handoff.Target{Agent: &to},
		Status: handoff.StatusComplete, Goal: "Fix the login", Summary: "Nil session in auth.go", CompletedSteps: []string{"read the log"},
	}
	if to == handoff.Nobody {
		env.Target.Agent = nil
	}
	return env
}

// Start returns when the clock of a fixture begins.
func Start() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

// Clock stands still until a test moves it. Goroutines may share it.
type Clock struct{ nanoseconds atomic.Int64 }

// Now returns the time on the clock, in UTC.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanoseconds.Load()).UTC() }

// Set puts the clock to a time.
func (c *Clock) Set(to time.Time) { c.nanoseconds.Store(to.UnixNano()) }

// Pass moves the clock on.
func (c *Clock) Pass(d time.Duration) { c.nanoseconds.Add(int64(d)) }
