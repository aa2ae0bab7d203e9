package crossrepo_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"githandoff/internal/crossrepo"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// clock is shared by everybody at a venue.
type clock struct{ seconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.seconds.Store(time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC).Unix())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(c.seconds.Load(), 0).UTC() }
func (c *clock) pass(d time.Duration) { c.seconds.Add(int64(d / time.Second)) }

// venue is one home and how to get to it.
type venue struct {
	at  *gittest.Repo // the repository that is the home
	env []string
	url string // of the hub; empty where the home is local
	*clock

	trusted []sign.TrustEntry
	seats   []*seat
}

// seat is where one agent works: a clone of its own where the home is a hub.
type seat struct {
	*workspace.Workspace
	name string
	home lifecycle.Home
	git  *gittest.Repo
	held map[string]bool // nonces it recorded
}

// localVenue is one repository in which everybody works.
func localVenue(t testing.TB) *venue {
	t.Helper()
	env := gittest.Env(t)
	return &venue{at: gittest.NewRepo(t, env), env: env, clock: newClock()}
}

// hubVenue is a hub behind a transport.
func hubVenue(t testing.TB, tr gittest.Transport) *venue {
	t.Helper()
	env, root := gittest.Env(t), t.TempDir()
	hub := gittest.NewBareAt(t, env, filepath.Join(root, "team/hub.git"))
	base, client := tr.Serve(t, env, root)
	return &venue{at: hub, env: client, url: base + "/team/hub.git", clock: newClock()}
}

// byPath is the transport of tests that are not about transports.
func byPath() gittest.Transport { return gittest.Transports()[0] }

func newKey(t testing.TB) sign.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	signer, err := sign.OpenSigner(t.Context(), sign.Options{Env: string(pem.EncodeToMemory(block))})
	require.NoError(t, err)
	return signer
}

// seat gives somebody a place to work. Without a key it is a stranger's; roles
// are those of a sender and a recipient unless others are given.
func (v *venue) seat(t testing.TB, name string, roles ...string) *seat {
	t.Helper()
	if roles == nil {
		roles = []string{sign.RoleSender, sign.RoleRecipient}
	}
	s := v.clone(t, name, newKey(t))
	entry := sign.TrustEntry{KID: s.Engine.Author.Signer.KID(), Key: s.Engine.Author.Signer.Public().Text(), Roles: roles}
	if strings.Contains(name, "@") {
		entry.Principals = []string{"user:" + name}
	} else {
		entry.Agents = []string{name}
	}
	v.trusted = append(v.trusted, entry)
	v.spread(t)
	return s
}

// clone is another place of work with a key that is there already.
func (v *venue) clone(t testing.TB, name string, key sign.Signer) *seat {
	t.Helper()
	git := v.at
	if v.url != "" {
		git = gittest.NewRepo(t, v.env)
		git.Git(t, "remote", "add", "origin", v.url)
	}
	return v.sit(t, name, key, git)
}

// sit opens a clone that is there.
func (v *venue) sit(t testing.TB, name string, key sign.Signer, git *gittest.Repo) *seat {
	t.Helper()
	repo, err := refs.Open(t.Context(), &gitexec.Runner{Dir: git.Dir, Env: gitexec.Environ(v.env)})
	require.NoError(t, err)
	t.Cleanup(repo.Close)
	own := t.TempDir()
	s := &seat{name: name, git: git, held: map[string]bool{}}
	s.Workspace = &workspace.Workspace{
		Homes: workspace.Homes{
			Repo: repo, Aliases: crossrepo.Aliases{Repo: repo},
			Local: &lifecycle.LocalHome{Repo: repo, RepoID: "local:" + strings.Repeat("0", 32)},
			Engine: lifecycle.New(lifecycle.Setup{
				Repo: repo, Signer: key, Actor: name, Now: v.now, Random: rand.Reader,
				Intents: lifecycle.Intents{Dir: filepath.Join(own, "intents")},
			}),
			OnWarn: func(err error) { t.Logf("%s is warned: %v", name, err) },
		},
		Agent:  name,
		Claims: work.Claims{Dir: filepath.Join(own, "claims"), Lock: filepath.Join(own, "lock")},
	}
	s.home = s.Local
	if v.url != "" {
		hub, err := s.Hub(t.Context(), "origin")
		require.NoError(t, err)
		s.home = hub
	}
	v.seats = append(v.seats, s)
	v.spread(t)
	return s
}

// spread gives everybody the same trust.
func (v *venue) spread(t testing.TB) {
	t.Helper()
	trust, err := sign.NewTrust(v.trusted...)
	require.NoError(t, err)
	for _, s := range v.seats {
		s.Engine.Keys.Trust = trust
	}
}

func (v *venue) envelope(t testing.TB, from, to string) *handoff.Envelope {
	t.Helper()
	id, err := handoff.NewID(v.now(), rand.Reader)
	require.NoError(t, err)
	salt, err := handoff.NewSalt(rand.Reader)
	require.NoError(t, err)
	return &handoff.Envelope{
		Schema: handoff.Schema, ID: id, Salt: salt, CreatedAt: handoff.FormatTime(v.now()),
		ExpiresAt: handoff.FormatTime(v.now().Add(lifecycle.DefaultTTL)), Task: "LIN-423",
		Source: handoff.Source{Agent: from}, Target: handoff.Target{Agent: &to},
		Status: handoff.StatusComplete, Goal: "Fix the login", Summary: "Nil session in auth.go",
	}
}

// prepare signs a handoff of s for to, at the venue's home.
func (v *venue) prepare(t testing.TB, s *seat, to string) *lifecycle.Payload {
	t.Helper()
	p, err := s.Engine.Author.Prepare(t.Context(), s.home, v.envelope(t, s.name, to), "")
	require.NoError(t, err)
	return p
}

// offer makes an open handoff.
func (v *venue) offer(t testing.TB, s *seat, to string) lifecycle.Place {
	t.Helper()
	p := v.prepare(t, s, to)
	state, err := s.Engine.Offer(t.Context(), s.home, p)
	require.NoError(t, err)
	require.Equal(t, lifecycle.Open, state.Phase())
	return lifecycle.Place{Agent: p.Agent, ID: p.Record.ID}
}

// tryClaim remembers the claim before it leaves, as a workspace does.
func (s *seat) tryClaim(ctx context.Context, p lifecycle.Place) (*lifecycle.Verified, lifecycle.ClaimProof, error) {
	h := lifecycle.ClaimProof{Place: p}
	v, err := s.Engine.Claim(ctx, s.home, lifecycle.ClaimRequest{
		Place: p, ByID: true, Mine: func(nonce string) bool { return s.held[nonce] },
		Record: func(r *record.Record) error { h.Nonce, s.held[r.Nonce] = r.Nonce, true; return nil },
	})
	if err == nil {
		h.Nonce = v.State().Claim.Nonce
	}
	return v, h, err
}

func (s *seat) mustClaim(t testing.TB, p lifecycle.Place) lifecycle.ClaimProof {
	t.Helper()
	_, h, err := s.tryClaim(t.Context(), p)
	require.NoError(t, err)
	return h
}

// look reads the state at the home, freshly.
func (s *seat) look(t testing.TB, p lifecycle.Place) *lifecycle.State {
	t.Helper()
	require.NoError(t, s.home.Refresh(t.Context(), crossrepo.WholeHandoff(p)))
	state, err := s.Engine.Reader.Load(t.Context(), s.home, p)
	require.NoError(t, err)
	return state
}

// inbox is what the home itself says of a handoff's inbox ref: "" if it is not
// there.
func (v *venue) inbox(t testing.TB, p lifecycle.Place) string {
	t.Helper()
	return v.at.Git(t, "for-each-ref", "--format=%(objectname)", refs.LocalNamespace.Inbox(p.Agent, p.ID))
}

// log is what the home itself says of a handoff's lane, oldest first.
func (v *venue) log(t testing.TB, id handoff.ID) []string {
	t.Helper()
	lane := refs.LocalNamespace.Lane(id)
	if v.at.Git(t, "for-each-ref", lane) == "" {
		return nil
	}
	var events []string
	for line := range strings.Lines(v.at.Git(t, "log", "--reverse", "--format=%s", lane)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == string(id) {
			events = append(events, f[0])
		}
	}
	return events
}

// splitLines takes "name oid" lines apart.
func splitLines(s string) [][2]string {
	var list [][2]string
	for line := range strings.Lines(s) {
		if name, oid, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			list = append(list, [2]string{name, oid})
		}
	}
	return list
}
