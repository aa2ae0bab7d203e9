package vectors_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

const homeID = "local:000102030405060708090a0b0c0d0e0f"

// start returns the time at which every story begins, and now the time at which it is read.
func start() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }
func now() time.Time   { return start().Add(2 * time.Hour) }

// writer makes records by hand and checks no rule.
type writer struct {
	testing.TB
	git    *gittest.Repo
	repo   *refs.Repo
	clock  time.Time
	nonces int
	lanes  map[string]bool
}

func newWriter(t testing.TB) *writer {
	t.Helper()
	git := gittest.NewRepo(t, gittest.Env(t))
	repo := enginetest.Open(t, git)
	require.NoError(t, repo.Store.Write(refs.NewObject(gittest.Objects(), "tree", nil)))
	return &writer{TB: t, git: git, repo: repo, clock: start(), lanes: map[string]bool{}}
}

// signer returns the key for a name.
func signer(t testing.TB, name string) sign.Signer {
	t.Helper()
	seed := sha256.Sum256([]byte("githandoff vectors " + name))
	return enginetest.KeyOf(t, ed25519.NewKeyFromSeed(seed[:]))
}

// pinned returns the keys that a reader of the stories trusts. The key of mallory is not among them.
func pinned(t testing.TB) []sign.TrustEntry {
	t.Helper()
	entry := func(name string, roles ...string) sign.TrustEntry {
		return enginetest.Entry(signer(t, name), name, roles...)
	}
	return []sign.TrustEntry{
		entry("boss", sign.RoleSender), entry("fixer", sign.RoleSender, sign.RoleRecipient),
		entry("tester", sign.RoleRecipient), entry("alice@example.com", sign.RoleRoot),
	}
}

// told is one handoff of the stories, with the state that its writer knows.
type told struct {
	*writer
	id                 handoff.ID
	env                *handoff.Envelope
	offer              record.Record
	payload, tree, tip string
	laneTip            string
	claim              *record.Record
	agent              string
}

type edit = func(*record.Record)

// begin returns a handoff that is not offered yet, in a lane of its own.
func (w *writer) begin(name string) *told {
	w.clock = start()
	for n := 0; ; n++ {
		id := handoff.DeriveID(start(), "vector", name, fmt.Sprint(n))
		if w.lanes[id.Lane()] {
			continue
		}
		w.lanes[id.Lane()] = true
		to := "fixer"
		return &told{writer: w, id: id, agent: to, env: &handoff.Envelope{
			Schema: handoff.Schema, ID: id, Salt: w.digits(name), Task: "LIN-423", Status: handoff.StatusComplete, Goal: "Stop the 500 on login",
			CreatedAt: handoff.FormatTime(start()), ExpiresAt: handoff.FormatTime(start().AddDate(0, 0, 7)),
			Source: handoff.Source{Agent: "boss", Repo: homeID}, Target: handoff.Target{Agent: &to}, CompletedSteps: []string{"read the log"},
		}}
	}
}

func (w *writer) digits(name string) string {
	w.nonces++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", name, w.nonces))
	return hex.EncodeToString(sum[:16])
}

// offered offers the handoff. edits changes the record, and inLane also changes the lane entry.
func (h *told) offered(edits, inLane edit) *told {
	body, err := handoff.Canonical(h.env)
	require.NoError(h, err)
	blob := refs.NewObject(gittest.Objects(), "blob", body)
	raw, err := hex.DecodeString(blob.OID)
	require.NoError(h, err)
	tree := refs.NewObject(gittest.Objects(), "tree", append([]byte("100644 handoff.json\x00"), raw...))
	require.NoError(h, h.repo.Store.Write(blob, tree))
	h.offer = record.Record{
		Event: record.Offered, ID: h.id, From: "boss", To: h.agent, Home: homeID, Digest: handoff.Digest(body), Previous: record.None,
		Expires: start().AddDate(0, 0, 7), Task: h.env.Task, Counts: h.env.Counts(), Status: h.env.Status,
		Principal: "user:boss@githandoff.invalid (declared)",
	}
	h.tree = tree.OID
	h.offer = h.sign("boss", h.offer)
	edits(&h.offer)
	h.payload = h.write("boss", h.offer, h.tree)
	h.tip = h.payload
	h.log("boss", h.offer, inLane)
	return h.moved()
}

// then takes a step as an agent, one second later.
func (h *told) then(by string, event record.Event, edits, inLane edit) *told {
	h.clock = h.clock.Add(time.Second)
	r := record.Record{
		Event: event, ID: h.id, From: h.offer.From, To: h.agent, Home: h.offer.Home, Digest: h.offer.Digest,
		Previous: h.tip, Expires: h.offer.Expires, Task: h.offer.Task,
	}
	if h.tip == "" {
		r.Previous = record.None
	}
	if h.claim != nil {
		r.Claim = h.claim.Nonce
	}
	if event == record.Claimed || event == record.Progressed {
		r.Lease = h.clock.Add(time.Hour)
	}
	if event.Receipt() {
		r.Parent, r.Counts, r.Status, r.Principal = h.offer.Parent, h.offer.Counts, h.offer.Status, h.offer.Principal
		if h.claim != nil {
			r.Duration = record.Duration(h.clock.Sub(h.claim.At))
		}
	}
	r = h.sign(by, r)
	edits(&r)
	if event.Receipt() {
		h.log(by, r, inLane)
		h.tip = ""
		return h.moved()
	}
	if event == record.Routed {
		h.agent = r.To
	}
	h.tip = h.write(by, r, h.tree, h.tip)
	h.log(by, r, inLane)
	switch event {
	case record.Claimed:
		h.claim = &r
	case record.Released:
		h.claim = nil
	}
	return h.moved()
}

// sign adds the members that the signer of a record sets.
func (h *told) sign(by string, r record.Record) record.Record {
	r.Actor, r.Key, r.Nonce, r.At = by, signer(h, by).KID(), h.digits(by), h.clock
	return r
}

// log appends a record to the lane.
func (h *told) log(by string, r record.Record, edits edit) {
	r.Payload = h.payload
	edits(&r)
	parents := []string{h.laneTip}
	if h.laneTip == "" {
		parents = nil
	}
	h.laneTip = h.write(by, r, gittest.Objects().EmptyTree(), parents...)
}

// scribble appends an unsigned commit with any message.
func (h *told) scribble(message string, others ...string) *told {
	body := "tree " + gittest.Objects().EmptyTree() + "\n"
	for _, p := range append([]string{h.laneTip}, others...) {
		body += "parent " + p + "\n"
	}
	at := fmt.Sprintf("x <x@example.com> %d +0000\n", start().Unix())
	return h.append(body + "author " + at + "committer " + at + "\n" + message)
}

// append makes a commit of these bytes the tip of the lane.
func (h *told) append(raw string) *told {
	o := refs.NewObject(gittest.Objects(), "commit", []byte(raw))
	require.NoError(h, h.repo.Store.Write(o))
	h.laneTip = o.OID
	return h.moved()
}

func (w *writer) write(by string, r record.Record, tree string, parents ...string) string {
	o := enginetest.SignCommit(w, signer(w, by), &record.Commit{Tree: tree, Parents: parents, Email: sign.Mail(by), Record: &r})
	require.NoError(w, w.repo.Store.Write(o))
	return o.OID
}

// moved moves the refs to the current state of the story.
func (h *told) moved() *told {
	h.git.Git(h, "update-ref", refs.LocalNamespace.Lane(h.id), h.laneTip)
	for _, ref := range []string{"fixer", "tester", handoff.Nobody} {
		h.git.Git(h, "update-ref", "-d", refs.LocalNamespace.Inbox(ref, h.id))
	}
	if h.tip != "" {
		h.git.Git(h, "update-ref", refs.LocalNamespace.Inbox(h.agent, h.id), h.tip)
	}
	return h
}
