package lifecycle

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// dated moves the time of an entry away from the clock.
func (c *roles) dated(by time.Duration) func(*record.Record) {
	return func(r *record.Record) {
		r.At = c.Now().Add(by)
		if !r.Lease.IsZero() {
			r.Lease = r.At.Add(time.Hour)
		}
	}
}

// again returns the engine as a later command has it: it knows only what is stored in files.
func again(e *Engine) *Engine {
	return remade(e, nil)
}

// remembering gives each engine a file in which it records entries that are ahead of its clock.
func (c *roles) remembering(t *testing.T) {
	t.Helper()
	for _, e := range c.engines {
		e.Reader.Ahead.Path = filepath.Join(t.TempDir(), "ahead")
	}
}

// A claim that is dated ahead takes the handoff from nobody: neither while it is ahead, nor when its time has
// come and others have gone on without it.
func TestClaimDatedAheadTakesNothing(t *testing.T) {
	for _, by := range []time.Duration{ClockSkew + time.Second, 2 * time.Hour, 87600 * time.Hour} {
		c := newRoles(t)
		c.remembering(t)
		p := c.offer(t, c.source, "fixer")
		h := c.claim(t, c.holder, p)
		c.forge(t, c.peer, c.load(t, c.holder, p), record.Claimed, c.dated(by))
		s := c.load(t, again(c.holder), p)
		assert.Equal(t, Held, s.Phase())
		assert.Equal(t, h.Nonce, s.Claim.Nonce)
		refusedAs(t, "not_yet_valid", s.Early)
		refusedAs(t, "not_yet_valid", s.Entries[2].Dispute)
		require.Equal(t, s.Early, s.Entries[2].Dispute, "an audit names it")

		// The holder goes on, and its key and payload still verify.
		_, err := c.holder.Verifier.Verify(t.Context(), c.home, s, Options{})
		require.NoError(t, err)
		_, err = c.holder.Renew(t.Context(), c.home, h, Renewal{})
		require.NoError(t, err)
		_, _, err = c.holder.Acknowledge(t.Context(), c.home, h, Outcome{})
		require.NoError(t, err)
		c.Pass(by)
		s = c.load(t, again(c.holder), p)
		require.Equal(t, Ended, s.Phase())
		assert.Equal(t, record.Acknowledged, s.Receipt.Event)
		assert.NoError(t, s.Dispute)
		var verdicts []error
		require.NoError(t, again(c.holder).Reader.Audit(t.Context(), c.home, refs.Ref{Name: c.lane(p.ID), OID: s.LaneTip}, LaneAudit{
			Entry: func(e *Entry) error { verdicts = append(verdicts, e.Dispute); return nil },
			State: func(s *State) error { assert.Equal(t, record.Acknowledged, s.Receipt.Event); return nil },
		}))
		require.Len(t, verdicts, 5)
		refusedAs(t, "not_yet_valid", verdicts[2])
	}
}

// A claim that is dated ahead counts as soon as its time is within the allowed difference. Nothing that a clone
// recorded before prevents it.
func TestClaimDatedAheadCountsInItsTime(t *testing.T) {
	c := newRoles(t)
	c.remembering(t)
	p := c.offer(t, c.source, "fixer")
	c.forge(t, c.peer, c.load(t, c.holder, p), record.Claimed, c.dated(10*time.Minute))
	assert.Equal(t, Open, c.load(t, c.holder, p).Phase())
	c.Pass(5 * time.Minute)
	s := c.load(t, c.holder, p)
	require.Equal(t, Held, s.Phase())
	assert.Equal(t, c.peer.Author.Signer.KID(), s.Claim.Key)
	assert.NoError(t, s.Early)
	_, err := c.peer.Verifier.Verify(t.Context(), c.home, s, Options{})
	require.NoError(t, err)
}

// A clone whose clock was behind has recorded an entry as ahead. Only a later entry by a key that may take steps
// of the handoff overtakes it. Other keys cannot undo the end of a handoff with an older entry above it.
func TestOnlyThoseWhoMayStepOvertake(t *testing.T) {
	for by, phase := range map[string]Phase{"stranger": Ended, "reviewer": Ended, "peer": Disputed, "source": Disputed} {
		c := newRoles(t)
		c.remembering(t)
		p := c.offer(t, c.source, "fixer")
		h := c.claim(t, c.holder, p)
		held := c.load(t, c.holder, p)
		c.forge(t, c.holder, held, record.Acknowledged, func(r *record.Record) { c.dated(10 * time.Minute)(r); r.Duration = "10m00s" })
		c.Hub.Git(t, "update-ref", c.home.Namespace().Inbox("fixer", p.ID), held.Tip)
		s := c.load(t, c.other, p)
		refusedAs(t, "not_yet_valid", s.Early)
		assert.Equal(t, h.Nonce, s.Claim.Nonce)
		c.forge(t, c.by(by), s, record.Failed, c.dated(0))
		c.Pass(10 * time.Minute)

		s = c.load(t, again(c.other), p)
		assert.Equal(t, phase, s.Phase(), "%s: %v", by, s.Dispute)
		require.NoError(t, again(c.other).Reader.Audit(t.Context(), c.home, refs.Ref{Name: c.lane(p.ID), OID: s.LaneTip}, LaneAudit{
			Entry: func(*Entry) error { return nil },
			State: func(s *State) error { assert.Equal(t, phase, s.Phase(), by); return nil },
		}))
	}
}

// A lease ends at most a day after the claim was first seen, whatever lease the claim names.
func TestLeaseEndsADayAfterTheClaimWasSeen(t *testing.T) {
	c := newRoles(t)
	c.remembering(t)
	p := c.offer(t, c.source, "fixer")
	seen := c.Now()
	c.forge(t, c.peer, c.load(t, c.holder, p), record.Claimed, c.dated(48*time.Hour))
	c.load(t, c.holder, p)
	c.Pass(48 * time.Hour)
	s := c.load(t, again(c.holder), p)
	require.Equal(t, Held, s.Phase())
	assert.Equal(t, seen.Add(MaxLease), s.Lease)
	_, _, err := c.tryClaim(t.Context(), c.holder, p)
	require.NoError(t, err, "it ran out long ago")
}

// An offer or a receipt that is dated ahead does not count before its time.
func TestOfferAndReceiptDatedAheadWait(t *testing.T) {
	c := newRoles(t)
	ahead := remade(c.source, func(s *Setup) { s.Now = func() time.Time { return c.Now().Add(time.Hour) } })
	p := c.offer(t, ahead, "fixer")
	s := c.load(t, c.holder, p)
	assert.Equal(t, Absent, s.Phase())
	refusedAs(t, "not_yet_valid", s.Err())
	_, _, err := c.tryClaim(t.Context(), c.holder, p)
	refusedAs(t, "not_yet_valid", err)
	c.Pass(time.Hour)
	h := c.claim(t, c.holder, p)
	c.forge(t, c.holder, c.load(t, c.holder, p), record.Acknowledged, func(r *record.Record) { c.dated(time.Hour)(r); r.Duration = "1h00m00s" })
	s = c.load(t, c.holder, p)
	assert.Equal(t, Held, s.Phase())
	assert.Equal(t, h.Nonce, s.Claim.Nonce)
	c.Pass(time.Hour)
	s = c.load(t, c.holder, p)
	assert.Equal(t, Ended, s.Phase(), s.Dispute)
}

// An entry must not be older than its predecessor or than the id of its handoff.
func TestEntryOlderThanItsPredecessorIsDisputed(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.Pass(time.Hour)
	c.claim(t, c.holder, p)
	c.forge(t, c.root, c.load(t, c.holder, p), record.Failed, c.dated(-ClockSkew-time.Second))
	s := c.load(t, c.holder, p)
	refusedAs(t, "disputed", s.Dispute)
	assert.Contains(t, s.Dispute.Error(), "is dated")
	assert.Contains(t, s.Dispute.Error(), c.root.Author.Signer.KID())
	assert.Nil(t, s.Receipt)

	p = c.offer(t, c.source, "fixer")
	h := c.claim(t, c.holder, p)
	c.forge(t, c.holder, c.load(t, c.holder, p), record.Acknowledged, c.dated(-ClockSkew))
	assert.Equal(t, Ended, c.load(t, c.holder, p).Phase(), "clocks differ by %s: %s", ClockSkew, h.Nonce)

	env := c.envelope(t, "investigator", "fixer")
	c.Pass(-ClockSkew - time.Second)
	payload, err := c.source.Author.Prepare(t.Context(), c.home, env, "")
	require.NoError(t, err)
	c.Pass(ClockSkew + time.Second)
	_, err = c.source.Offer(t.Context(), c.home, payload)
	require.NoError(t, err)
	refusedAs(t, "disputed", c.load(t, c.holder, Place{Agent: "fixer", ID: env.ID}).Dispute)
}

// A clone forgets the oldest entries that it recorded as ahead, and can read its file again.
func TestMemoryOfDatesAheadIsBounded(t *testing.T) {
	a := Ahead{Path: filepath.Join(t.TempDir(), "ahead")}
	oid := func(i int) string {
		return strings.Repeat("0", 36) + string([]byte{byte('a' + i>>12&15), byte('a' + i>>8&15), byte('a' + i>>4&15), byte('a' + i&15)})
	}
	for i := range maxAhead + 10 {
		a.note(oid(i), enginetest.Start())
	}
	b, err := os.ReadFile(a.Path)
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(b), "\n"), maxAhead)
	later := Ahead{Path: a.Path}
	assert.Equal(t, enginetest.Start(), later.seen(oid(maxAhead+9)))
	assert.Zero(t, later.seen(oid(0)))
}

// A repeated offer must have the content of the first, and changes nothing. An agent cannot make another agent's
// handoff its own with it.
func TestRepeatedOfferChangesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		by   string
		edit func(*record.Record)
	}{
		"under another name": {"other", func(r *record.Record) { r.From, r.Actor = "reporter", "reporter" }},
		"by another key":     {"other", func(r *record.Record) { r.Actor = "reporter" }},
		"for another inbox":  {"source", func(r *record.Record) { r.To = "reviewer" }},
		"another task":       {"source", func(r *record.Record) { r.Task = "LIN-1" }},
		"another expiry":     {"source", func(r *record.Record) { r.Expires = r.Expires.Add(time.Hour) }},
		"by a root":          {"root", func(*record.Record) {}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newRoles(t)
			p := c.offer(t, c.source, "fixer")
			first := c.load(t, c.holder, p)
			c.reoffer(t, c.by(tc.by), first, tc.edit)
			s := c.load(t, c.holder, p)
			refusedAs(t, "replayed", s.Dispute)
			assert.Equal(t, first.Offer, s.Offer)
			assert.Equal(t, first.To, s.To)
		})
	}
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	first := c.load(t, c.holder, p)
	c.Pass(time.Hour)
	c.reoffer(t, c.source, first, func(r *record.Record) { r.At, r.Nonce = c.Now(), strings.Repeat("a", 32) })
	s := c.load(t, c.holder, p)
	assert.Equal(t, Open, s.Phase(), s.Dispute)
	assert.Equal(t, first.Offer, s.Offer, "it changes nothing")
}

// reoffer appends the first entry of a lane again, edited and signed by another engine.
func (c *roles) reoffer(t *testing.T, by *Engine, s *State, edit func(*record.Record)) {
	t.Helper()
	rec := *s.Offer
	rec.Key, rec.Actor = by.Author.Signer.KID(), by.Author.Actor
	edit(&rec)
	b := &batch{engine: by, home: c.home}
	payload := rec.Payload
	rec.Payload = ""
	require.NoError(t, b.entry(t.Context(), sign.Mail(b.engine.Author.Actor), rec, payload, s.LaneTip))
	require.NoError(t, c.home.Apply(t.Context(), b.transaction()))
}

// retire retires a key as "trust remove" does, and records the entries that were seen.
func (c *roles) retire(t *testing.T, e *Engine) {
	t.Helper()
	seen, err := Seen(t.Context(), c.source.Repo)
	require.NoError(t, err)
	i := slices.IndexFunc(c.Trusted, func(entry sign.TrustEntry) bool { return entry.KID == e.Author.Signer.KID() })
	c.Trusted[i].Retired, c.Trusted[i].Seen = c.Now().Format(time.RFC3339), seen
	c.Spread(t)
}

// A retired key takes no step, whatever date an entry has. Entries that were seen before it was retired stay
// valid.
func TestRetiredKeyDatesBack(t *testing.T) {
	c := newRoles(t)
	done := c.offer(t, c.source, "fixer")
	_, _, err := c.peer.Acknowledge(t.Context(), c.home, c.claim(t, c.peer, done), Outcome{})
	require.NoError(t, err)
	held, open := c.offer(t, c.source, "fixer"), c.offer(t, c.source, "fixer")
	c.claim(t, c.peer, held)
	before := c.Now().Add(-time.Second)
	c.Pass(time.Second)
	c.retire(t, c.peer)
	c.Pass(time.Second)
	late := func(r *record.Record) { c.dated(before.Sub(c.Now()))(r) }

	c.forge(t, c.peer, c.load(t, c.holder, open), record.Claimed, late)
	c.forge(t, c.peer, c.load(t, c.holder, held), record.Acknowledged, late)
	for _, p := range []Place{open, held} {
		s := c.load(t, again(c.holder), p)
		refusedAs(t, "key_revoked", s.Dispute)
		assert.Nil(t, s.Receipt)
	}
	s := c.load(t, again(c.holder), done)
	assert.Equal(t, Ended, s.Phase(), "what had been seen stands")
	assert.NoError(t, s.Dispute)
	assert.Equal(t, Held, c.held(t, held).Phase())
}

// endedAhead dates the end of a claim made now.
func (c *roles) endedAhead(by time.Duration) func(*record.Record) {
	return func(r *record.Record) {
		c.dated(by)(r)
		r.Duration = record.Duration(by)
	}
}

// Times are whole seconds, and clocks differ. So the lane decides whether a step was taken before its key was
// retired: one that was seen then counts with the date of the retirement, or with a later one as far as clocks may
// differ. Any other entry with such a date does not count.
func TestRetiredAtTheTimeOfItsStep(t *testing.T) {
	for _, ahead := range []time.Duration{0, ClockSkew} {
		c := newRoles(t)
		done, given := c.offer(t, c.source, "fixer"), c.offer(t, c.source, "fixer")
		c.claim(t, c.peer, done)
		_, err := c.peer.Release(t.Context(), c.home, c.claim(t, c.peer, given), false)
		require.NoError(t, err)
		other := c.offer(t, c.source, "fixer")
		c.claim(t, c.peer, other)
		c.forge(t, c.peer, c.load(t, c.holder, done), record.Acknowledged, c.endedAhead(ahead))
		c.retire(t, c.peer)
		c.forge(t, c.peer, c.load(t, c.holder, other), record.Acknowledged)

		s := c.load(t, again(c.holder), done)
		assert.NoError(t, s.Dispute)
		assert.Equal(t, Ended, s.Phase())
		refusedAs(t, "key_revoked", c.load(t, again(c.holder), other).Dispute)
		_, _, err = c.tryClaim(t.Context(), again(c.holder), given)
		assert.NoError(t, err, "a claim that was given back is history")
	}
}

// An entry that did not count yet when its key was retired never counts.
func TestRetiredBeforeItsStepCounted(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.peer, p)
	c.forge(t, c.peer, c.load(t, c.holder, p), record.Acknowledged, c.endedAhead(ClockSkew+time.Second))
	c.retire(t, c.peer)
	c.Pass(time.Minute)
	refusedAs(t, "key_revoked", c.load(t, again(c.holder), p).Dispute)
}

// A key that its owner revoked as superseded takes no step with an earlier date either. Such a key keeps its
// past, so a thief could otherwise date new entries back.
func TestRevokedKeyDatesBack(t *testing.T) {
	c := newRoles(t)
	clock := c.Now
	keys := sign.Keystore{Dir: filepath.Join(t.TempDir(), "keys"), Now: func() time.Time { return clock() }}
	signer, err := keys.Generate("peer", "peer <agent@example.com>", nil, c.Now().Add(-time.Hour), rand.Reader)
	require.NoError(t, err)
	i := slices.IndexFunc(c.Trusted, func(entry sign.TrustEntry) bool { return entry.KID == c.peer.Author.Signer.KID() })
	c.peer.Author.Signer = signer
	c.Trusted[i].KID, c.Trusted[i].Key = signer.KID(), signer.Public().Text()
	c.Spread(t)
	done, open := c.offer(t, c.source, "fixer"), c.offer(t, c.source, "fixer")
	_, _, err = c.peer.Acknowledge(t.Context(), c.home, c.claim(t, c.peer, done), Outcome{})
	require.NoError(t, err)
	before := c.Now().Add(-time.Second)
	c.Pass(time.Second)

	text, err := os.ReadFile(filepath.Join(keys.Dir, "peer.asc"))
	require.NoError(t, err)
	ring, err := openpgp.ReadArmoredKeyRing(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, ring[0].RevokeKey(packet.KeySuperseded, "", &packet.Config{Time: c.Now}))
	var public bytes.Buffer
	w, err := armor.Encode(&public, openpgp.PublicKeyType, nil)
	require.NoError(t, err)
	require.NoError(t, ring[0].Serialize(w))
	require.NoError(t, w.Close())
	c.Trusted[i].Key = public.String()
	c.Trusted[i].Seen, err = Seen(t.Context(), c.source.Repo)
	require.NoError(t, err)
	c.Spread(t)
	c.Pass(time.Second)

	clock = func() time.Time { return before }
	c.forge(t, c.peer, c.load(t, c.holder, open), record.Claimed, c.dated(before.Sub(c.Now())))
	refusedAs(t, "key_revoked", c.load(t, again(c.holder), open).Dispute)
	s := c.load(t, again(c.holder), done)
	assert.Equal(t, Ended, s.Phase(), "what had been seen stands")
	assert.NoError(t, s.Dispute)
}

// held returns the state of a handoff without its dispute.
func (c *roles) held(t *testing.T, p Place) *State {
	t.Helper()
	s := c.load(t, again(c.holder), p)
	s.Dispute = nil
	return s
}

// git gc keeps the seen entries that were recorded, and a later command reads them.
func TestSeenEntriesSurviveGC(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.peer, "fixer")
	c.Pass(time.Second)
	c.retire(t, c.peer)
	c.Hub.Git(t, "gc", "--quiet", "--prune=now")
	assert.Equal(t, Open, c.load(t, again(c.holder), p).Phase())
	out := c.Hub.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling")
	assert.Empty(t, strings.TrimSpace(out))
}

// A retired root key joins no more histories. Joins that were seen before stay valid.
func TestRetiredRootJoins(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	offered := c.load(t, c.holder, p).LaneTip
	_, _, err := c.holder.Acknowledge(t.Context(), c.home, c.claim(t, c.holder, p), Outcome{})
	require.NoError(t, err)
	acked := c.load(t, c.holder, p).LaneTip
	// Make a second history from before the claim, in which the root revokes the handoff.
	b := &batch{engine: c.root, home: c.home}
	s := c.load(t, c.holder, p)
	rec := nextRecord(&State{ID: s.ID, Offer: s.Offer, To: s.To})
	require.NoError(t, c.root.Author.stamp(&rec, record.Revoked, ""))
	inForm(&rec, s.Offer)
	require.NoError(t, b.entry(t.Context(), sign.Mail(b.engine.Author.Actor), rec, s.Payload, offered))
	fork := b.lanes[0].New
	require.NoError(t, c.repo.Store.Write(b.transaction().Objects...))
	join, err := c.root.Join(t.Context(), fork, acked)
	require.NoError(t, err)
	require.NoError(t, c.repo.Store.Write(join))

	c.Hub.Git(t, "update-ref", c.lane(p.ID), join.OID)
	assert.Equal(t, record.Revoked, c.load(t, again(c.holder), p).Receipt.Event, "a good root may")
	c.Pass(time.Second)
	c.Hub.Git(t, "update-ref", c.lane(p.ID), acked)
	c.retire(t, c.root)
	c.Hub.Git(t, "update-ref", c.lane(p.ID), join.OID)
	_, err = again(c.holder).Reader.Load(t.Context(), c.home, p)
	refusedAs(t, "rollback", err)

	c.retire(t, c.root) // now the join counts as seen before
	assert.Equal(t, Ended, c.load(t, again(c.holder), p).Phase())
}

// The recorded tips of all possible lanes can be read again, for each object format.
func TestSeenOfEveryLane(t *testing.T) {
	for _, format := range []gitobj.Format{gitobj.SHA1, gitobj.SHA256} {
		tips := map[string]string{}
		const digits = "0123456789abcdefghjkmnpqrstvwxyz"
		for _, a := range digits {
			for _, b := range digits {
				tips[string(a)+string(b)] = format.Hash("blob", []byte(string(a)+string(b)))
			}
		}
		require.Len(t, tips, handoff.MaxLanes)
		tree, err := encodeTips(format, tips)
		require.NoError(t, err)
		assert.LessOrEqual(t, int64(len(tree.Body)), MaxTips, format)
		assert.Equal(t, tips, parseTips(tree))
	}
}
