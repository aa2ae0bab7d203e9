package lifecycle

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// otherID is an id that no handoff of these tests has.
const otherID = "ho_01kahcp3g0000000000000010r"

// fixture is one repository, which is the home of all its handoffs, and the engines of the agents and people who
// work there.
type fixture struct {
	*enginetest.Fixture
	repo *refs.Repo
	home *LocalHome

	engines []*Engine     // engines that use the fixture's trust list
	work    *handoff.Work // the snapshot of the envelopes that the fixture makes; nil for none
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{Fixture: enginetest.NewLocal(t)}
	f.repo = enginetest.Open(t, f.Hub)
	f.home = &LocalHome{Repo: f.repo, RepoID: "local:000102030405060708090a0b0c0d0e0f", Paths: []string{"git+file://" + f.Hub.Dir}}
	return f
}

func (w *fixture) lane(id handoff.ID) string { return refs.LocalNamespace.Lane(id) }

// stranger returns an engine with a key that is not trusted.
func (w *fixture) stranger(t testing.TB, name string) *Engine {
	t.Helper()
	e := New(Setup{
		Repo: w.repo, Signer: enginetest.NewKey(t), Actor: name,
		Now: w.Now, Random: w.Random, Intents: Intents{Dir: w.repo.Own("intents")},
	})
	w.engines = append(w.engines, e)
	w.Follow(t, func(trust *sign.Trust) { e.Keys.Trust = trust })
	return e
}

// remade returns an engine as a later command has it, which knows only what is stored in files. If edit is not
// nil, it changes the setup.
func remade(e *Engine, edit func(*Setup)) *Engine {
	s := Setup{
		Repo: e.Repo, Trust: e.Keys.Trust, Signer: e.Author.Signer, Actor: e.Author.Actor, Now: e.Now, Random: e.Author.Random,
		Intents: e.Recovery.Intents, Used: e.Verifier.Used, Ahead: Ahead{Path: e.Reader.Ahead.Path},
	}
	if edit != nil {
		edit(&s)
	}
	return New(s)
}

// agent returns an engine whose key is trusted as name. Without roles it is a sender and a recipient.
func (w *fixture) agent(t testing.TB, name string, roles ...string) *Engine {
	t.Helper()
	if roles == nil {
		roles = []string{sign.RoleSender, sign.RoleRecipient}
	}
	e := w.stranger(t, name)
	w.Pin(t, enginetest.Entry(e.Author.Signer, name, roles...))
	return e
}

// person returns an engine with a root key.
func (w *fixture) person(t testing.TB, mail string) *Engine {
	t.Helper()
	e := w.stranger(t, mail)
	w.Pin(t, enginetest.Entry(e.Author.Signer, mail, sign.RoleRoot))
	return e
}

// envelope returns a complete envelope with the fixture's snapshot. An envelope to handoff.Nobody waits for a
// decision.
func (w *fixture) envelope(t testing.TB, from, to string) *handoff.Envelope {
	t.Helper()
	env := w.Envelope(t, from, to)
	env.Work = w.work
	return env
}

func (w *fixture) prepare(t testing.TB, e *Engine, to string) *Payload {
	t.Helper()
	p, err := e.Author.Prepare(t.Context(), w.home, w.envelope(t, e.Author.Actor, to), "")
	require.NoError(t, err)
	return p
}

// offer delivers a handoff of e for to, and returns its place.
func (w *fixture) offer(t testing.TB, e *Engine, to string) Place {
	t.Helper()
	p := w.prepare(t, e, to)
	s, err := e.Offer(t.Context(), w.home, p)
	require.NoError(t, err)
	require.Equal(t, Open, s.Phase())
	return Place{Agent: p.Agent, ID: p.Record.ID}
}

// tryClaim claims a handoff as an agent that holds nothing yet.
func (w *fixture) tryClaim(ctx context.Context, e *Engine, p Place, edit ...func(*ClaimRequest)) (*Verified, ClaimProof, error) {
	h := ClaimProof{Place: p}
	req := ClaimRequest{
		Place: p, ByID: true,
		Record: func(r *record.Record) error { h.Nonce = r.Nonce; return nil },
	}
	for _, f := range edit {
		f(&req)
	}
	v, err := e.Claim(ctx, w.home, req)
	return v, h, err
}

func (w *fixture) claim(t testing.TB, e *Engine, p Place) ClaimProof {
	t.Helper()
	_, h, err := w.tryClaim(t.Context(), e, p)
	require.NoError(t, err)
	return h
}

func (w *fixture) load(t testing.TB, e *Engine, p Place) *State {
	t.Helper()
	s, err := e.Reader.Load(t.Context(), w.home, p)
	require.NoError(t, err)
	return s
}

// forge signs a step as e, with an edited record, and appends it to its lane and, if the step changes the inbox
// ref, to that. It checks no rule.
func (w *fixture) forge(t testing.TB, e *Engine, s *State, event record.Event, edit ...func(*record.Record)) {
	t.Helper()
	w.forgeTwo(t, e, s, event, append(edit, func(*record.Record) {})[0], func(*record.Record) {})
}

// forgeTwo is forge with a second edit, of the record in the lane only.
func (w *fixture) forgeTwo(t testing.TB, e *Engine, s *State, event record.Event, edit, inLane func(*record.Record)) {
	t.Helper()
	rec := nextRecord(s)
	require.NoError(t, e.Author.stamp(&rec, event, s.Tip))
	inForm(&rec, s.Offer)
	if s.Claim != nil && rec.Duration != "" {
		rec.Duration = record.Duration(rec.At.Sub(s.Claim.At))
	}
	edit(&rec)
	b := &batch{engine: e, home: w.home}
	switch inbox := w.home.Namespace().Inbox(s.Agent, s.ID); {
	case event.Receipt():
		b.drop(inbox, s.Tip)
	case event == record.Offered:
		b.move(inbox, s.Tip, w.signed(t, e, rec, s.Chain[0].Commit.Tree))
	case event != record.Joined:
		b.move(inbox, s.Tip, w.signed(t, e, rec, s.Chain[0].Commit.Tree, s.Tip))
	}
	rec.Payload = s.Payload
	inLane(&rec)
	o := w.signed(t, e, rec, gittest.Objects().EmptyTree(), s.LaneTip)
	tx := b.transaction()
	tx.Objects = append(tx.Objects, o)
	tx.Edits = append([]refs.Edit{{Ref: w.lane(s.ID), Old: s.LaneTip, New: o.OID}}, tx.Edits...)
	require.NoError(t, w.home.Apply(t.Context(), tx))
}

// inForm sets the trailers that the event of a record requires.
func inForm(rec, offer *record.Record) {
	must := func(name string) bool { return rec.Event.Needs(name) == record.Must }
	if must("Handoff-Claim") && rec.Claim == "" {
		rec.Claim = strings.Repeat("0", 32)
	}
	if must("Handoff-Lease") {
		rec.Lease = rec.At.Add(time.Hour)
	}
	if must("Handoff-Next") {
		rec.Next = otherID
	}
	if must("Handoff-Duration") {
		rec.Duration = "0s"
	}
	if must("Handoff-Counts") {
		rec.Counts, rec.Status, rec.Parent, rec.Principal = offer.Counts, offer.Status, offer.Parent, offer.Principal
	}
	switch rec.Event {
	case record.Routed:
		rec.Claim = ""
	case record.Offered, record.Joined:
		rec.Claim, rec.Previous = "", record.None
	}
}

// signed returns a commit of a record, signed by e without any check.
func (w *fixture) signed(t testing.TB, e *Engine, rec record.Record, tree string, parents ...string) *refs.Object {
	t.Helper()
	return enginetest.SignCommit(t, e.Author.Signer, &record.Commit{Tree: tree, Parents: parents, Record: &rec})
}

// broken is a random source that fails.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
