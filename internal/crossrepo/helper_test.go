package crossrepo_test

import (
	"context"
	"crypto/rand"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/enginetest"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// fixture is one home and the agents that work there. If the home is a hub, each agent has a clone of its own.
type fixture struct {
	*enginetest.Fixture
	prefix string // of the refs at the hub; "" for the usual one
}

// agent is an agent that works in one repository.
type agent struct {
	*workspace.Workspace
	name string
	home lifecycle.Home
	git  *gittest.Repo
	held map[string]bool // nonces of the claims that the agent recorded
}

// newLocalFixture returns a repository in which all agents work.
func newLocalFixture(t testing.TB) *fixture {
	t.Helper()
	return &fixture{Fixture: enginetest.NewLocal(t)}
}

// newHubFixture returns a hub behind a transport.
func newHubFixture(t testing.TB, tr gittest.Transport) *fixture {
	t.Helper()
	f := &fixture{Fixture: enginetest.New(t)}
	f.Serve(t, tr)
	return f
}

// newBranchFixture returns a hub that accepts only branches.
func newBranchFixture(t testing.TB) *fixture {
	t.Helper()
	f := newHubFixture(t, byPath())
	f.prefix = crossrepo.BranchPrefix
	f.hook(t, "pre-receive", `while read -r old new ref; do case $ref in refs/heads/*) ;; *) echo "only branches here" >&2; exit 1;; esac; done`)
	return f
}

// byPath returns the transport of tests that are not about transports.
func byPath() gittest.Transport { return gittest.Transports()[0] }

// overTransports runs a test with a hub over each transport.
func overTransports(t *testing.T, test func(t *testing.T, v *fixture)) {
	t.Helper()
	for _, tr := range gittest.Transports() {
		t.Run(tr.Name, func(t *testing.T) {
			t.Parallel()
			test(t, newHubFixture(t, tr))
		})
	}
}

// agent makes an agent, or a person, whose key all others trust. Without roles it is a sender and a recipient.
func (v *fixture) agent(t testing.TB, name string, roles ...string) *agent {
	t.Helper()
	if roles == nil {
		roles = []string{sign.RoleSender, sign.RoleRecipient}
	}
	s := v.clone(t, name, enginetest.NewKey(t))
	v.Pin(t, enginetest.Entry(s.Engine.Author.Signer, name, roles...))
	return s
}

// clone makes another place of work for a key that exists already.
func (v *fixture) clone(t testing.TB, name string, key sign.Signer) *agent {
	t.Helper()
	git := v.Hub
	if v.URL != "" {
		git = gittest.NewRepo(t, v.Env)
		git.Git(t, "remote", "add", "origin", v.URL)
	}
	if v.prefix != "" {
		git.Git(t, "config", "handoffrepo.origin.prefix", v.prefix)
	}
	return v.open(t, name, key, git)
}

// open returns an agent that works in an existing clone.
func (v *fixture) open(t testing.TB, name string, key sign.Signer, git *gittest.Repo) *agent {
	t.Helper()
	repo := enginetest.Open(t, &gittest.Repo{Dir: git.Dir, Env: v.Env})
	own := t.TempDir()
	s := &agent{name: name, git: git, held: map[string]bool{}}
	s.Workspace = &workspace.Workspace{
		Homes: workspace.Homes{
			Repo: repo, Aliases: crossrepo.Aliases{Repo: repo},
			Local: &lifecycle.LocalHome{Repo: repo, RepoID: "local:" + strings.Repeat("0", 32)},
			Engine: lifecycle.New(lifecycle.Setup{
				Repo: repo, Signer: key, Actor: name, Now: v.Now, Random: rand.Reader,
				Intents: lifecycle.Intents{Dir: filepath.Join(own, "intents")},
			}),
			OnWarn: func(err error) { t.Logf("%s is warned: %v", name, err) },
		},
		Agent:  name,
		Claims: work.Claims{GitDir: own, Common: own},
	}
	s.home = s.Local
	if v.URL != "" {
		hub, err := s.Hub(t.Context(), "origin")
		require.NoError(t, err)
		s.home = hub
	}
	v.Follow(t, func(trust *sign.Trust) { s.Engine.Keys.Trust = trust })
	return s
}

// prepare signs a handoff of s for to, at the fixture's home.
func (v *fixture) prepare(t testing.TB, s *agent, to string) *lifecycle.Payload {
	t.Helper()
	p, err := s.Engine.Author.Prepare(t.Context(), s.home, v.Envelope(t, s.name, to), "")
	require.NoError(t, err)
	return p
}

// offer delivers a handoff of s for to, and returns its place.
func (v *fixture) offer(t testing.TB, s *agent, to string) lifecycle.Place {
	t.Helper()
	p := v.prepare(t, s, to)
	state, err := s.Engine.Offer(t.Context(), s.home, p)
	require.NoError(t, err)
	require.Equal(t, lifecycle.Open, state.Phase())
	return lifecycle.Place{Agent: p.Agent, ID: p.Record.ID}
}

// tryClaim claims a handoff. It records the claim before it is sent, as a workspace does.
func (s *agent) tryClaim(ctx context.Context, p lifecycle.Place) (*lifecycle.Verified, lifecycle.ClaimProof, error) {
	h := lifecycle.ClaimProof{Place: p}
	v, err := s.Engine.Claim(ctx, s.home, lifecycle.ClaimRequest{
		Place: p, ByID: true, Nonces: slices.Collect(maps.Keys(s.held)),
		Record: func(r *record.Record) error { h.Nonce, s.held[r.Nonce] = r.Nonce, true; return nil },
	})
	if err == nil {
		h.Nonce = v.State().Claim.Nonce
	}
	return v, h, err
}

func (s *agent) mustClaim(t testing.TB, p lifecycle.Place) lifecycle.ClaimProof {
	t.Helper()
	_, h, err := s.tryClaim(t.Context(), p)
	require.NoError(t, err)
	return h
}

// look refreshes and reads the state at the home.
func (s *agent) look(t testing.TB, p lifecycle.Place) *lifecycle.State {
	t.Helper()
	require.NoError(t, s.home.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	state, err := s.Engine.Reader.Load(t.Context(), s.home, p)
	require.NoError(t, err)
	return state
}

// inbox returns the commit of a handoff's inbox ref at the home itself; "" if there is no such ref.
func (v *fixture) inbox(t testing.TB, p lifecycle.Place) string {
	t.Helper()
	return v.Hub.Git(t, "for-each-ref", "--format=%(objectname)", v.namespace().Inbox(p.Agent, p.ID))
}

// namespace returns the namespace of the refs at the home.
func (v *fixture) namespace() refs.Namespace {
	if v.prefix == "" {
		return refs.LocalNamespace
	}
	return refs.Namespace(v.prefix + "/")
}

// log returns the events of a handoff in its lane at the home itself, oldest first.
func (v *fixture) log(t testing.TB, id handoff.ID) []string {
	t.Helper()
	lane := v.namespace().Lane(id)
	if v.Hub.Git(t, "for-each-ref", lane) == "" {
		return nil
	}
	var events []string
	for line := range strings.Lines(v.Hub.Git(t, "log", "--reverse", "--format=%s", lane)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == string(id) {
			events = append(events, f[0])
		}
	}
	return events
}

// splitLines splits lines of a name and an object id.
func splitLines(s string) [][2]string {
	var list [][2]string
	for line := range strings.Lines(s) {
		if name, oid, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok {
			list = append(list, [2]string{name, oid})
		}
	}
	return list
}
