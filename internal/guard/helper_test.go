package guard_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/guard"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

const homeID = "git+https://example.com/acme/hub"

// hub is a bare repository, its clock, and those who push to it. What they would
// push is caught, judged, and only then done.
type hub struct {
	git   *gittest.Repo
	repo  *refs.Repo
	at    time.Time
	trust []sign.TrustEntry
	push  []refs.Edit // caught last
}

func newHub(t testing.TB) *hub {
	t.Helper()
	h := &hub{git: gittest.NewBare(t, gittest.Env(t)), at: time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC)}
	repo, err := refs.Open(t.Context(), &gitexec.Runner{Dir: h.git.Dir, Env: gitexec.Environ(h.git.Env)})
	require.NoError(t, err)
	t.Cleanup(repo.Close)
	h.repo = repo
	return h
}

func (h *hub) now() time.Time { return h.at }

// pusher is a home that writes down what would be pushed.
type pusher struct {
	*lifecycle.LocalHome
	hub *hub
}

func (p pusher) Apply(_ context.Context, t refs.Transaction) error {
	p.hub.push = append(p.hub.push, t.Edits...)
	return p.hub.repo.Store.Write(t.Objects...)
}

func (h *hub) home(id string) pusher {
	return pusher{&lifecycle.LocalHome{Repo: h.repo, RepoID: id}, h}
}

// engine acts with a new key that nobody trusts.
func (h *hub) engine(t testing.TB, name string) *lifecycle.Engine {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	signer, err := sign.OpenSigner(t.Context(), sign.Options{Env: string(pem.EncodeToMemory(block))})
	require.NoError(t, err)
	e := lifecycle.New(lifecycle.Setup{
		Repo: h.repo, Signer: signer, Actor: name, Now: h.now, Random: rand.Reader,
		Intents: lifecycle.Intents{Dir: t.TempDir()},
	})
	e.Keys.Trust, err = sign.NewTrust(entryOf(e, sign.RoleSender, sign.RoleRecipient, sign.RoleRoot))
	require.NoError(t, err)
	return e
}

func entryOf(e *lifecycle.Engine, roles ...string) sign.TrustEntry {
	entry := sign.TrustEntry{KID: e.Author.Signer.KID(), Key: e.Author.Signer.Public().Text(), Roles: roles}
	if handoff.CheckAgent(e.Author.Actor) == nil {
		entry.Agents = []string{e.Author.Actor}
	} else {
		entry.Principals = []string{"user:" + e.Author.Actor}
	}
	return entry
}

// agent is trusted by the hub and by all who came before.
func (h *hub) agent(t testing.TB, name string, roles ...string) *lifecycle.Engine {
	t.Helper()
	e := h.engine(t, name)
	h.trust = append(h.trust, entryOf(e, roles...))
	return e
}

// crew are a sender and a recipient.
func (h *hub) crew(t testing.TB) (sender, fixer *lifecycle.Engine) {
	t.Helper()
	sender = h.agent(t, "boss", sign.RoleSender, sign.RoleRecipient)
	fixer = h.agent(t, "fixer", sign.RoleSender, sign.RoleRecipient)
	h.know(t, sender, fixer)
	return sender, fixer
}

// know lets engines trust whom the hub trusts.
func (h *hub) know(t testing.TB, engines ...*lifecycle.Engine) {
	t.Helper()
	trust, err := sign.NewTrust(h.trust...)
	require.NoError(t, err)
	for _, e := range engines {
		e.Keys.Trust = trust
	}
}

// catch returns what a step would push. What the step says of it is not asked:
// to it, nothing has happened.
func (h *hub) catch(step func(home lifecycle.Home) error) []refs.Edit {
	h.push = nil
	_ = step(h.home(homeID))
	return h.push
}

// judge asks a guard at the given time.
func (h *hub) judge(t testing.TB, at time.Time, edits []refs.Edit) []guard.Refusal {
	t.Helper()
	trust, err := sign.NewTrust(h.trust...)
	require.NoError(t, err)
	defer h.repo.Overlay(nil)
	g := &guard.Guard{
		Home:     &lifecycle.LocalHome{Repo: h.repo, RepoID: homeID},
		Verifier: lifecycle.New(lifecycle.Setup{Repo: h.repo, Trust: trust, Now: func() time.Time { return at }}).Verifier,
	}
	refused, err := g.Check(t.Context(), edits)
	require.NoError(t, err)
	return refused
}

// accept judges a push and does it.
func (h *hub) accept(t testing.TB, edits []refs.Edit) {
	t.Helper()
	require.NotEmpty(t, edits)
	for _, r := range h.judge(t, h.at, edits) {
		require.NoError(t, r.Err, r.Ref)
	}
	require.NoError(t, h.repo.Apply(t.Context(), refs.Transaction{Edits: edits}))
}

// refuses asks for the reason that the first refusal gives.
func (h *hub) refuses(t testing.TB, reason string, edits []refs.Edit) {
	t.Helper()
	require.NotEmpty(t, edits)
	refused := h.judge(t, h.at, edits)
	require.NotEmpty(t, refused, "it was let in")
	require.Equal(t, fault.Reason(reason), fault.As(refused[0].Err).Reason, "%v", refused[0].Err)
}

func (h *hub) envelope(t testing.TB, from, to string) *handoff.Envelope {
	t.Helper()
	id, err := handoff.NewID(h.at, rand.Reader)
	require.NoError(t, err)
	salt, err := handoff.NewSalt(rand.Reader)
	require.NoError(t, err)
	return &handoff.Envelope{
		Schema: handoff.Schema, ID: id, Salt: salt, CreatedAt: handoff.FormatTime(h.at),
		ExpiresAt: handoff.FormatTime(h.at.Add(lifecycle.DefaultTTL)),
		Source:    handoff.Source{Agent: from}, Target: handoff.Target{Agent: &to},
		Status: handoff.StatusComplete, Goal: "Fix the login",
	}
}

// offering is the push that offers a handoff.
func (h *hub) offering(t testing.TB, e *lifecycle.Engine, env *handoff.Envelope) []refs.Edit {
	t.Helper()
	return h.catch(func(home lifecycle.Home) error {
		p, err := e.Author.Prepare(t.Context(), home, env, "")
		require.NoError(t, err)
		_, err = e.Offer(t.Context(), home, p)
		return err
	})
}

func (h *hub) offer(t testing.TB, e *lifecycle.Engine, to string) lifecycle.Place {
	t.Helper()
	env := h.envelope(t, e.Author.Actor, to)
	h.accept(t, h.offering(t, e, env))
	return lifecycle.Place{Agent: to, ID: env.ID}
}

// claiming is the push that claims one, and what proves the claim.
func (h *hub) claiming(t testing.TB, e *lifecycle.Engine, p lifecycle.Place) ([]refs.Edit, lifecycle.ClaimProof) {
	t.Helper()
	held := lifecycle.ClaimProof{Place: p}
	push := h.catch(func(home lifecycle.Home) error {
		_, err := e.Claim(t.Context(), home, lifecycle.ClaimRequest{
			Place: p, ByID: true,
			Record: func(r *record.Record) error { held.Nonce = r.Nonce; return nil },
			Mine:   func(nonce string) bool { return nonce == held.Nonce },
		})
		return err
	})
	return push, held
}

func (h *hub) claim(t testing.TB, e *lifecycle.Engine, p lifecycle.Place) lifecycle.ClaimProof {
	t.Helper()
	push, held := h.claiming(t, e, p)
	h.accept(t, push)
	return held
}

// acknowledging is the push that ends one.
func (h *hub) acknowledging(t testing.TB, e *lifecycle.Engine, held lifecycle.ClaimProof) []refs.Edit {
	return h.catch(func(home lifecycle.Home) error {
		_, _, err := e.Acknowledge(t.Context(), home, held, lifecycle.Outcome{})
		return err
	})
}

// forge signs a record and puts it on a lane, and on an inbox ref: no rule is
// asked. It returns the push.
func (h *hub) forge(t testing.TB, e *lifecycle.Engine, p lifecycle.Place, edit func(*record.Record)) []refs.Edit {
	t.Helper()
	return h.forgeTwo(t, e, p, edit, func(*record.Record) {})
}

// forgeTwo is forge with more edits of what the lane says.
func (h *hub) forgeTwo(t testing.TB, e *lifecycle.Engine, p lifecycle.Place, edit, inLane func(*record.Record)) []refs.Edit {
	t.Helper()
	s, err := e.Reader.Load(t.Context(), h.home(homeID), p)
	require.NoError(t, err)
	rec := *s.Offer
	rec.Event, rec.Actor, rec.Key, rec.At, rec.Payload = record.Claimed, e.Author.Actor, e.Author.Signer.KID(), h.at, ""
	rec.Previous, rec.Lease = s.Tip, h.at.Add(time.Hour)
	rec.Counts, rec.Status, rec.Principal, rec.Nonce = "", "", "", "000102030405060708090a0b0c0d0e0f"
	edit(&rec)
	var onto []string
	if rec.Event != record.Offered {
		onto = []string{s.Tip}
	}
	inbox := h.commit(t, e, rec, s.Chain[0].Commit.Tree, onto...)
	rec.Payload = s.Payload
	inLane(&rec)
	lane := h.commit(t, e, rec, refs.EmptyTree, s.LaneTip)
	return []refs.Edit{
		{Ref: refs.LocalNamespace.Inbox(p.Agent, p.ID), Old: s.Tip, New: inbox},
		{Ref: refs.LocalNamespace.Lane(p.ID), Old: s.LaneTip, New: lane},
	}
}

// gitIn runs git with an input.
func (h *hub) gitIn(t testing.TB, in string, args ...string) string {
	t.Helper()
	out, err := h.repo.Runner.Run(t.Context(), gitexec.Cmd{Args: args, Stdin: strings.NewReader(in)})
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

func (h *hub) commit(t testing.TB, e *lifecycle.Engine, rec record.Record, tree string, parents ...string) string {
	t.Helper()
	c := &record.Commit{Tree: tree, Parents: parents, Email: sign.Mail(rec.Actor), Record: &rec}
	signature, err := e.Author.Signer.Sign(t.Context(), sign.NamespaceGit, c.Payload())
	require.NoError(t, err)
	c.Signature = signature
	o := refs.NewObject("commit", c.Encode())
	require.NoError(t, h.repo.Store.Write(o))
	return o.OID
}
