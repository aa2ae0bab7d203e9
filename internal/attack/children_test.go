package attack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

// secret sets the secret from which fixer derives the ids of handoffs that follow.
func (s *fixture) secret(t *testing.T) string {
	t.Helper()
	const secret = "000102030405060708090a0b0c0d0e0f"
	path := filepath.Join(s.fixer.Dir, ".git", "githandoff", "id-secret")
	require.NoError(t, os.WriteFile(path, []byte(secret+"\n"), 0o600))
	return secret
}

// occupy offers a handoff of peer to boss under a given id.
func (s *fixture) occupy(t *testing.T, id handoff.ID, by forgery) forged {
	t.Helper()
	by.id = id
	by.envelope = func(e *handoff.Envelope) { *e.Target.Agent, e.Source.Agent = "boss", "peer" }
	by.record = func(r *record.Record) { r.To = "boss" }
	return s.forge(t, by)
}

// next returns the handoff that a step names as the one that follows.
func next(t *testing.T, r gittest.Result) handoff.ID {
	t.Helper()
	require.Zero(t, r.Code, "%s", r)
	var row struct{ Next handoff.ID }
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &row), "%s", r)
	require.NotEmpty(t, row.Next, "%s", r)
	return row.Next
}

// A handoff that follows from a claim has an id that only the holder's clone can tell. Whoever may
// push cannot offer another one under it before, and so keep the holder from going on.
func TestIDsOfChildrenCannotBeTold(t *testing.T) {
	t.Parallel()
	for name, step := range map[string][]string{
		"fail":    {"fail", "--reason", "no"},
		"reroute": {"reroute", "--to", "boss@origin"},
		"ack":     {"ack", "--snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			f := s.forge(t, forgery{envelope: func(e *handoff.Envelope) { e.Rollback = &handoff.Rollback{OnFailure: "boss"} }})
			s.fixer.Must(t, "resume", string(f.id))
			claim := s.last(t, f)
			parts := []string{string(f.id), claim.Nonce}
			if name == "ack" {
				parts = append(parts, "follow_up")
				require.NoError(t, os.WriteFile(filepath.Join(s.fixer.Dir, "new.txt"), []byte("work\n"), 0o644))
			}
			other := s.occupy(t, handoff.DeriveID(claim.At, parts...), forgery{by: s.newKey(t, "peer")})
			child := next(t, s.fixer.Run(t, append(step, string(f.id), "--json")...))
			assert.NotEqual(t, other.id, child)
			assert.NotEmpty(t, s.Hub.Git(t, "for-each-ref", "refs/handoffs/inbox/boss/"+string(child)))
			assert.Contains(t, s.Hub.Git(t, "log", "-1", "--format=%B", f.lane), child, "the receipt names it")
		})
	}
}

// A version from before 2026-11-29 derived the id of a reply without the secret. What it sent, or left for the hub, is the
// reply also for this version: the sender gets one handoff back.
func TestReplyOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	f := s.forge(t, forgery{})
	s.fixer.Must(t, "resume", string(f.id))
	claim := s.last(t, f)
	fixer, err := s.keys.Load("fixer")
	require.NoError(t, err)
	reply := s.forge(t, forgery{
		id: handoff.DeriveID(claim.At, string(f.id), claim.Nonce, "follow_up"), by: fixer,
		envelope: func(e *handoff.Envelope) { *e.Target.Agent, e.Source.Agent, e.Parent = "boss", "fixer", f.id },
		record:   func(r *record.Record) { r.To, r.Parent = "boss", f.id },
	})
	s.fixer.Must(t, "inbox", "--all")
	require.NoError(t, os.WriteFile(filepath.Join(s.fixer.Dir, "new.txt"), []byte("work\n"), 0o644))
	assert.Equal(t, reply.id, next(t, s.fixer.Run(t, "ack", string(f.id), "--snapshot", "--json")))
	assert.Len(t, strings.Fields(s.Hub.Git(t, "for-each-ref", "--format=%(refname)", "refs/handoffs/inbox/boss")), 1)
	assert.Contains(t, s.Hub.Git(t, "log", "-1", "--format=%B", f.lane), reply.id, "the receipt names it")
}

// A handoff that cannot go back, because another one has its id, does not stay in the outbox, where
// each sync would meet the refusal again.
func TestRefusedReplyLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	f := s.forge(t, forgery{})
	s.fixer.Must(t, "resume", string(f.id))
	claim := s.last(t, f)
	s.occupy(t, handoff.DeriveID(claim.At, string(f.id), claim.Nonce, s.secret(t), "follow_up"), forgery{by: s.newKey(t, "peer")})
	require.NoError(t, os.WriteFile(filepath.Join(s.fixer.Dir, "new.txt"), []byte("work\n"), 0o644))
	r := s.fixer.Run(t, "ack", string(f.id), "--snapshot", "--json")
	assert.Equal(t, "replayed", refusalOf(t, r).Reason)
	assert.Contains(t, refusalOf(t, r).Hint, "githandoff ack "+string(f.id))
	assert.Empty(t, s.fixer.Git(t, "for-each-ref", "refs/handoffs/outbox", "refs/handoffs/work-out", "refs/handoffs/sent"))
	s.fixer.Must(t, "sync")
	s.fixer.Must(t, "ack", string(f.id))
}

// stranded reroutes a handoff to boss at another home that is down, so that the child waits. Its id is
// known from the receipt. The other home is up again when stranded returns.
func (s *fixture) stranded(t *testing.T, args ...string) (other *gittest.Repo, parent forged, child handoff.ID) {
	t.Helper()
	other = &gittest.Repo{Dir: filepath.Join(s.Dir, "other.git"), Env: s.Env}
	s.Hub.Git(t, "init", "--quiet", "--bare", other.Dir)
	s.fixer.Must(t, "repo", "add", "other", other.Dir)
	parent = s.forge(t, forgery{})
	s.fixer.Must(t, "resume", string(parent.id))
	require.NoError(t, os.Rename(other.Dir, other.Dir+".down"))
	r := s.fixer.Run(t, append([]string{"reroute", string(parent.id), "--to", "boss@other"}, args...)...)
	require.Equal(t, 8, r.Code, "%s", r)
	require.NoError(t, os.Rename(other.Dir+".down", other.Dir))
	receipt := s.last(t, parent)
	require.Equal(t, record.Rerouted, receipt.Event)
	return other, parent, receipt.Next
}

// at returns the fixture with another hub.
func (s *fixture) at(t *testing.T, hub *gittest.Repo, alias string) *fixture {
	t.Helper()
	there := *s
	there.Fixture = &gittest.Fixture{Dir: s.Dir, Env: s.Env, Hub: hub}
	there.home = s.fixer.Git(t, "config", "handoffrepo."+alias+".id")
	return &there
}

// The receipt of a reroute to another home tells the id of the child before the child is there. An
// offer of somebody else under this id, at the home of the parent, does not make the clone drop the
// child, which waits for the other home.
func TestChildUnderWayIsNotDropped(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	peer := s.newKey(t, "peer")
	s.trust(t, "peer")
	other, f, child := s.stranded(t)
	s.occupy(t, child, forgery{by: peer})
	// As if the command had been killed right after the receipt.
	stage, err := json.Marshal(map[string]any{
		"parent": map[string]any{"Agent": "fixer", "ID": f.id}, "home": s.home,
		"child": map[string]any{"Agent": "boss", "ID": child},
	})
	require.NoError(t, err)
	dir := filepath.Join(s.fixer.Dir, ".git", "githandoff", "staged")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, string(child)+".json"), stage, 0o600))

	assert.Contains(t, s.fixer.Must(t, "sync"), "delivered")
	assert.NotEmpty(t, other.Git(t, "for-each-ref", "refs/handoffs/inbox/boss/"+string(child)))
}

// A sender whose handoff is never delivered can revoke it, even if another handoff has its id at the
// hub. The other handoff stays.
func TestOccupiedHandoffIsRevoked(t *testing.T) {
	t.Parallel()
	for name, trusted := range map[string]bool{"by a sender": true, "by a stranger": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			peer := s.newKey(t, "peer")
			if trusted {
				s.trust(t, "peer")
			}
			other, _, child := s.stranded(t)
			taken := s.at(t, other, "other").occupy(t, child, forgery{by: peer})
			s.fixer.Must(t, "revoke", string(child))
			assert.Empty(t, s.fixer.Git(t, "for-each-ref", "refs/handoffs/outbox"))
			s.fixer.Must(t, "sync")
			assert.Equal(t, taken.payload, other.Git(t, "rev-parse", taken.inbox))
			if r := s.fixer.Run(t, "revoke", string(child)); assert.NotZero(t, r.Code, "%s", r) {
				assert.Equal(t, taken.payload, other.Git(t, "rev-parse", taken.inbox), "it is not the fixer's")
			}
		})
	}
}

// The receipt of a reroute to another home tells the id of the child before it is there. Whoever may push
// there can offer another one under this id, or put any entry there. The child goes on under a new id, and
// is offered once.
func TestChildGoesOnUnderANewID(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fixture, *record.Record){
		"by a sender": func(*fixture, *record.Record) {},
		"by a stranger, in the name of the holder": func(s *fixture, r *record.Record) {
			r.Key = s.fixer.Git(t, "config", "handoff.test-key")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			peer := s.newKey(t, "peer")
			s.trust(t, "peer")
			require.NoError(t, os.WriteFile(filepath.Join(s.fixer.Dir, "new.txt"), []byte("work\n"), 0o644))
			other, parent, child := s.stranded(t, "--snapshot")
			s.fixer.Git(t, "config", "handoff.test-key", s.last(t, parent).Key)
			taken := s.at(t, other, "other").occupy(t, child, forgery{by: peer, entry: func(r *record.Record) { change(s, r) }})

			sync := s.fixer.Run(t, "sync")
			require.Zero(t, sync.Code, "%s", sync)
			assert.Contains(t, sync.Stderr, string(child)+" goes on as ho_")
			refs := strings.Fields(other.Git(t, "for-each-ref", "--format=%(refname)", "refs/handoffs/inbox"))
			refs = slices.DeleteFunc(refs, func(ref string) bool { return ref == taken.inbox })
			require.Len(t, refs, 1)
			again := strings.TrimPrefix(refs[0], "refs/handoffs/inbox/boss/")
			assert.NotEmpty(t, other.Git(t, "for-each-ref", "refs/handoffs/work/boss/"+again))
			assert.Contains(t, s.fixer.Must(t, "show", again), "the goal of a handoff")
			kept := s.fixer.Git(t, "for-each-ref", "refs/handoffs/outbox", "refs/handoffs/sent", "refs/handoffs/work-out")
			assert.NotContains(t, kept, child)
			assert.Contains(t, kept, "refs/handoffs/sent/boss/"+again)
			assert.Contains(t, kept, "refs/handoffs/work-out/"+again)

			s.fixer.Must(t, "sync")
			assert.Len(t, strings.Fields(other.Git(t, "for-each-ref", "--format=%(refname)", "refs/handoffs/inbox")), 2)
		})
	}
}
