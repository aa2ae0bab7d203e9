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

// Fixture is a user with one home of handoffs, which is the repository Hub, a clock, and a trust list, which
// everybody who works there shares.
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

// NewLocal makes a fixture whose home is a repository with a work tree and one commit. The home has no URL.
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

// NewKey makes an SSH key that no trust list contains.
func NewKey(t testing.TB) sign.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return KeyOf(t, private)
}

// KeyOf makes an SSH key from a private key.
func KeyOf(t testing.TB, private ed25519.PrivateKey) sign.Signer {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	signer, err := sign.OpenSigner(t.Context(), sign.Options{Env: string(pem.EncodeToMemory(block))})
	require.NoError(t, err)
	return signer
}

// Entry returns an entry that trusts a key in these roles. If no agent can have the name, as with a mail
// address, it is that of a person.
func Entry(key sign.Signer, name string, roles ...string) sign.TrustEntry {
	entry := sign.TrustEntry{KID: key.KID(), Key: key.Public().Text(), Roles: roles}
	if handoff.CheckAgent(name) == nil {
		entry.Agents = []string{name}
	} else {
		entry.Principals = []string{"user:" + name}
	}
	return entry
}

// SignCommit signs a commit with a key. A commit without a mail address gets the one of its record's actor.
// Parents that are "" are left out.
func SignCommit(t testing.TB, key sign.Signer, c *record.Commit) *refs.Object {
	t.Helper()
	c.Email = cmp.Or(c.Email, sign.Mail(c.Record.Actor))
	c.Parents = slices.DeleteFunc(slices.Clone(c.Parents), func(p string) bool { return p == "" })
	signature, err := key.Sign(t.Context(), sign.NamespaceGit, c.Payload())
	require.NoError(t, err)
	c.Signature = signature
	return refs.NewObject(gitobj.FormatOf(c.Tree), "commit", c.Encode())
}

// Pin adds a key to the trust list of everybody.
func (f *Fixture) Pin(t testing.TB, entry sign.TrustEntry) {
	t.Helper()
	f.Trusted = append(f.Trusted, entry)
	f.Spread(t)
}

// Trust returns the current trust list.
func (f *Fixture) Trust(t testing.TB) *sign.Trust {
	t.Helper()
	trust, err := NewTrust(f.Trusted...)
	require.NoError(t, err)
	return trust
}

// NewTrust makes a trust list of entries, by way of a temporary file.
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

// Follow calls set with the trust list now and after each change.
func (f *Fixture) Follow(t testing.TB, set func(*sign.Trust)) {
	t.Helper()
	f.follow = append(f.follow, set)
	f.Spread(t)
}

// Spread passes the trust list to everybody who follows it.
func (f *Fixture) Spread(t testing.TB) {
	t.Helper()
	trust := f.Trust(t)
	for _, set := range f.follow {
		set(trust)
	}
}

// TTL is the lifetime of an envelope: lifecycle.DefaultTTL.
const TTL = 7 * 24 * time.Hour

// NewID makes an id in a lane in which the fixture has made none yet, as long as there is such a lane. One pair
// of random ids in 1,024 shares a lane, which would break a test that needs two lanes.
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

// Envelope returns a complete envelope with an id of NewID. An envelope to handoff.Nobody waits for a decision.
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

// Start returns the time at which the clock of a fixture starts.
func Start() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

// Clock is a clock that stands still until a test moves it. It may be shared by goroutines.
type Clock struct{ nanoseconds atomic.Int64 }

// Now returns the time of the clock, in UTC.
func (c *Clock) Now() time.Time { return time.Unix(0, c.nanoseconds.Load()).UTC() }

// Set sets the clock.
func (c *Clock) Set(to time.Time) { c.nanoseconds.Store(to.UnixNano()) }

// Pass advances the clock.
func (c *Clock) Pass(d time.Duration) { c.nanoseconds.Add(int64(d)) }
