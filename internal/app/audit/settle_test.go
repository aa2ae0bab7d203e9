package audit

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// house is a repository that is its own home, with one engine.
type house struct {
	git    *gittest.Repo
	engine *lifecycle.Engine
	home   *lifecycle.LocalHome

	entries int // number of log entries before an audit
}

func newHouse(t *testing.T) *house {
	t.Helper()
	env := gittest.Env(t)
	git := gittest.NewRepo(t, env)
	repo, err := refs.Open(t.Context(), &gitexec.Runner{Dir: git.Dir, Env: gitexec.Environ(env)})
	require.NoError(t, err)
	t.Cleanup(repo.Close)
	signer, err := sign.NewKeystore(func(name string) string { return gittest.Getenv(env, name) }).Generate("boss", "boss", nil, time.Now(), rand.Reader)
	require.NoError(t, err)
	trust, err := enginetest.NewTrust(sign.TrustEntry{KID: signer.KID(), Key: signer.Public().Text(), Agents: []string{"boss"}, Roles: []string{sign.RoleSender}})
	require.NoError(t, err)
	return &house{
		git: git,
		engine: lifecycle.New(lifecycle.Setup{
			Repo: repo, Signer: signer, Trust: trust, Actor: "boss", Now: time.Now, Random: rand.Reader,
			Intents: lifecycle.Intents{Dir: t.TempDir()},
		}),
		home: &lifecycle.LocalHome{Repo: repo, RepoID: "local:000102030405060708090a0b0c0d0e0f"},
	}
}

// offer offers a handoff to fixer, in lane 00, and returns its inbox ref.
func (h *house) offer(t *testing.T) string {
	t.Helper()
	now, to := time.Now().UTC(), "fixer"
	id, err := handoff.NewID(now, rand.Reader)
	require.NoError(t, err)
	id = id[:len(id)-2] + "00"
	p, err := h.engine.Author.Prepare(t.Context(), h.home, &handoff.Envelope{
		Schema: handoff.Schema, ID: id, Salt: strings.Repeat("0", 32), Status: handoff.StatusComplete, Goal: "go on",
		CreatedAt: handoff.FormatTime(now), ExpiresAt: handoff.FormatTime(now.Add(lifecycle.DefaultTTL)),
		Source: handoff.Source{Agent: "boss"}, Target: handoff.Target{Agent: &to},
	}, "")
	require.NoError(t, err)
	_, err = h.engine.Offer(t.Context(), h.home, p)
	require.NoError(t, err)
	h.entries++
	return refs.LocalNamespace.Inbox(to, id)
}

// audit returns the reasons of an audit's findings. It calls meanwhile after the audit has read the refs.
func (h *house) audit(t *testing.T, meanwhile func()) []fault.Reason {
	t.Helper()
	var found []fault.Reason
	entries, want := 0, h.entries
	handler := &Handler{Engine: h.engine}
	require.NoError(t, handler.auditHome(t.Context(), h.home, false, Visitor{
		Entry: func(lifecycle.Home, *lifecycle.Entry) error {
			if entries++; entries == 1 {
				meanwhile()
			}
			return nil
		},
		Finding: func(_ lifecycle.Home, f Finding) error { found = append(found, f.Reason); return nil },
	}))
	assert.Equal(t, want, entries, "each entry is shown once")
	return found
}

// A finding is checked again before it is reported, because a step may have been taken during the audit.
func TestSettle(t *testing.T) {
	h := newHouse(t)
	inbox := h.offer(t)
	tip := h.git.Git(t, "rev-parse", inbox)
	back := func() { h.git.Git(t, "update-ref", inbox, tip, "") }
	require.Empty(t, h.audit(t, func() {}))

	h.git.Git(t, "update-ref", "-d", inbox, tip)
	assert.Equal(t, []fault.Reason{fault.Lost}, h.audit(t, func() {}))
	assert.Empty(t, h.audit(t, back), "its ref came meanwhile")

	h.git.Git(t, "update-ref", "-d", inbox, tip)
	assert.Equal(t, []fault.Reason{fault.Lost}, h.audit(t, func() { h.offer(t) }), "its lane moved meanwhile, and it is lost nevertheless")
}

// A dispute in a lane that moves during the audit is reported once.
func TestDisputeOfAMovingLane(t *testing.T) {
	h := newHouse(t)
	inbox, lane := h.offer(t), "refs/handoffs/log/00"
	message := h.git.Git(t, "log", "-1", "--format=%B", lane)
	h.git.Git(t, "update-ref", lane, h.git.Git(t, "commit-tree", "-m", message, "-p", lane, lane+"^{tree}"))
	h.entries++
	require.Equal(t, []fault.Reason{fault.MalformedObject}, h.audit(t, func() {}))
	h.git.Git(t, "update-ref", "-d", inbox)
	assert.Equal(t, []fault.Reason{fault.MalformedObject, fault.Lost}, h.audit(t, func() { h.offer(t) }))
}

// A finding that belongs to no lane is reported by every audit, not only by the first.
func TestFoundEachTime(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(t *testing.T, h *house, inbox string)
		want fault.Reason
	}{
		"a name of no handoff": {func(t *testing.T, h *house, inbox string) {
			h.git.Git(t, "update-ref", "refs/handoffs/inbox/fixer/nonsense", inbox)
		}, fault.InvalidID},
		"a handoff that no lane speaks of": {func(t *testing.T, h *house, inbox string) {
			other := strings.TrimSuffix(inbox, "00") + "01"
			message := strings.ReplaceAll(h.git.Git(t, "log", "-1", "--format=%B", inbox), inbox[strings.LastIndex(inbox, "/")+1:], other[strings.LastIndex(other, "/")+1:])
			h.git.Git(t, "update-ref", other, h.git.Git(t, "commit-tree", "-m", message, inbox+"^{tree}"))
		}, fault.Unlogged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			tt.make(t, h, h.offer(t))
			for range 3 {
				assert.Equal(t, []fault.Reason{tt.want}, h.audit(t, func() {}))
			}
		})
	}
}
