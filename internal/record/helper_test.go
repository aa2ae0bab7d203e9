package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gitobj"
	"githandoff/internal/record"
)

const (
	someID  = "ho_01kahcp3g0000000000000000r"
	otherID = "ho_01kahcp3g0000000000000000s"
	oid     = "0123456789abcdef0123456789abcdef01234567"
	nonce   = "000102030405060708090a0b0c0d0e0f"
	digest  = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

	// The text has the form of a signature, but is none. This package does not check signatures.
	signature = "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----\n"
)

func at() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

// plain returns an offer with only the required members.
func plain() *record.Record {
	return &record.Record{
		Event: record.Offered, Actor: "investigator", ID: someID, From: "investigator", To: "fixer",
		Home: "git+https://example.com/acme/client", Digest: digest, Previous: record.None,
		Key: "openpgp:" + oid, Nonce: nonce, At: at(), Expires: at().AddDate(0, 0, 7),
		Counts: counts, Status: "complete",
	}
}

const counts = "steps=3 blockers=0 decisions=2 deliverables=1 files=4"

// least returns a record of an event with only the required trailers. most returns one with all trailers that
// the event may have.
func least(event record.Event) *record.Record { return made(event, record.Must) }

func most(event record.Event) *record.Record {
	r := made(event, record.May)
	if event != record.Joined {
		r.Principal = "user:alice@example.com (token)"
	}
	return r
}

func made(event record.Event, need record.Need) *record.Record {
	r := plain()
	r.Event, r.Actor, r.Counts, r.Status = event, "alice@example.com", "", ""
	if event != record.Offered && event != record.Joined {
		r.Previous = oid
	}
	for name, set := range map[string]func(){
		"Handoff-Lease":          func() { r.Lease = at().Add(time.Hour) },
		"Handoff-Claim":          func() { r.Claim = nonce },
		"Handoff-Next":           func() { r.Next = otherID },
		"Handoff-Task":           func() { r.Task = "LIN-423" },
		"Handoff-Parent":         func() { r.Parent = otherID },
		"Handoff-Counts":         func() { r.Counts = counts },
		"Handoff-Status":         func() { r.Status = "complete" },
		"Handoff-On-Failure":     func() { r.OnFailure = "investigator" },
		"Handoff-Duration":       func() { r.Duration = "1m02s" },
		"Handoff-Data":           func() { r.Data = `{"pr":"#743","why":"\u00e9 \\ \"x\""}` },
		"Handoff-Principal":      func() { r.Principal = "user:alice@example.com (declared)" },
		"Handoff-Token":          func() { r.Token = "obo_" + nonce },
		"Handoff-Skills-Missing": func() { r.SkillsMissing = "code-review, tdd" },
	} {
		if event.Needs(name) >= need {
			set()
		}
	}
	return r
}

// full returns the receipt of a failure, as a lane has it, with all trailers that it may have.
func full() *record.Record {
	r := most(record.Failed)
	r.Payload = oid
	return r
}

func with(edit func(*record.Record)) *record.Record {
	r := full()
	edit(r)
	return r
}

func raw(t testing.TB, r *record.Record, parents ...string) string {
	t.Helper()
	tree := oid
	if r.Payload != "" {
		tree = gitobj.SHA1.EmptyTree()
	}
	c := &record.Commit{Tree: tree, Parents: parents, Email: "agent@example.com", Record: r, Signature: []byte(signature)}
	require.NoError(t, c.Check())
	return string(c.Encode())
}

// swap replaces the only occurrence of old.
func swap(t testing.TB, s, old, next string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(s, old), "%q in\n%s", old, s)
	return strings.Replace(s, old, next, 1)
}
