package guard_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/guard"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

const homeID = "git+https://example.com/acme/hub"

// fixture is a hub and the agents that push to it. A test records a push, lets the guard judge it, and only then
// applies it.
type fixture struct {
	*enginetest.Fixture
	repo *refs.Repo  // the hub
	push []refs.Edit // the push that was recorded last
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	h := &fixture{Fixture: enginetest.New(t)}
	h.repo = enginetest.Open(t, h.Hub)
	return h
}

// pusher is a home that records the push instead of making it.
type pusher struct {
	*lifecycle.LocalHome
	hub *fixture
}

func (p pusher) Apply(_ context.Context, t refs.Transaction) error {
	p.hub.push = append(p.hub.push, t.Edits...)
	return p.hub.repo.Store.Write(t.Objects...)
}

func (h *fixture) home(id string) pusher {
	return pusher{&lifecycle.LocalHome{Repo: h.repo, RepoID: id}, h}
}

// engine returns an engine with a new, untrusted key.
func (h *fixture) engine(t testing.TB, name string) *lifecycle.Engine {
	t.Helper()
	e := lifecycle.New(lifecycle.Setup{
		Repo: h.repo, Signer: enginetest.NewKey(t), Actor: name, Now: h.Now, Random: rand.Reader,
		Intents: lifecycle.Intents{Dir: t.TempDir()},
	})
	trust, err := enginetest.NewTrust(enginetest.Entry(e.Author.Signer, name, sign.RoleSender, sign.RoleRecipient, sign.RoleRoot))
	require.NoError(t, err)
	e.Keys.Trust = trust
	return e
}

// agent returns an engine whose key the hub and all earlier agents trust.
func (h *fixture) agent(t testing.TB, name string, roles ...string) *lifecycle.Engine {
	t.Helper()
	e := h.engine(t, name)
	h.Trusted = append(h.Trusted, enginetest.Entry(e.Author.Signer, e.Author.Actor, roles...))
	return e
}

// pair returns a sender and a recipient.
func (h *fixture) pair(t testing.TB) (sender, fixer *lifecycle.Engine) {
	t.Helper()
	sender = h.agent(t, "boss", sign.RoleSender, sign.RoleRecipient)
	fixer = h.agent(t, "fixer", sign.RoleSender, sign.RoleRecipient)
	h.know(t, sender, fixer)
	return sender, fixer
}

// know lets the engines trust the keys that the hub trusts.
func (h *fixture) know(t testing.TB, engines ...*lifecycle.Engine) {
	t.Helper()
	for _, e := range engines {
		e.Keys.Trust = h.Trust(t)
	}
}

// catch returns the push of a step. It ignores the error of the step, since nothing was pushed.
func (h *fixture) catch(step func(home lifecycle.Home) error) []refs.Edit {
	h.push = nil
	_ = step(h.home(homeID))
	return h.push
}

// judge lets a guard check a push at the given time.
func (h *fixture) judge(t testing.TB, at time.Time, edits []refs.Edit) []guard.Refusal {
	t.Helper()
	defer h.repo.Overlay(nil)
	g := &guard.Guard{
		Home:     &lifecycle.LocalHome{Repo: h.repo, RepoID: homeID},
		Verifier: lifecycle.New(lifecycle.Setup{Repo: h.repo, Trust: h.Trust(t), Now: func() time.Time { return at }}).Verifier,
	}
	refused, err := g.Check(t.Context(), edits)
	require.NoError(t, err)
	return refused
}

// accept requires that the guard accepts a push, and applies it.
func (h *fixture) accept(t testing.TB, edits []refs.Edit) {
	t.Helper()
	require.NotEmpty(t, edits)
	for _, r := range h.judge(t, h.Now(), edits) {
		require.NoError(t, r.Err, r.Ref)
	}
	require.NoError(t, h.repo.Apply(t.Context(), refs.Transaction{Edits: edits}))
}

// refuses requires that the guard refuses a push, first for the given reason.
func (h *fixture) refuses(t testing.TB, reason string, edits []refs.Edit) {
	t.Helper()
	require.NotEmpty(t, edits)
	refused := h.judge(t, h.Now(), edits)
	require.NotEmpty(t, refused, "it was let in")
	require.Equal(t, fault.Reason(reason), fault.As(refused[0].Err).Reason, "%v", refused[0].Err)
}

// offering returns the push that offers a handoff.
func (h *fixture) offering(t testing.TB, e *lifecycle.Engine, env *handoff.Envelope) []refs.Edit {
	t.Helper()
	return h.catch(func(home lifecycle.Home) error {
		p, err := e.Author.Prepare(t.Context(), home, env, "")
		require.NoError(t, err)
		_, err = e.Offer(t.Context(), home, p)
		return err
	})
}

func (h *fixture) offer(t testing.TB, e *lifecycle.Engine, to string) lifecycle.Place {
	t.Helper()
	env := h.Envelope(t, e.Author.Actor, to)
	h.accept(t, h.offering(t, e, env))
	return lifecycle.Place{Agent: to, ID: env.ID}
}

// claiming returns the push that claims a handoff, and the proof of the claim.
func (h *fixture) claiming(t testing.TB, e *lifecycle.Engine, p lifecycle.Place) ([]refs.Edit, lifecycle.ClaimProof) {
	t.Helper()
	held := lifecycle.ClaimProof{Place: p}
	push := h.catch(func(home lifecycle.Home) error {
		_, err := e.Claim(t.Context(), home, lifecycle.ClaimRequest{
			Place: p, ByID: true,
			Record: func(r *record.Record) error { held.Nonce = r.Nonce; return nil },
		})
		return err
	})
	return push, held
}

func (h *fixture) claim(t testing.TB, e *lifecycle.Engine, p lifecycle.Place) lifecycle.ClaimProof {
	t.Helper()
	push, held := h.claiming(t, e, p)
	h.accept(t, push)
	return held
}

// acknowledging returns the push that acknowledges a handoff.
func (h *fixture) acknowledging(t testing.TB, e *lifecycle.Engine, held lifecycle.ClaimProof) []refs.Edit {
	return h.catch(func(home lifecycle.Home) error {
		_, _, err := e.Acknowledge(t.Context(), home, held, lifecycle.Outcome{})
		return err
	})
}

// forge returns the push of a signed record on a lane and an inbox ref. It checks no rule.
func (h *fixture) forge(t testing.TB, e *lifecycle.Engine, p lifecycle.Place, edit func(*record.Record)) []refs.Edit {
	t.Helper()
	return h.forgeTwo(t, e, p, edit, func(*record.Record) {})
}

// forgeTwo is forge with a second edit, of the record in the lane only.
func (h *fixture) forgeTwo(t testing.TB, e *lifecycle.Engine, p lifecycle.Place, edit, inLane func(*record.Record)) []refs.Edit {
	t.Helper()
	s, err := e.Reader.Load(t.Context(), h.home(homeID), p)
	require.NoError(t, err)
	rec := *s.Offer
	rec.Event, rec.Actor, rec.Key, rec.At, rec.Payload = record.Claimed, e.Author.Actor, e.Author.Signer.KID(), h.Now(), ""
	rec.Previous, rec.Lease = s.Tip, h.Now().Add(time.Hour)
	rec.Counts, rec.Status, rec.Principal, rec.Nonce = "", "", "", "000102030405060708090a0b0c0d0e0f"
	edit(&rec)
	var onto []string
	if rec.Event != record.Offered {
		onto = []string{s.Tip}
	}
	inbox := h.commit(t, e, rec, s.Chain[0].Commit.Tree, onto...)
	rec.Payload = s.Payload
	inLane(&rec)
	lane := h.commit(t, e, rec, gittest.Objects().EmptyTree(), s.LaneTip)
	return []refs.Edit{
		{Ref: refs.LocalNamespace.Inbox(p.Agent, p.ID), Old: s.Tip, New: inbox},
		{Ref: refs.LocalNamespace.Lane(p.ID), Old: s.LaneTip, New: lane},
	}
}

func (h *fixture) commit(t testing.TB, e *lifecycle.Engine, rec record.Record, tree string, parents ...string) string {
	t.Helper()
	o := enginetest.SignCommit(t, e.Author.Signer, &record.Commit{Tree: tree, Parents: parents, Record: &rec})
	require.NoError(t, h.repo.Store.Write(o))
	return o.OID
}
