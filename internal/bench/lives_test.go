package bench

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gittest"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// fillLives is fill with handoffs that went their whole way: offered by agent sender, claimed and
// acknowledged by fixer. Nothing but the log is there of them.
func fillLives(b *testing.B, w *fixture, repo *gittest.Repo, home string, n int) {
	b.Helper()
	f := newFiller(b, w, home, "")
	keys := sign.NewKeystore(func(name string) string { return gittest.Getenv(w.Env, name) })
	fixer, err := keys.Load("fixer")
	require.NoError(b, err)
	for i := range n {
		f.offer(b, i, "fixer")
		f.refs = nil
		f.finish(b, fixer)
		if (i+1)%batch == 0 || i+1 == n {
			f.flush(b, repo)
		}
	}
	f.pack(b, repo)
	repo.Git(b, "-c", "pack.window=0", "gc", "--quiet", "--prune=now")
}

// finish claims and acknowledges the handoff that was offered last.
func (f *filler) finish(b *testing.B, signer sign.Signer) {
	b.Helper()
	offer := f.last
	step := func(event record.Event) *record.Record {
		r := &record.Record{
			Event: event, Actor: "fixer", ID: offer.ID, From: offer.From, To: offer.To, Home: offer.Home,
			Digest: offer.Digest, Expires: offer.Expires, Task: offer.Task, Key: signer.KID(), Nonce: nonce(b),
			Previous: offer.Payload, Payload: offer.Payload, At: offer.At,
		}
		return r
	}
	claim := step(record.Claimed)
	claim.Lease = claim.At.Add(time.Hour)
	f.enter(b, signer, claim)
	receipt := step(record.Acknowledged)
	receipt.Claim, receipt.Counts, receipt.Status = claim.Nonce, offer.Counts, offer.Status
	receipt.Principal, receipt.Duration = offer.Principal, record.Duration(0)
	f.enter(b, signer, receipt)
}

func nonce(b *testing.B) string {
	b.Helper()
	var raw [16]byte
	_, err := rand.Read(raw[:])
	require.NoError(b, err)
	return fmt.Sprintf("%x", raw)
}

// enter appends an entry to the lane of its handoff.
func (f *filler) enter(b *testing.B, signer sign.Signer, r *record.Record) {
	b.Helper()
	lane := refs.LocalNamespace.Lane(r.ID)
	o := enginetest.SignCommit(b, signer, &record.Commit{Tree: gittest.Objects().EmptyTree(), Parents: []string{f.lanes[lane]}, Record: r})
	f.objects = append(f.objects, o)
	f.lanes[lane] = o.OID
}
