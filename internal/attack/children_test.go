package attack

import (
	"encoding/json"
	"os"
	"path/filepath"
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

// The receipt of a reroute to another home tells the id of the child before the child is there. An
// offer of somebody else under this id, at the home of the parent, does not make the clone drop the
// child, which waits for the other home.
func TestChildUnderWayIsNotDropped(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	peer := s.newKey(t, "peer")
	s.trust(t, "peer")
	other := filepath.Join(s.Dir, "other.git")
	s.Hub.Git(t, "init", "--quiet", "--bare", other)
	s.fixer.Must(t, "repo", "add", "other", other)
	f := s.forge(t, forgery{})
	s.fixer.Must(t, "resume", string(f.id))
	require.NoError(t, os.Rename(other, other+".down"))
	r := s.fixer.Run(t, "reroute", string(f.id), "--to", "boss@other")
	require.Equal(t, 8, r.Code, "%s", r)
	receipt := s.last(t, f)
	require.Equal(t, record.Rerouted, receipt.Event)
	s.occupy(t, receipt.Next, forgery{by: peer})
	// As if the command had been killed right after the receipt.
	stage, err := json.Marshal(map[string]any{
		"parent": map[string]any{"Agent": "fixer", "ID": f.id}, "home": s.home,
		"child": map[string]any{"Agent": "boss", "ID": receipt.Next},
	})
	require.NoError(t, err)
	dir := filepath.Join(s.fixer.Dir, ".git", "githandoff", "staged")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, string(receipt.Next)+".json"), stage, 0o600))
	require.NoError(t, os.Rename(other+".down", other))

	assert.Contains(t, s.fixer.Must(t, "sync"), "delivered")
	repo := &gittest.Repo{Dir: other, Env: s.Env}
	assert.True(t, strings.HasSuffix(repo.Git(t, "for-each-ref", "--format=%(refname)", "refs/handoffs/inbox"), "boss/"+string(receipt.Next)))
}
