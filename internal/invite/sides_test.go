package invite_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/invite"
)

// key is an Ed25519 signing key of these tests. Its text is the public half in hex.
type key struct {
	private ed25519.PrivateKey
	text    string
}

func newKey(t require.TestingT) key {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return key{private, hex.EncodeToString(public)}
}

func (k key) sign(message []byte) ([]byte, error) {
	return []byte(hex.EncodeToString(ed25519.Sign(k.private, message))), nil
}

func check(text string, message, armored []byte) error {
	public, err := hex.DecodeString(text)
	signature, err2 := hex.DecodeString(string(armored))
	if err != nil || err2 != nil || len(public) != ed25519.PublicKeySize || !ed25519.Verify(public, message, signature) {
		return fault.New(fault.Denied, fault.SignatureInvalid, "signature invalid")
	}
	return nil
}

func offered(t require.TestingT, c invite.Code, k key, o invite.Offer) (*invite.Messages, invite.Pending) {
	o.Key = k.text
	if o.Inviter.Roles == nil {
		o.Inviter = invite.Grant{Agents: []string{"ann"}, Roles: []string{"sender", "recipient"}}
	}
	if o.Joiner.Roles == nil {
		o.Joiner = invite.Grant{Roles: []string{"sender", "recipient"}}
	}
	r, p, err := c.Invite(o, k.sign)
	require.NoError(t, err)
	return again(t, r), p
}

// again returns a record as it is read back from a hub.
func again(t require.TestingT, r *invite.Messages) *invite.Messages {
	b, err := r.Bytes()
	require.NoError(t, err)
	back, err := invite.ParseMessages(b)
	require.NoError(t, err)
	return back
}

func reason(err error) fault.Reason {
	if f := fault.As(err); f != nil {
		return f.Reason
	}
	return ""
}

func TestInviteAndJoin(t *testing.T) {
	ann, bob := newKey(t), newKey(t)
	c := code(t, invite.Pair, "https://example.com/a")
	r, pending := offered(t, c, ann, invite.Offer{Agent: "bob", Joiner: invite.Grant{Roles: []string{"recipient"}, Until: "2027-01-01T00:00:00Z"}})

	waiting, err := pending.Open(r, noon, check)
	require.NoError(t, err)
	assert.Nil(t, waiting, "nobody answered yet")
	assert.Nil(t, c.Joined(r, check))

	o, err := c.Open(r, noon, check)
	require.NoError(t, err)
	assert.Equal(t, ann.text, o.Key)
	assert.Equal(t, []string{"ann"}, o.Inviter.Agents)
	assert.Equal(t, "bob", o.Agent)

	r, err = c.Join(r, invite.Answer{Key: bob.text, Agent: "bob"}, bob.sign)
	require.NoError(t, err)
	r = again(t, r)
	a, err := pending.Open(r, noon, check)
	require.NoError(t, err)
	assert.Equal(t, bob.text, a.Key)
	assert.Equal(t, bob.text, c.Joined(r, check).Key)

	offer, answer, err := r.Shown(c.ID(), check)
	require.NoError(t, err)
	assert.Equal(t, ann.text, offer.Key)
	assert.Equal(t, bob.text, answer.Key)
}

// Each check has its own refusal.
func TestRefused(t *testing.T) {
	ann, bob, mallory := newKey(t), newKey(t), newKey(t)
	c := code(t, invite.Pair, "https://example.com/a")
	record, pending := offered(t, c, ann, invite.Offer{Agent: "bob"})
	join := func(a invite.Answer, k key) *invite.Messages {
		r, err := c.Join(record, a, k.sign)
		require.NoError(t, err)
		return r
	}
	answer := invite.Answer{Key: bob.text, Agent: "bob"}

	t.Run("an offer too late", func(t *testing.T) {
		_, err := c.Open(record, c.Expires, check)
		assert.Equal(t, fault.Expired, reason(err))
	})
	t.Run("an answer too late", func(t *testing.T) {
		_, err := pending.Open(join(answer, bob), c.Expires, check)
		assert.Equal(t, fault.Expired, reason(err))
	})
	t.Run("an offer by who has no code", func(t *testing.T) {
		forged, _ := offered(t, code(t, invite.Pair, c.URL), mallory, invite.Offer{Agent: "bob"})
		_, err := c.Open(forged, noon, check)
		assert.Equal(t, fault.InviteForged, reason(err))
	})
	t.Run("an answer by who has no code", func(t *testing.T) {
		forged, err := code(t, invite.Pair, c.URL).Join(record, answer, bob.sign)
		require.NoError(t, err)
		_, err = pending.Open(forged, noon, check)
		assert.Equal(t, fault.InviteForged, reason(err))
		assert.Nil(t, c.Joined(forged, check))
	})
	t.Run("the key of somebody else in an offer", func(t *testing.T) {
		r, _, err := c.Invite(invite.Offer{Key: ann.text, Inviter: invite.Grant{Roles: []string{"sender"}}}, mallory.sign)
		require.NoError(t, err)
		_, err = c.Open(r, noon, check)
		assert.Equal(t, fault.SignatureInvalid, reason(err))
	})
	t.Run("the key of somebody else in an answer", func(t *testing.T) {
		_, err := pending.Open(join(answer, mallory), noon, check)
		assert.Equal(t, fault.SignatureInvalid, reason(err))
	})
	t.Run("another name than the one that was invited", func(t *testing.T) {
		_, err := pending.Open(join(invite.Answer{Key: bob.text, Agent: "root-bot"}, bob), noon, check)
		assert.Equal(t, fault.AudienceMismatch, reason(err))
	})
	t.Run("a name that is none", func(t *testing.T) {
		free, pending := offered(t, c, ann, invite.Offer{})
		r, err := c.Join(free, invite.Answer{Key: bob.text, Agent: "../x"}, bob.sign)
		require.NoError(t, err)
		_, err = pending.Open(r, noon, check)
		assert.Equal(t, fault.Malformed, reason(err))
		r, _ = offered(t, c, ann, invite.Offer{Agent: "ann@example.com"})
		_, err = c.Open(r, noon, check)
		assert.Equal(t, fault.Malformed, reason(err))
	})
	t.Run("a root key for a pair", func(t *testing.T) {
		for _, grant := range []invite.Grant{{Roles: []string{"root"}}, {Roles: []string{"sender"}, Principals: []string{"user:a@example.com"}}} {
			r, _ := offered(t, c, ann, invite.Offer{Inviter: grant})
			_, err := c.Open(r, noon, check)
			assert.Equal(t, fault.UntrustedRoot, reason(err))
		}
		team := code(t, invite.Team, c.URL)
		r, _ := offered(t, team, ann, invite.Offer{Inviter: invite.Grant{Roles: []string{"root"}}})
		_, err := team.Open(r, noon, check)
		assert.NoError(t, err)
	})
	t.Run("an offer as an answer", func(t *testing.T) {
		_, err := pending.Open(&invite.Messages{Offer: record.Offer, Answer: record.Offer}, noon, check)
		assert.Equal(t, fault.InviteForged, reason(err))
	})
	t.Run("an answer as an offer", func(t *testing.T) {
		_, err := c.Open(&invite.Messages{Offer: join(answer, bob).Answer}, noon, check)
		assert.Equal(t, fault.InviteForged, reason(err))
	})
	t.Run("a changed byte", func(t *testing.T) {
		r := join(answer, bob)
		r.Answer.Document = strings.Replace(r.Answer.Document, `"bob"`, `"rob"`, 1)
		_, err := pending.Open(r, noon, check)
		assert.Equal(t, fault.InviteForged, reason(err))
	})
	t.Run("an offer of another invitation, by who has both codes", func(t *testing.T) {
		other := code(t, invite.Pair, c.URL)
		theirs, _ := offered(t, other, ann, invite.Offer{Agent: "bob"})
		_, err := c.Open(&invite.Messages{Offer: c.Offering(*theirs.Offer)}, noon, check)
		assert.Equal(t, fault.InviteForged, reason(err))
	})
	t.Run("an answer to another invitation, by who has both codes", func(t *testing.T) {
		other := code(t, invite.Pair, c.URL)
		theirs, _ := offered(t, other, mallory, invite.Offer{Agent: "bob"})
		theirs, err := other.Join(theirs, answer, bob.sign)
		require.NoError(t, err)
		r := &invite.Messages{Offer: record.Offer, Answer: c.Answering(*theirs.Answer)}
		_, err = pending.Open(r, noon, check)
		assert.Equal(t, fault.InviteForged, reason(err))
		assert.Nil(t, c.Joined(r, check))
	})
	t.Run("an offer of an earlier version", func(t *testing.T) {
		older := *record.Offer
		older.Document = strings.Replace(older.Document, `"invite":"`+c.ID()+`",`, "", 1)
		older.Document = strings.Replace(older.Document, "-offer/2", "-offer/1", 1)
		_, err := c.Open(&invite.Messages{Offer: c.Offering(older)}, noon, check)
		assert.Equal(t, fault.Malformed, reason(err))
		assert.ErrorContains(t, err, `it is of the schema "githandoff-invite-offer/1", not "githandoff-invite-offer/2"`)
		assert.Contains(t, fault.As(err).Advice(), "update the older one")
	})
	t.Run("a signature that cannot be made", func(t *testing.T) {
		_, _, err := c.Invite(invite.Offer{}, func([]byte) ([]byte, error) { return nil, errors.New("locked") })
		assert.ErrorContains(t, err, "locked")
	})
}

func TestParseRecord_refused(t *testing.T) {
	record, _ := offered(t, code(t, invite.Pair, "x"), newKey(t), invite.Offer{})
	good, err := record.Bytes()
	require.NoError(t, err)
	for name, bad := range map[string]string{
		"empty": "", "no offer": `{}`, "another spelling": strings.Replace(string(good), `{"offer"`, `{ "offer"`, 1),
		"unknown member": `{"offer":{"document":"","mac":"","signature":"","x":""}}`, "too large": strings.Repeat("x", invite.MaxMessages+1),
	} {
		_, err := invite.ParseMessages([]byte(bad))
		assert.Error(t, err, name)
	}
	_, err = invite.ParseMessages(good)
	assert.NoError(t, err)
}

// The refs of the hub contain neither the secret nor a value derived from it, and the state that the inviter
// stores is not enough to make a code.
func TestNoSecretLeaves(t *testing.T) {
	c := code(t, invite.Pair, "https://example.com/a")
	k := newKey(t)
	r, pending := offered(t, c, k, invite.Offer{Agent: "bob"})
	r, err := c.Join(r, invite.Answer{Key: k.text, Agent: "bob"}, k.sign)
	require.NoError(t, err)
	public, err := r.Bytes()
	require.NoError(t, err)
	assert.NotContains(t, string(public), pending.Key)
	assert.NotContains(t, string(public), hex.EncodeToString(c.Secret[:]))
	kept, err := handoff.Canonical(pending)
	require.NoError(t, err)
	assert.NotContains(t, string(kept), hex.EncodeToString(c.Secret[:]))
	assert.NotEqual(t, pending.Key, pending.ID)
	assert.True(t, pending.Expires.Equal(noon.Add(24*time.Hour)))
}

func FuzzParseRecord(f *testing.F) {
	record, _ := offered(f, invite.Code{Kind: invite.Pair, URL: "x", Expires: noon}, newKey(f), invite.Offer{})
	b, err := record.Bytes()
	require.NoError(f, err)
	f.Add(b)
	f.Add([]byte(`{"offer":{"document":"{}","mac":"","signature":""}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := invite.ParseMessages(b)
		if err != nil {
			return
		}
		again, err := r.Bytes()
		require.NoError(t, err)
		assert.Equal(t, b, again)
		_, _, _ = r.Shown("", check)
	})
}
