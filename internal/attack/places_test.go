package attack

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// attacksOnPlaces leave the payload as boss signed it. They change its place, or the log's
// entries about it.
func attacksOnPlaces() []attack {
	return []attack{
		{"in another agent's inbox", "audience_mismatch", 4, accepts, made(forgery{
			envelope: to("auditor"), record: func(r *record.Record) { r.To = "auditor" }, inbox: "fixer",
		})},
		{"for another repository", "audience_mismatch", 4, accepts, made(forgery{envelope: func(e *handoff.Envelope) {
			e.Target.Repo = "git+https://example.com/acme/server"
		}})},
		{"under another id", "handoff_mismatch", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			other := s.forge(t, forgery{})
			return s.swap(t, other, raw(t, s.Hub, f.payload))
		}},
		{"an offer by a stranger", "untrusted_key", 4, accepts, func(t *testing.T, s *fixture) forged {
			return s.forge(t, forgery{by: s.mallory, envelope: from("mallory")})
		}},
		{"a claim by a stranger", "disputed", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			s.step(t, f, s.mallory, record.Claimed)
			return f
		}},
		{"a claim for a year", "disputed", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			worker, err := s.keys.Load("fixer")
			require.NoError(t, err)
			s.step(t, f, worker, record.Claimed, func(r *record.Record) { r.Lease = r.At.AddDate(1, 0, 0) })
			return f
		}},
		{"a receipt by a retired key that dates back", "disputed", 4, accepts, func(t *testing.T, s *fixture) forged {
			late := s.newKey(t, "late")
			s.trust(t, "late", "--agent", "fixer", "--role", "recipient")
			s.fixer.Must(t, "trust", "remove", late.KID())
			f := s.forge(t, forgery{})
			s.step(t, f, late, record.Failed, func(r *record.Record) { r.At = yesterday() })
			return f
		}},
		{"a receipt by a stranger", "disputed", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			s.step(t, f, s.mallory, record.Acknowledged)
			return f
		}},
		{"a receipt by the sender, who does not hold it", "disputed", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			s.step(t, f, s.boss, record.Acknowledged)
			return f
		}},
		{"another payload for the same offer", "disputed", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			rec := f.rec
			rec.Nonce, rec.Payload = nonce(t), s.forge(t, forgery{}).payload
			s.log(t, s.boss, f.lane, rec)
			return f
		}},
		{"pushed again after its receipt", "replayed", 5, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			s.fixer.Must(t, "resume", "--ack", string(f.id))
			s.Hub.Git(t, "update-ref", f.inbox, f.payload)
			return f
		}},
	}
}

// step appends what purports to be a step on a handoff.
func (s *fixture) step(t *testing.T, f forged, by sign.Signer, event record.Event, edit ...func(*record.Record)) {
	t.Helper()
	rec := f.rec
	rec.Event, rec.Actor, rec.Key, rec.Nonce, rec.Previous, rec.Payload = event, "fixer", by.KID(), nonce(t), f.payload, f.payload
	if event == record.Claimed {
		rec.Lease = rec.At.Add(time.Hour)
	}
	for _, change := range edit {
		change(&rec)
	}
	s.log(t, by, f.lane, rec)
}

func to(agent string) func(*handoff.Envelope) {
	return func(e *handoff.Envelope) { e.Target.Agent = &agent }
}

// sshKey makes an SSH key with ssh-keygen that fixer and git trust until a time.
func (s *fixture) sshKey(t *testing.T, name string, until time.Time) sign.Signer {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	cmd := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path)
	cmd.Env = s.Env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	s.trust(t, path+".pub", "--agent", name, "--until", handoff.FormatTime(until))
	public, err := os.ReadFile(path + ".pub")
	require.NoError(t, err)
	line := name + ` valid-before="` + until.Format("20060102150405Z") + `" ` + string(public)
	require.NoError(t, os.WriteFile(s.allowed(), []byte(line), 0o600))
	key, err := sign.OpenSigner(t.Context(), sign.Options{Key: path})
	require.NoError(t, err)
	return key
}

// endedKey returns an OpenPGP key that fixer and gpg know, that signs as of yesterday
// and ended since.
func (s *fixture) endedKey(t *testing.T, name string) sign.Signer {
	t.Helper()
	entity, err := openpgp.NewEntity(name, "", "", &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return yesterday().Add(-keyAge) },
		KeyLifetimeSecs: uint32((keyAge + 12*time.Hour).Seconds()),
	})
	require.NoError(t, err)
	var private bytes.Buffer
	w, err := armor.EncodeWithChecksumOption(&private, openpgp.PrivateKeyType, nil, true)
	require.NoError(t, err)
	require.NoError(t, entity.SerializePrivateWithoutSigning(w, nil))
	require.NoError(t, w.Close())
	key, err := sign.OpenSigner(t.Context(), sign.Options{Env: private.String(), Keystore: sign.Keystore{Now: yesterday}})
	require.NoError(t, err)
	public := filepath.Join(s.Dir, name+".asc")
	require.NoError(t, os.WriteFile(public, []byte(key.Public().Text()), 0o600))
	s.trust(t, public, "--agent", name)
	require.NoError(t, importKey(s.Env, key))
	return key
}

// copyHome pushes what a hub has of a handoff to another hub.
func (s *fixture) copyHome(t *testing.T, f forged, url string) {
	t.Helper()
	s.Hub.Git(t, "push", "--quiet", url, f.inbox, f.lane)
}

// A handoff that turns up whole at another home is refused there.
func TestReplayedElsewhere(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	f := s.forge(t, forgery{})
	elsewhere := filepath.Join(s.Dir, "elsewhere.git")
	s.Hub.Git(t, "init", "--quiet", "--bare", elsewhere)
	s.copyHome(t, f, elsewhere)
	s.fixer.Must(t, "repo", "add", "elsewhere", elsewhere)
	s.fixer.Git(t, "config", "handoff.pull", "elsewhere")
	got := refusalOf(t, s.fixer.Run(t, "resume", string(f.id), "--json"))
	require.Equal(t, "audience_mismatch", got.Reason, got.Message)
}

// A hub that takes back what this clone has seen is refused, also where only
// the receipt is gone.
func TestRollback(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]string{"by one entry": "~1", "to the first": "~2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			f := s.forge(t, forgery{})
			s.fixer.Must(t, "resume", "--ack", string(f.id))
			s.Hub.Git(t, "update-ref", f.lane, f.lane+back)
			s.Hub.Git(t, "update-ref", f.inbox, f.payload)
			r := s.fixer.Run(t, "resume", string(f.id), "--json")
			got := refusalOf(t, r)
			require.Equal(t, "rollback", got.Reason, got.Message)
			require.Equal(t, 4, r.Code)
		})
	}
}
