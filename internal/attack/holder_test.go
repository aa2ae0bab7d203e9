package attack

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// last returns the newest entry of a lane.
func (s *fixture) last(t *testing.T, f forged) record.Record {
	t.Helper()
	c, err := record.ParseCommit(raw(t, s.Hub, s.Hub.Git(t, "rev-parse", f.lane)))
	require.NoError(t, err)
	return *c.Record
}

// takeOver claims a handoff whose lease is over, with any record.
func (s *fixture) takeOver(t *testing.T, f forged, by sign.Signer, change func(*record.Record)) record.Record {
	t.Helper()
	rec := s.last(t, f)
	if rec.Event == record.Claimed { // or a renewal, on a slow machine
		rec.Claim = rec.Nonce
	}
	rec.Event, rec.Nonce, rec.Key, rec.Payload, rec.Data = record.Claimed, nonce(t), by.KID(), "", ""
	rec.Actor, rec.Counts, rec.Status, rec.Parent, rec.OnFailure = "fixer", "", "", "", ""
	rec.At = time.Now().UTC().Truncate(time.Second)
	rec.Previous, rec.Lease = f.payload, rec.At.Add(time.Hour)
	change(&rec)
	tip := object(t, s.Hub, "commit", signed(t, by, &record.Commit{
		Tree: s.parsed(t, f).Tree, Parents: []string{rec.Previous}, Email: sign.Mail(rec.Actor), Record: &rec,
	}))
	s.Hub.Git(t, "update-ref", f.inbox, tip)
	rec.Payload = f.payload
	s.log(t, by, f.lane, rec)
	return rec
}

// acknowledge ends a handoff by its claim.
func (s *fixture) acknowledge(t *testing.T, f forged, by sign.Signer, claim record.Record) {
	t.Helper()
	rec := claim
	rec.Event, rec.Nonce, rec.Claim, rec.Lease = record.Acknowledged, nonce(t), claim.Nonce, time.Time{}
	rec.At = time.Now().UTC().Truncate(time.Second)
	rec.Duration = record.Duration(rec.At.Sub(claim.At))
	rec.Counts, rec.Status, rec.Parent, rec.Principal = f.rec.Counts, f.rec.Status, f.rec.Parent, f.rec.Principal
	s.log(t, by, f.lane, rec)
	s.Hub.Git(t, "update-ref", "-d", f.inbox)
}

// The nonce of a claim proves who holds a handoff, and the log shows it to everybody. A worker of
// the same inbox that takes the claim over may give its own claim the same nonce. The former holder
// is told all the same that it lost the claim, and does not take the other's end for its own.
func TestClaimWithTheNonceOfAnother(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	worker := s.newKey(t, "worker")
	s.trust(t, "worker", "--agent", "fixer", "--role", "recipient")
	lose := func() (forged, record.Record) {
		t.Helper()
		f := s.forge(t, forgery{})
		s.fixer.Must(t, "resume", string(f.id), "--lease", "1s")
		was := s.last(t, f)
		time.Sleep(time.Until(was.Lease.Add(time.Second)))
		return f, s.takeOver(t, f, worker, func(r *record.Record) { r.Nonce = r.Claim })
	}

	lose()
	sync := s.fixer.Run(t, "sync")
	assert.Equal(t, 5, sync.Code, "%s", sync)
	assert.Contains(t, sync.Stderr, "taken over by fixer")

	f, claim := lose()
	s.acknowledge(t, f, worker, claim)
	ack := s.fixer.Run(t, "ack", string(f.id), "--result", "answer=42")
	assert.Equal(t, 5, ack.Code, "it was somebody else who acknowledged: %s", ack)
}

// A worker that takes a claim over can give its own the nonce of the former one, and leave the former
// commit below it. Both commits have an entry in the lane: the handoff is not disputed, and whoever may
// take it next does. A key that was retired since belongs to the claim that is over.
func TestTwoClaimsWithOneNonce(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	worker, former := s.newKey(t, "worker"), s.newKey(t, "former")
	s.trust(t, "worker", "--agent", "fixer", "--role", "recipient")
	s.trust(t, "former", "--agent", "fixer", "--role", "recipient")
	f := s.forge(t, forgery{})
	was := s.takeOver(t, f, former, func(r *record.Record) { r.Lease = r.At.Add(time.Second) })
	time.Sleep(time.Until(was.Lease.Add(time.Second)))
	claim := s.takeOver(t, f, worker, func(r *record.Record) {
		r.Nonce, r.Previous, r.Lease = r.Claim, s.Hub.Git(t, "rev-parse", f.inbox), r.At.Add(10*time.Second)
	})
	require.Equal(t, was.Nonce, claim.Nonce)
	s.fixer.Must(t, "inbox", "--all")
	s.fixer.Must(t, "verify", string(f.id))
	s.fixer.Must(t, "trust", "remove", former.KID())
	s.fixer.Must(t, "verify", string(f.id))
	time.Sleep(time.Until(claim.Lease.Add(time.Second)))
	s.fixer.Must(t, "resume", string(f.id))
	s.fixer.Must(t, "audit")
}

// The id of the handoff that goes back to the sender derives from the log and a secret of the clone. A
// sender who knows the secret may take the id before: then the receipt does not name that handoff, and
// nothing is said to be sent.
func TestReplyOfAnother(t *testing.T) {
	t.Parallel()
	for name, read := range map[string][]string{"read before": {"inbox", "--all"}, "unread": {"status"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			peer := s.newKey(t, "peer")
			s.trust(t, "peer")
			f := s.forge(t, forgery{})
			s.fixer.Must(t, "resume", string(f.id))
			claim := s.last(t, f)
			other := s.forge(t, forgery{
				id: handoff.DeriveID(claim.At, string(f.id), claim.Nonce, s.secret(t), "follow_up"), by: peer,
				envelope: func(e *handoff.Envelope) { *e.Target.Agent, e.Source.Agent = "boss", "peer" },
				record:   func(r *record.Record) { r.To = "boss" },
			})
			s.fixer.Must(t, read...)
			require.NoError(t, os.WriteFile(filepath.Join(s.fixer.Dir, "new.txt"), []byte("work\n"), 0o644))
			for range 2 {
				r := s.fixer.Run(t, "ack", string(f.id), "--snapshot")
				assert.Equal(t, 5, r.Code, "%s", r)
			}
			assert.NotContains(t, s.fixer.Must(t, "ack", string(f.id)), other.id)
			assert.NotContains(t, s.fixer.Must(t, "show", string(f.id)), other.id)
		})
	}
}
