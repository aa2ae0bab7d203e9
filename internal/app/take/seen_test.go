package take

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/work"
)

// Without a look at the hub an agent claims only offers of its own share, since other agents will soon claim
// those of theirs.
func TestInOwnShare(t *testing.T) {
	keys := sign.NewKeystore(func(v string) string { return map[string]string{"HOME": t.TempDir()}[v] })
	var entries []sign.TrustEntry
	var signers []sign.Signer
	for _, name := range []string{"a", "b"} {
		signer, err := keys.Generate(name, name, nil, at().Add(-time.Hour), rand.Reader)
		require.NoError(t, err)
		signers = append(signers, signer)
		entries = append(entries, sign.TrustEntry{KID: signer.KID(), Key: signer.Public().Text(), Agents: []string{"pool"}, Roles: []string{sign.RoleRecipient}})
	}
	trust, err := enginetest.NewTrust(entries...)
	require.NoError(t, err)
	var both []*choice
	for _, signer := range signers {
		both = append(both, &choice{search: &search{Handler: &Handler{Engine: lifecycle.New(lifecycle.Setup{Repo: &refs.Repo{}, Trust: trust, Signer: signer, Now: at, Random: rand.Reader})}}})
	}
	for _, it := range waiting(t, 50) {
		one, err := both[0].inOwnShare(it)
		require.NoError(t, err)
		other, err := both[1].inOwnShare(it)
		require.NoError(t, err)
		assert.NotEqual(t, one, other, "each offer is of one share")
	}
	alone, err := enginetest.NewTrust(entries[0])
	require.NoError(t, err)
	both[0].Engine.Keys.Trust = alone
	for _, it := range waiting(t, 50) {
		mine, err := both[0].inOwnShare(it)
		require.NoError(t, err)
		assert.True(t, mine, "nobody else takes from the inbox")
	}
}

// A recorded claim is forgotten if another agent holds the handoff or if it has ended. While the handoff is
// open, a git that outlived its command may still bring the claim to the hub.
func TestSuperseded(t *testing.T) {
	h := &work.Claim{Nonce: "ours", Earlier: []string{"before"}}
	offer := &record.Record{}
	for name, tc := range map[string]struct {
		state lifecycle.State
		want  bool
	}{
		"open":                   {lifecycle.State{Offer: offer}, false},
		"held by it":             {lifecycle.State{Offer: offer, Claim: &record.Record{Nonce: "ours"}}, false},
		"held by an earlier one": {lifecycle.State{Offer: offer, Claim: &record.Record{Nonce: "before"}}, false},
		"held by another":        {lifecycle.State{Offer: offer, Claim: &record.Record{Nonce: "theirs"}}, true},
		"over":                   {lifecycle.State{Offer: offer, Receipt: &record.Record{}}, true},
	} {
		assert.Equal(t, tc.want, superseded(&tc.state, h), name)
	}
}

// The record of a claim that was never sent is removed. It stays if an earlier try may have reached the hub.
func TestIsOnlyTry(t *testing.T) {
	for name, tc := range map[string]struct {
		record *work.Claim
		want   bool
	}{
		"none":             {nil, false},
		"the only try":     {&work.Claim{Nonce: "ours"}, true},
		"an earlier try":   {&work.Claim{Nonce: "ours", Earlier: []string{"before"}}, false},
		"shown to someone": {&work.Claim{Nonce: "ours", Printed: true}, false},
		"released":         {&work.Claim{}, false},
	} {
		assert.Equal(t, tc.want, isOnlyTry(tc.record), name)
	}
}
