package lifecycle

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// A holder must not add an unlogged step below its claim, or other files to its commit.
func TestVerifyRefusesWhatAHolderSmuggles(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		files, unlogged bool
	}{
		"nothing":               {},
		"other files":           {"handoff_mismatch", true, false},
		"a step without a line": {"disputed", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newRoles(t)
			p := c.offer(t, c.source, "fixer")
			s := c.load(t, c.holder, p)
			step := func(tree, on string) (record.Record, *refs.Object) {
				rec := nextRecord(s)
				require.NoError(t, c.holder.Author.stamp(&rec, record.Claimed, on))
				inForm(&rec, s.Offer)
				o := c.signed(t, c.holder, rec, tree, on)
				require.NoError(t, c.repo.Store.Write(o))
				return rec, o
			}
			tree, on := s.Chain[0].Commit.Tree, s.Tip
			if tc.files {
				blob := refs.NewObject(gittest.Objects(), "blob", []byte("anything"))
				raw, err := gitobj.EncodeTree([]gitobj.TreeEntry{{Mode: gitobj.File, Name: "file", OID: blob.OID}})
				require.NoError(t, err)
				other := refs.NewObject(gittest.Objects(), "tree", raw)
				require.NoError(t, c.repo.Store.Write(blob, other))
				tree = other.OID
			}
			if tc.unlogged {
				_, below := step(tree, on)
				on = below.OID
			}
			rec, inbox := step(tree, on)
			rec.Payload = s.Payload
			entry := c.signed(t, c.holder, rec, gittest.Objects().EmptyTree(), s.LaneTip)
			require.NoError(t, c.repo.Apply(t.Context(), refs.Transaction{
				Objects: []*refs.Object{entry, refs.NewObject(gittest.Objects(), "tree", nil)},
				Edits: []refs.Edit{
					{Ref: refs.LocalNamespace.Inbox("fixer", p.ID), Old: s.Tip, New: inbox.OID},
					{Ref: c.lane(p.ID), Old: s.LaneTip, New: entry.OID},
				},
			}))
			now := c.load(t, c.peer, p)
			require.Equal(t, Held, now.Phase(), "%v", now.Dispute)
			_, err := c.peer.Verifier.Verify(t.Context(), c.home, now, Options{})
			if tc.reason == "" {
				assert.NoError(t, err)
				return
			}
			refusedAs(t, tc.reason, err)
		})
	}
}

// A lane begins with an offer, and its entries have no files. A commit of an inbox ref is no valid entry.
func TestLaneWithoutAnOffer(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	s := c.load(t, c.holder, p)
	require.Len(t, s.Entries, 2)
	claim := c.signed(t, c.holder, *s.Entries[1].Record(), gittest.Objects().EmptyTree())
	require.NoError(t, c.repo.Store.Write(claim))
	for name, tc := range map[string]struct{ tip, reason string }{
		"a claim alone":      {claim.OID, "disputed"},
		"the inbox's commit": {s.Payload, "malformed_object"},
	} {
		c.Hub.Git(t, "update-ref", c.lane(p.ID), tc.tip)
		now := c.load(t, c.peer, p)
		assert.Equal(t, Disputed, now.Phase(), name)
		assert.Nil(t, now.Offer, name)
		refusedAs(t, tc.reason, now.Err())
	}
}

// If another ref is in the place of a handoff's snapshot, the error names it and the command that removes it.
func TestOfferBesideAnotherSnapshot(t *testing.T) {
	c := newRoles(t)
	c.work = c.stash(t)
	p := c.prepare(t, c.source, "fixer")
	ref := refs.LocalNamespace.Work("fixer", p.Record.ID)
	head := c.Hub.Git(t, "rev-parse", "HEAD")
	c.Hub.Git(t, "update-ref", ref, head)
	_, err := c.source.Offer(t.Context(), c.home, p)
	refusedAs(t, "disputed", err)
	hints := fault.As(err).Hints
	require.Len(t, hints, 1)
	c.Hub.Git(t, hints[0].Run[1:]...)
	_, err = c.source.Offer(t.Context(), c.home, p)
	require.NoError(t, err)
	assert.Equal(t, c.work.Commit, c.Hub.Git(t, "rev-parse", ref))
}

// A handoff in the outbox can be taken back by its sender or by a root key.
func TestMayTakeBack(t *testing.T) {
	c := newRoles(t)
	offer := &c.prepare(t, c.source, "fixer").Record
	for name, ok := range map[string]bool{"source": true, "root": true, "holder": false, "stranger": false} {
		err := c.by(name).Author.MayTakeBack(offer)
		if ok {
			assert.NoError(t, err, name)
			continue
		}
		assert.True(t, fault.Is(err, fault.UntrustedKey), "%s: %v", name, err)
	}
}

// An untrusted key takes no step, and the hints tell its owner how to become trusted.
func TestStepOfAnUntrustedKey(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	_, _, err := c.tryClaim(t.Context(), c.stranger, p)
	refusedAs(t, "untrusted_key", err)
	assert.Equal(t, []string{"githandoff", "init", "--as", "fixer"}, fault.As(err).Hints[0].Run)
	person := c.fixture.stranger(t, "mallory@example.com")
	_, err = person.Withdraw(t.Context(), c.home, p, record.Revoked, Outcome{})
	refusedAs(t, "untrusted_key", err)
	assert.Contains(t, fault.As(err).Hints[0].Why, "the key of mallory@example.com is trusted where that person works")
	assert.Equal(t, Open, c.load(t, c.holder, p).Phase())
}

// A handoff that nobody offered cannot be withdrawn.
func TestWithdrawNothing(t *testing.T) {
	c := newRoles(t)
	_, err := c.root.Withdraw(t.Context(), c.home, Place{Agent: "fixer", ID: otherID}, record.Revoked, Outcome{Force: true})
	refusedAs(t, "not_found", err)
}

// A step that keeps losing the race against others gives up after a number of rounds.
func TestRoundsAreBounded(t *testing.T) {
	r := &rounds{home: newFixture(t).home, spec: WholeHandoffs(Place{Agent: "fixer", ID: otherID}), n: mostRounds - 2}
	stale := &refs.StaleError{Read: true}
	require.NoError(t, r.retryMoved(t.Context(), nil, stale))
	refusedAs(t, "busy", r.retryMoved(t.Context(), nil, stale))
}

// deaf is a home that cannot be refreshed.
type deaf struct{ *LocalHome }

func (deaf) Refresh(context.Context, FetchSpec) error {
	return fault.New(fault.Unavailable, fault.HubLocked, "nobody answers")
}

// A step that the local copies refuse is refused even if the hub cannot be reached. If nothing is known of the
// handoff here, the error is that of the hub.
func TestRefusalWithoutTheHub(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	for reason, place := range map[string]Place{"claimed": p, "hub_locked": {Agent: "fixer", ID: otherID}} {
		_, err := c.peer.Claim(t.Context(), deaf{c.home}, ClaimRequest{
			Place: place, ByID: true, Record: func(*record.Record) error { return nil },
		})
		refusedAs(t, reason, err)
	}
}

// An earlier fetch covers a step only if it fetched all handoffs of the step.
func TestFetchSpecCovers(t *testing.T) {
	id := newFixture(t).NewID(t)
	p, other := Place{Agent: "fixer", ID: id}, Place{Agent: "qa", ID: id}
	whole := WholeHandoffs(p)
	assert.True(t, whole.covers(WholeHandoffs(p)))
	assert.False(t, whole.covers(WholeHandoffs(p, other)))
	assert.False(t, FetchSpec{Places: whole.Places}.covers(whole))
	assert.False(t, FetchSpec{Lanes: whole.Lanes}.covers(whole))
}

// The error about an unknown key names its claimed owner and the commands with which to decide about it. For a
// person's key there is no command that can be copied.
func TestHintsOfAnUnknownKey(t *testing.T) {
	c := newRoles(t)
	person := c.fixture.stranger(t, "mallory@example.com")
	keys := &Keys{Trust: c.Trust(t), Now: c.Now}
	hints := func(by *Engine) (string, [][]string) {
		rec := *c.load(t, c.holder, c.offer(t, c.source, "fixer")).Offer
		require.NoError(t, by.Author.stamp(&rec, record.Offered, ""))
		o := c.signed(t, by, rec, gittest.Objects().EmptyTree())
		commit, err := record.ParseCommit(o.Body)
		require.NoError(t, err)
		_, err = keys.SignerOf("it", commit)
		refusedAs(t, "untrusted_key", err)
		var run [][]string
		for _, h := range fault.As(err).Hints {
			run = append(run, h.Run)
		}
		return err.Error(), run
	}
	kid := c.stranger.Author.Signer.KID()
	said, run := hints(c.stranger)
	assert.NotContains(t, said, ";")
	assert.Equal(t, [][]string{{"githandoff", "sync"}, nil}, run)

	keys.Published = func(sign.KID) (sign.PublicKey, bool) { return c.stranger.Author.Signer.Public(), true }
	keys.Alias = func(string) string { return "web" }
	keys.strangers = nil
	said, run = hints(c.stranger)
	assert.Contains(t, said, "; it does not say whose it is")
	assert.Equal(t, [][]string{{"githandoff", "trust", "add", kid, "--agent", "fixer"}, {"githandoff", "sync", "web"}}, run)
	_, run = hints(person)
	assert.Equal(t, [][]string{{"githandoff", "trust", "add", "--help"}}, run)
}

// The commits of an inbox ref that are read are limited in number, whoever wrote them.
func TestChainIsBounded(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	tip := c.load(t, c.holder, p).Tip
	tree := gittest.Objects().EmptyTree()
	var all []*refs.Object
	for range maxChain {
		o := refs.OwnCommit(tree, tip, "noise")
		all, tip = append(all, o), o.OID
	}
	require.NoError(t, c.repo.Store.Write(append(all, refs.NewObject(gittest.Objects(), "tree", nil))...))
	c.Hub.Git(t, "update-ref", refs.LocalNamespace.Inbox("fixer", p.ID), all[maxChain-2].OID)
	_, err := c.holder.Verifier.ReloadOffer(t.Context(), all[maxChain-2].OID)
	require.NoError(t, err)
	assert.Len(t, c.load(t, c.holder, p).Chain, 1, "the noise on top is left out")
	c.Hub.Git(t, "update-ref", refs.LocalNamespace.Inbox("fixer", p.ID), tip)
	s := c.load(t, c.holder, p)
	refusedAs(t, "malformed_object", s.chainErr)
	assert.ErrorContains(t, s.chainErr, "too many commits")
	_, err = c.holder.Verifier.ReloadOffer(t.Context(), tip)
	refusedAs(t, "malformed_object", err)
	_, err = c.holder.Verifier.ReloadOffer(t.Context(), refs.NewObject(gittest.Objects(), "blob", []byte("nowhere")).OID)
	refusedAs(t, "not_found", err)
}

// A step on a chain that got long stands on the payload, so that no number of steps hides the payload from readers.
func TestLongChainBeginsAgain(t *testing.T) {
	c := newRoles(t)
	p := c.stuck(t)
	_, err := c.root.Route(t.Context(), c.home, p, "fixer", `{"clarify":"true"}`)
	require.NoError(t, err)
	p.Agent = "fixer"
	h := c.claim(t, c.holder, p)
	s := c.load(t, c.holder, p)
	s.Chain = slices.Concat(s.Chain[:1], slices.Repeat(s.Chain[2:], longChain-1))
	b := &batch{engine: c.holder, home: c.home}
	require.NoError(t, b.take(t.Context(), s, record.Progressed, func(r *record.Record) { r.Lease = s.Claim.Lease }))
	require.NoError(t, c.home.Apply(t.Context(), b.transaction()))

	s = c.load(t, c.source, p)
	assert.Nil(t, s.Dispute)
	assert.Equal(t, Held, s.Phase())
	assert.Len(t, s.Entries, 4)
	require.Len(t, s.Chain, 2, "payload and progress")
	assert.Equal(t, record.Progressed, s.Chain[1].Commit.Record.Event)
	require.NotNil(t, s.Routed(), "the lane has the decision still")
	assert.Equal(t, `{"clarify":"true"}`, s.Routed().Data)
	_, err = c.holder.Verifier.Verify(t.Context(), c.home, s, Options{})
	require.NoError(t, err)

	s, err = c.holder.Renew(t.Context(), c.home, h, Renewal{})
	require.NoError(t, err)
	assert.Len(t, s.Chain, 3, "the next step stands on that one")
}
