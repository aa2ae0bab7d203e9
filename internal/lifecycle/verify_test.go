package lifecycle

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

func TestVerify(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	s := c.load(t, c.holder, p)
	v, err := c.holder.Verifier.Verify(t.Context(), c.home, s, Options{})
	require.NoError(t, err)
	assert.Equal(t, p.ID, v.Envelope().ID)
	assert.Equal(t, c.source.Author.Signer.KID(), v.Sender().KID())
	assert.Equal(t, v.Offer().Digest, handoff.Digest(v.Bytes()))
	assert.Same(t, s, v.State())
}

// A later version may add members to an envelope. A version that does not know them says so.
func TestVerifyNamesANewerVersion(t *testing.T) {
	c := newRoles(t)
	p := forgery{blob: func(b []byte) []byte {
		return bytes.Replace(b, []byte(`"goal":`), []byte(`"future":1,"goal":`), 1)
	}}.offer(t, c)
	_, err := c.holder.Verifier.Verify(t.Context(), c.home, c.load(t, c.holder, p), Options{})
	require.True(t, fault.Is(err, fault.Malformed), "%v", err)
	assert.Contains(t, err.Error(), "future: unknown member")
	assert.Contains(t, fault.As(err).Advice(), "newer version of githandoff")
}

// forgery describes a payload that its sender signed and that breaks a rule.
type forgery struct {
	env     func(*handoff.Envelope)
	blob    func([]byte) []byte
	tree    func(blob []byte) []byte // gets the raw id of the blob
	record  func(*record.Record)
	parents []string
	raw     func([]byte) []byte // edits the body of the commit
	agent   string              // inbox; "" for that of the target
	inLane  func(*record.Record)
}

func (f forgery) offer(t *testing.T, c *roles) Place {
	t.Helper()
	env := c.envelope(t, "investigator", "fixer")
	id := env.ID
	if f.env != nil {
		f.env(env)
	}
	body, err := handoff.Canonical(env)
	require.NoError(t, err)
	if f.blob != nil {
		body = f.blob(body)
	}
	blob := refs.NewObject(gittest.Objects(), "blob", body)
	oid, err := hex.DecodeString(blob.OID)
	require.NoError(t, err)
	tree := append([]byte("100644 handoff.json\x00"), oid...)
	if f.tree != nil {
		tree = f.tree(oid)
	}
	treeObject := refs.NewObject(gittest.Objects(), "tree", tree)
	rec := record.Record{
		ID: id, From: "investigator", To: "fixer", Home: c.home.ID(), Digest: handoff.Digest(body),
		Expires: c.Now().Add(DefaultTTL), Task: env.Task, Counts: env.Counts(), Status: env.Status,
	}
	require.NoError(t, c.source.Author.stamp(&rec, record.Offered, ""))
	if f.record != nil {
		f.record(&rec)
	}
	commit := c.signed(t, c.source, rec, treeObject.OID, f.parents...)
	if f.raw != nil {
		commit = refs.NewObject(gittest.Objects(), "commit", f.raw(commit.Body))
	}
	agent := "fixer"
	if f.agent != "" {
		agent = f.agent
	}
	b := &batch{engine: c.source, home: c.home}
	b.move(c.home.Namespace().Inbox(agent, id), "", commit)
	laneTip, err := c.repo.Resolve(t.Context(), c.lane(id))
	require.NoError(t, err)
	if f.inLane != nil {
		f.inLane(&rec)
	}
	require.NoError(t, b.entry(t.Context(), sign.Mail(b.engine.Author.Actor), rec, commit.OID, laneTip))
	tx := b.transaction()
	tx.Objects = append(tx.Objects, blob, treeObject)
	require.NoError(t, c.home.Apply(t.Context(), tx))
	return Place{Agent: agent, ID: id}
}

// A trusted sender can break these rules by mistake or on purpose.
func TestVerifyRefuses(t *testing.T) {
	entry := func(mode, name string, oid []byte) []byte { return append([]byte(mode+" "+name+"\x00"), oid...) }
	for _, tc := range []struct {
		name, reason string
		forgery
	}{
		{"nothing", "", forgery{}},
		{"two files", "malformed_object", forgery{tree: func(o []byte) []byte {
			return append(entry("100644", "extra", o), entry("100644", "handoff.json", o)...)
		}}},
		{"a symbolic link", "malformed_object", forgery{tree: func(o []byte) []byte { return entry("120000", "handoff.json", o) }}},
		{"an executable", "malformed_object", forgery{tree: func(o []byte) []byte { return entry("100755", "handoff.json", o) }}},
		{"another name", "malformed_object", forgery{tree: func(o []byte) []byte { return entry("100644", "HANDOFF.json", o) }}},
		{"an empty tree", "malformed_object", forgery{tree: func([]byte) []byte { return nil }}},
		{"a file that is not there", "malformed_object", forgery{tree: func([]byte) []byte { return entry("100644", "handoff.json", make([]byte, 20)) }}},
		{"too large", "too_large", forgery{blob: func([]byte) []byte { return bytes.Repeat([]byte(" "), handoff.MaxEnvelope+1) }}},
		{"not canonical", "non_canonical", forgery{blob: func(b []byte) []byte { return append([]byte(" "), b...) }}},
		{"no JSON", "malformed", forgery{blob: func([]byte) []byte { return []byte("{") }}},
		{"a later version", "unknown_schema", forgery{blob: func(b []byte) []byte {
			return bytes.Replace(b, []byte("githandoff/1"), []byte("githandoff/2"), 1)
		}}},
		{"another digest", "digest_mismatch", forgery{record: func(r *record.Record) { r.Digest = "sha256:" + strings.Repeat("0", 64) }}},
		{"an envelope of another handoff", "handoff_mismatch", forgery{env: func(e *handoff.Envelope) { e.ID = otherID }}},
		{"another source", "handoff_mismatch", forgery{env: func(e *handoff.Envelope) { e.Source.Agent = "reporter" }}},
		{"another target", "handoff_mismatch", forgery{env: func(e *handoff.Envelope) { e.Target.Agent = new("reviewer") }}},
		{"another task", "handoff_mismatch", forgery{record: func(r *record.Record) { r.Task = "LIN-1" }}},
		{"another parent", "handoff_mismatch", forgery{record: func(r *record.Record) { r.Parent = otherID }}},
		{"another status", "handoff_mismatch", forgery{record: func(r *record.Record) { r.Status = "blocked" }}},
		{"another expiry", "handoff_mismatch", forgery{record: func(r *record.Record) { r.Expires = r.Expires.Add(time.Hour) }}},
		{"another repository", "audience_mismatch", forgery{env: func(e *handoff.Envelope) { e.Target.Repo = "git+https://example.com/acme/other" }}},
		{"another inbox", "audience_mismatch", forgery{agent: "reviewer"}},
		{"a secret", "secret_found", forgery{env: func(e *handoff.Envelope) {
			e.Detail = "ghp_" + "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"
		}}},
		{"a transcript", "transcript_found", forgery{env: func(e *handoff.Envelope) { e.Detail = "Human: hi\n\nAssistant: hello\n\nHuman: go\n" }}},
		{"two signatures", "malformed_object", forgery{raw: func(b []byte) []byte {
			return bytes.Replace(b, []byte(gittest.SignatureHeader()+" "), []byte(gittest.SignatureHeader()+" x\n"+gittest.SignatureHeader()+" "), 1)
		}}},
		{"unsigned", "unsigned", forgery{raw: func(b []byte) []byte {
			c, err := record.ParseCommit(b)
			if err != nil {
				return nil
			}
			return c.Payload()
		}}},
		{"a signature over other bytes", "signature_invalid", forgery{raw: func(b []byte) []byte {
			return bytes.Replace(b, []byte("steps=1"), []byte("steps=2"), 1)
		}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := newRoles(t)
			p := tc.offer(t, c)
			receiver := c.holder
			if p.Agent == "reviewer" {
				receiver = c.reviewer
			}
			v, _, err := c.tryClaim(t.Context(), receiver, p)
			if tc.reason == "" {
				require.NoError(t, err)
				return
			}
			assert.Nil(t, v)
			require.Error(t, err)
			assert.Equal(t, fault.Reason(tc.reason), fault.As(err).Reason, err)
			assert.NotContains(t, err.Error(), "ghp_", "a secret is never printed")
			assert.Equal(t, []string{"offered"}, events(t, c.fixture, p.ID), "nothing was claimed")
		})
	}
}

// A payload with a parent would bring the history of that parent with it.
func TestVerifyRefusesAParent(t *testing.T) {
	c := newRoles(t)
	code := c.Hub.Git(t, "rev-parse", "HEAD")
	p := forgery{parents: []string{code}}.offer(t, c)
	_, _, err := c.tryClaim(t.Context(), c.holder, p)
	assert.True(t, fault.Is(err, "malformed_object"), err)
}

// The inbox ref and the lane must agree.
func TestVerifyComparesInboxAndLane(t *testing.T) {
	t.Run("a step that was not logged", func(t *testing.T) {
		c := newRoles(t)
		p := c.offer(t, c.source, "fixer")
		h := c.claim(t, c.holder, p)
		s := c.load(t, c.holder, p)
		_, err := c.holder.Release(t.Context(), c.home, h, false)
		require.NoError(t, err)
		now := c.load(t, c.holder, p)
		// The inbox ref goes back to the claim, so that only the lane has the release.
		require.NoError(t, c.repo.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{
			{Ref: c.home.Namespace().Inbox("fixer", p.ID), Old: now.Tip, New: s.Tip},
		}}))
		assert.Equal(t, Open, c.load(t, c.peer, p).Phase(), "the lane decides")
	})
	t.Run("a claim on top that is in no lane", func(t *testing.T) {
		c := newRoles(t)
		p := c.offer(t, c.source, "fixer")
		s := c.load(t, c.holder, p)
		rec := nextRecord(s)
		require.NoError(t, c.holder.Author.stamp(&rec, record.Claimed, s.Tip))
		rec.Lease = rec.At.Add(time.Hour)
		o, err := c.holder.Author.commit(t.Context(), sign.Mail(c.holder.Author.Actor), &rec, s.Chain[0].Commit.Tree, s.Tip)
		require.NoError(t, err)
		require.NoError(t, c.repo.Apply(t.Context(), refs.Transaction{
			Edits: []refs.Edit{{Ref: c.home.Namespace().Inbox("fixer", p.ID), Old: s.Tip, New: o.OID}}, Objects: []*refs.Object{o},
		}))
		noise := c.load(t, c.peer, p)
		assert.Equal(t, Open, noise.Phase())
		assert.True(t, noise.Unlogged())
		_, _, err = c.tryClaim(t.Context(), c.peer, p)
		require.NoError(t, err)
		held := c.load(t, c.peer, p)
		assert.False(t, held.Unlogged())
		assert.Len(t, held.Chain, 2, "the payload, and the claim that is logged")
	})
	t.Run("another payload than the lane names", func(t *testing.T) {
		c := newRoles(t)
		p := c.offer(t, c.source, "fixer")
		s := c.load(t, c.holder, p)
		other := forgery{env: func(e *handoff.Envelope) { e.Goal = "Something else" }}
		q := other.offer(t, c)
		tip := c.load(t, c.holder, q).Tip
		require.NoError(t, c.repo.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{
			{Ref: c.home.Namespace().Inbox("fixer", p.ID), Old: s.Tip, New: tip},
		}}))
		_, _, err := c.tryClaim(t.Context(), c.holder, p)
		assert.True(t, fault.Is(err, "handoff_mismatch"), err)
	})
}

// A handoff of another home is not accepted here, and one of this home is not accepted elsewhere.
func TestVerifyAsksForTheHome(t *testing.T) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	elsewhere := &LocalHome{Repo: c.repo, RepoID: "local:ffffffffffffffffffffffffffffffff"}
	s, err := c.holder.Reader.Load(t.Context(), elsewhere, p)
	require.NoError(t, err)
	assert.True(t, fault.Is(s.Dispute, "audience_mismatch"), s.Dispute)

	byPath := &LocalHome{Repo: c.repo, RepoID: "local:ffffffffffffffffffffffffffffffff", Paths: []string{c.home.RepoID}}
	s, err = c.holder.Reader.Load(t.Context(), byPath, p)
	require.NoError(t, err)
	assert.Equal(t, Open, s.Phase(), "a repository answers to its path as well")
}

// A key must be valid at the time of its signature, and now.
func TestVerifyKeyValidity(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		edit         func(*sign.TrustEntry)
	}{
		{"still valid", "", func(e *sign.TrustEntry) { e.Until = "2026-12-01T00:00:00Z" }},
		{"not any more", "key_expired", func(e *sign.TrustEntry) { e.Until = "2026-11-20T23:00:00Z" }},
		{"retired since", "key_revoked", func(e *sign.TrustEntry) { e.Retired = "2026-11-20T23:00:00Z" }},
		{"not at all", "untrusted_key", func(e *sign.TrustEntry) { e.Roles = []string{sign.RoleRecipient} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newRoles(t)
			p := c.offer(t, c.source, "fixer")
			c.Pass(2 * time.Hour)
			tc.edit(&c.Trusted[0])
			c.Spread(t)
			_, _, err := c.tryClaim(t.Context(), c.holder, p)
			if tc.reason == "" {
				assert.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Equal(t, fault.Reason(tc.reason), fault.As(err).Reason, err)
		})
	}
}

// The entry of a step in its lane has the same record as its commit on the inbox ref, byte for byte, since only
// the lane is kept. An entry with another record counts for no reader, and an audit disputes it as well.
func TestOneRecordTwice(t *testing.T) {
	for name, edit := range map[string]func(*record.Record){
		"another digest":    func(r *record.Record) { r.Digest = "sha256:" + strings.Repeat("0", 64) },
		"another task":      func(r *record.Record) { r.Task = "LIN-1" },
		"another expiry":    func(r *record.Record) { r.Expires = r.Expires.Add(-30 * 24 * time.Hour) },
		"another parent":    func(r *record.Record) { r.Parent = otherID },
		"other counts":      func(r *record.Record) { r.Counts = "steps=7 blockers=0 decisions=0 deliverables=0 files=0" },
		"another status":    func(r *record.Record) { r.Status = handoff.StatusNeedsReview },
		"another time":      func(r *record.Record) { r.At = r.At.Add(-time.Minute) },
		"another principal": func(r *record.Record) { r.Principal = "user:bob@example.com (declared)" },
		"a token": func(r *record.Record) {
			r.Token, r.Principal = "obo_"+strings.Repeat("1", 32), "user:bob@example.com (token)"
		},
	} {
		t.Run("offered: "+name, func(t *testing.T) {
			c := newRoles(t)
			p := forgery{inLane: edit}.offer(t, c)
			s := c.load(t, c.holder, p)
			_, err := c.holder.Verifier.Verify(t.Context(), c.home, s, Options{})
			assert.True(t, fault.Is(err, "disputed"), err)
			_, _, err = c.tryClaim(t.Context(), c.holder, p)
			assert.True(t, fault.Is(err, "disputed"), err)
			assert.Equal(t, []string{"disputed"}, c.audited(t, p))
		})
	}
	for name, edit := range map[string]func(*record.Record){
		"a longer lease": func(r *record.Record) { r.Lease = r.Lease.Add(21 * time.Hour) },
		"another time":   func(r *record.Record) { r.At = r.At.Add(-time.Second) },
		"another claim":  func(r *record.Record) { r.Previous = strings.Repeat("a", gittest.Objects().Digits()) },
	} {
		t.Run("claimed: "+name, func(t *testing.T) {
			c := newRoles(t)
			p := c.offer(t, c.source, "fixer")
			c.forgeTwo(t, c.holder, c.load(t, c.holder, p), record.Claimed, func(*record.Record) {}, edit)
			assert.True(t, fault.Is(c.load(t, c.holder, p).Err(), "disputed"))
			assert.Equal(t, []string{"ok", "disputed"}, c.audited(t, p))
		})
	}
	t.Run("a stranger's commit on top hides nothing", func(t *testing.T) {
		c := newRoles(t)
		p := c.offer(t, c.source, "fixer")
		c.forgeTwo(t, c.holder, c.load(t, c.holder, p), record.Claimed, func(*record.Record) {}, func(r *record.Record) { r.Lease = r.Lease.Add(time.Hour) })
		tip := c.load(t, c.holder, p).Tip
		o, err := c.repo.Read(t.Context(), tip, record.MaxCommit)
		require.NoError(t, err)
		claim, err := record.ParseCommit(o.Body)
		require.NoError(t, err)
		rec := *claim.Record
		rec.Previous = tip
		o = c.signed(t, c.stranger, rec, claim.Tree, tip)
		require.NoError(t, c.repo.Apply(t.Context(), refs.Transaction{
			Objects: []*refs.Object{o}, Edits: []refs.Edit{{Ref: refs.LocalNamespace.Inbox("fixer", p.ID), Old: tip, New: o.OID}},
		}))
		assert.True(t, fault.Is(c.load(t, c.holder, p).Err(), "disputed"))
	})
	t.Run("a stranger's commit in the inbox changes nothing", func(t *testing.T) {
		c := newRoles(t)
		p := c.offer(t, c.source, "fixer")
		h := c.claim(t, c.holder, p)
		s := c.load(t, c.holder, p)
		rec := *s.Chain[1].Commit.Record
		rec.Lease = rec.Lease.Add(time.Hour)
		o := c.signed(t, c.stranger, rec, s.Chain[0].Commit.Tree, s.Chain[0].OID)
		require.NoError(t, c.repo.Apply(t.Context(), refs.Transaction{
			Objects: []*refs.Object{o}, Edits: []refs.Edit{{Ref: refs.LocalNamespace.Inbox("fixer", p.ID), Old: s.Tip, New: o.OID}},
		}))
		s = c.load(t, c.holder, p)
		require.NoError(t, s.Err())
		_, err := c.holder.Verifier.Verify(t.Context(), c.home, s, Options{})
		require.NoError(t, err, "it is read without that commit")
		assert.True(t, s.Unlogged())
		_, _, err = c.holder.Acknowledge(t.Context(), c.home, h, Outcome{})
		assert.NoError(t, err, "its holder can end it")
	})
}

// audited returns the verdict of an audit on each entry of a handoff, oldest first.
func (w *fixture) audited(t *testing.T, p Place) []string {
	t.Helper()
	tip, err := w.repo.Resolve(t.Context(), w.lane(p.ID))
	require.NoError(t, err)
	var verdicts []string
	err = w.engines[0].Reader.Audit(t.Context(), w.home, refs.Ref{Name: w.lane(p.ID), OID: tip}, LaneAudit{
		Entry: func(e *Entry) error {
			verdict := "ok"
			if f := fault.As(e.Dispute); f != nil {
				verdict = string(f.Reason)
			}
			verdicts = append(verdicts, verdict)
			return nil
		},
		State: func(*State) error { return nil },
		Inbox: func(id handoff.ID, _ string) string { return refs.LocalNamespace.Inbox(p.Agent, id) },
	})
	require.NoError(t, err)
	return verdicts
}

// A step must repeat what the offer says about the handoff.
func TestStepsTellTheStoryOfTheOffer(t *testing.T) {
	edits := map[string]func(*record.Record){
		"another task":   func(r *record.Record) { r.Task = "LIN-1" },
		"no task":        func(r *record.Record) { r.Task = "" },
		"another expiry": func(r *record.Record) { r.Expires = r.Expires.Add(time.Hour) },
		"another inbox":  func(r *record.Record) { r.To = "reviewer" },
		"another home":   func(r *record.Record) { r.Home = "git+file:///elsewhere" },
	}
	for _, event := range []record.Event{record.Progressed, record.Released, record.Acknowledged, record.Failed} {
		for name, edit := range edits {
			t.Run(string(event)+": "+name, func(t *testing.T) { storyIsRefused(t, event, edit) })
		}
	}
	for name, edit := range map[string]func(*record.Record){
		"other counts":      func(r *record.Record) { r.Counts = new(handoff.Envelope).Counts() },
		"another status":    func(r *record.Record) { r.Status = handoff.StatusBlocked },
		"another parent":    func(r *record.Record) { r.Parent = otherID },
		"another principal": func(r *record.Record) { r.Principal = "user:ceo@example.com (declared)" },
		"another claim":     func(r *record.Record) { r.Claim = strings.Repeat("1", 32) },
		"another duration":  func(r *record.Record) { r.Duration = "1h00m00s" },
	} {
		t.Run("acknowledged: "+name, func(t *testing.T) { storyIsRefused(t, record.Acknowledged, edit) })
	}
}

func storyIsRefused(t *testing.T, event record.Event, edit func(*record.Record)) {
	c := newRoles(t)
	p := c.offer(t, c.source, "fixer")
	c.claim(t, c.holder, p)
	c.forge(t, c.holder, c.load(t, c.holder, p), event, edit)
	s := c.load(t, c.holder, p)
	assert.Equal(t, Disputed, s.Phase())
	last := s.Entries[len(s.Entries)-1]
	require.Equal(t, event, last.Record().Event)
	f := fault.As(last.Dispute)
	require.NotNil(t, f)
	assert.Contains(t, []fault.Reason{"handoff_mismatch", "audience_mismatch", "disputed"}, f.Reason, f)
}
