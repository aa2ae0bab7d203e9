package lifecycle

import (
	"bytes"
	"context"
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// newSealingRoles returns roles whose holder has a key that can decrypt.
func newSealingRoles(t *testing.T) *roles {
	t.Helper()
	c := newRoles(t)
	keys := sign.Keystore{Dir: filepath.Join(t.TempDir(), "keys"), Now: c.Now}
	signer, err := keys.Generate("fixer", "fixer", nil, enginetest.Start().Add(-time.Hour), rand.Reader)
	require.NoError(t, err)
	c.holder.Author.Signer = signer
	c.Pin(t, enginetest.Entry(signer, "fixer", sign.RoleSender, sign.RoleRecipient))
	return c
}

func sealedOffer(t *testing.T, c *roles) (*Payload, Place) {
	t.Helper()
	p, err := c.source.Author.Sealing().Prepare(t.Context(), c.home, c.envelope(t, "investigator", "fixer"), "")
	require.NoError(t, err)
	_, err = c.source.Offer(t.Context(), c.home, p)
	require.NoError(t, err)
	return p, Place{Agent: p.Agent, ID: p.Record.ID}
}

func TestSealedOpensForItsAgent(t *testing.T) {
	c := newSealingRoles(t)
	prepared, p := sealedOffer(t, c)
	require.NotEqual(t, Outline(&prepared.Record).Counts(), prepared.Record.Counts, "the trailers say more than an outline")
	s := c.load(t, c.holder, p)
	sealed, err := c.holder.Verifier.IsSealed(t.Context(), s)
	require.NoError(t, err)
	assert.True(t, sealed)
	v, err := c.holder.Verifier.Verify(t.Context(), c.home, s, Options{})
	require.NoError(t, err)
	assert.True(t, v.Sealed())
	assert.Equal(t, prepared.Envelope, v.Envelope())
	raw, err := handoff.Encode(v.Envelope())
	require.NoError(t, err)
	assert.Equal(t, raw, v.Bytes())
	assert.NotEqual(t, handoff.Digest(raw), v.Offer().Digest, "it is that of the stored blob")
	for _, o := range prepared.Objects {
		assert.NotContains(t, string(o.Body), "Fix the login")
	}

	_, err = c.source.Verifier.Verify(t.Context(), c.home, c.load(t, c.source, p), Options{})
	assert.ErrorIs(t, err, sign.ErrSealed)
	assert.Equal(t, fault.Reason("audience_mismatch"), fault.As(err).Reason)
	unread, err := c.source.Verifier.Verify(t.Context(), c.home, c.load(t, c.source, p), Options{Unopened: true})
	require.NoError(t, err, "all but the content is in order")
	assert.Equal(t, Outline(unread.Offer()), unread.Envelope())
	back, err := c.source.Verifier.Reload(t.Context(), c.home.Namespace().Inbox("fixer", p.ID))
	require.NoError(t, err, "who sent it delivers it without opening it")
	assert.True(t, back.Sealed)
	assert.Equal(t, Outline(&back.Record), back.Envelope)
}

func TestSealedReceiptSaysNothing(t *testing.T) {
	c := newSealingRoles(t)
	_, p := sealedOffer(t, c)
	h := c.claim(t, c.holder, p)
	s, _, err := c.holder.Acknowledge(t.Context(), c.home, h, Outcome{Data: `{"k":"v"}`, SkillsMissing: "review", Sealed: true})
	require.NoError(t, err)
	assert.Empty(t, s.Receipt.Data)
	assert.Empty(t, s.Receipt.SkillsMissing)
}

// A workspace that only reads opens its key for the first sealed handoff, and not before.
func TestKeyIsOpenedOnlyForASealedHandoff(t *testing.T) {
	c := newSealingRoles(t)
	_, p := sealedOffer(t, c)
	open := c.offer(t, c.source, "fixer")
	reader, asked := remade(c.holder, func(s *Setup) { s.Signer = nil }), 0
	reader.Verifier.Opener = func(context.Context) (sign.Signer, error) { asked++; return c.holder.Author.Signer, nil }
	_, err := reader.Verifier.Verify(t.Context(), c.home, c.load(t, reader, open), Options{})
	require.NoError(t, err)
	assert.Zero(t, asked)
	_, err = reader.Verifier.Verify(t.Context(), c.home, c.load(t, reader, p), Options{})
	require.NoError(t, err)
	assert.Equal(t, 1, asked)
	reader.Verifier.Opener = nil
	_, err = reader.Verifier.Verify(t.Context(), c.home, c.load(t, reader, p), Options{})
	assert.ErrorIs(t, err, sign.ErrSealed)
}

func TestSealNeedsAKeyThatOpens(t *testing.T) {
	for name, tc := range map[string]struct {
		to     string
		edit   func(*handoff.Envelope)
		code   fault.Code
		reason string
	}{
		"SSH keys":     {"reviewer", nil, fault.Policy, "cannot_seal"},
		"nobody known": {"stranger", nil, fault.Denied, "untrusted_key"},
		"nobody yet":   {handoff.Nobody, nil, fault.Usage, "no_agent"},
		"a decision":   {handoff.Nobody, func(e *handoff.Envelope) { e.Status = handoff.StatusNeedsReview }, fault.Usage, "no_agent"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newSealingRoles(t)
			c.agent(t, "reviewer")
			env := c.envelope(t, "investigator", tc.to)
			if tc.edit != nil {
				tc.edit(env)
			}
			_, err := c.source.Author.Sealing().Prepare(t.Context(), c.home, env, "")
			require.Error(t, err)
			assert.Equal(t, fault.Reason(tc.reason), fault.As(err).Reason)
			assert.Equal(t, tc.code, fault.CodeOf(err))
		})
	}
}

// A sealed envelope must obey the rules of every envelope, and match the trailers.
func TestSealedRefuses(t *testing.T) {
	sealedTree := func(oid []byte) []byte { return append([]byte("100644 "+sealedName+"\x00"), oid...) }
	for _, tc := range []struct {
		name, reason string
		forgery
		plain bool
	}{
		{name: "nothing"},
		{name: "another handoff inside", reason: "handoff_mismatch", forgery: forgery{env: func(e *handoff.Envelope) { e.ID = otherID }}},
		{name: "another source inside", reason: "handoff_mismatch", forgery: forgery{env: func(e *handoff.Envelope) { e.Source.Agent = "reporter" }}},
		{name: "another target inside", reason: "handoff_mismatch", forgery: forgery{env: func(e *handoff.Envelope) { e.Target.Agent = new("reviewer") }}},
		{name: "another expiry inside", reason: "handoff_mismatch", forgery: forgery{record: func(r *record.Record) { r.Expires = r.Expires.Add(time.Hour) }}},
		{name: "no expiry inside", reason: "handoff_mismatch", forgery: forgery{env: func(e *handoff.Envelope) { e.ExpiresAt = "" }}},
		{name: "another repository inside", reason: "audience_mismatch", forgery: forgery{env: func(e *handoff.Envelope) { e.Target.Repo = "git+https://example.com/other" }}},
		{name: "a secret inside", reason: "secret_found", forgery: forgery{env: func(e *handoff.Envelope) { e.Goal = "ghp_" + strings.Repeat("a1B2", 9) }}},
		{name: "a conversation inside", reason: "transcript_found", forgery: forgery{env: func(e *handoff.Envelope) {
			e.Goal = "User: hi\nAssistant: hello\nUser: do it\nAssistant: done\n"
		}}},
		{name: "an unknown version inside", reason: "unknown_schema", forgery: forgery{env: func(e *handoff.Envelope) { e.Schema = "githandoff/2" }}},
		{name: "plain text under the name", reason: "malformed", plain: true},
		{name: "too large", reason: "too_large", forgery: forgery{blob: func([]byte) []byte { return make([]byte, maxSealed+1) }}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newSealingRoles(t)
			f := tc.forgery
			f.tree = sealedTree
			if f.blob == nil && !tc.plain {
				f.blob = func(b []byte) []byte {
					sealed, err := sign.Seal(b, []sign.PublicKey{c.holder.Author.Signer.Public()}, c.Now(), rand.Reader)
					require.NoError(t, err)
					return sealed
				}
			}
			p := f.offer(t, c)
			_, err := c.holder.Verifier.Verify(t.Context(), c.home, c.load(t, c.holder, p), Options{})
			if tc.reason == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Equal(t, fault.Reason(tc.reason), fault.As(err).Reason, "%v", err)
		})
	}
	t.Run("sealed under the other name", func(t *testing.T) {
		c := newSealingRoles(t)
		f := forgery{blob: func(b []byte) []byte {
			sealed, err := sign.Seal(b, []sign.PublicKey{c.holder.Author.Signer.Public()}, c.Now(), rand.Reader)
			require.NoError(t, err)
			return sealed
		}}
		_, err := c.holder.Verifier.Verify(t.Context(), c.home, c.load(t, c.holder, f.offer(t, c)), Options{})
		require.Error(t, err)
		assert.Equal(t, fault.Invalid, fault.CodeOf(err))
	})
	t.Run("both names", func(t *testing.T) {
		_, err := parsePayloadTree(gittest.Objects(), bytes.Join([][]byte{
			[]byte("100644 " + envelopeName + "\x00"), make([]byte, 20), []byte("100644 " + sealedName + "\x00"), make([]byte, 20),
		}, nil))
		require.Error(t, err)
		assert.Equal(t, fault.Reason("malformed_object"), fault.As(err).Reason)
	})
}

// An entry of a sealed handoff must not carry readable content: one that does makes the handoff malformed.
func TestSealedHandoffIsQuiet(t *testing.T) {
	c := newSealingRoles(t)
	_, p := sealedOffer(t, c)
	c.claim(t, c.holder, p)
	c.forge(t, c.holder, c.load(t, c.holder, p), record.Progressed, func(r *record.Record) { r.Data = `{"progress":"half"}` })
	_, err := c.holder.Verifier.Verify(t.Context(), c.home, c.load(t, c.holder, p), Options{})
	assert.True(t, fault.Is(err, "malformed_object"), err)
}
