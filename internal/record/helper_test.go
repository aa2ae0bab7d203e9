package record_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/record"
)

const (
	someID  = "ho_01kahcp3g0000000000000000r"
	otherID = "ho_01kahcp3g0000000000000000s"
	oid     = "0123456789abcdef0123456789abcdef01234567"
	nonce   = "000102030405060708090a0b0c0d0e0f"
	digest  = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

	// It has the form of a signature and is none: this package does not look.
	signature = "-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAQ==\n-----END SSH SIGNATURE-----\n"
)

func at() time.Time { return time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC) }

// plain has what no record lacks.
func plain() *record.Record {
	return &record.Record{
		Event: record.Offered, Actor: "investigator", ID: someID, From: "investigator", To: "fixer",
		Home: "git+https://example.com/acme/client", Digest: digest, Previous: record.None,
		Key: "openpgp:" + oid, Nonce: nonce, At: at(), Expires: at().AddDate(0, 0, 7),
	}
}

// full has every field.
func full() *record.Record {
	r := plain()
	r.Event, r.Actor, r.Previous = record.Failed, "alice@example.com", oid
	r.Lease, r.Claim, r.Next = at().Add(time.Hour), nonce, otherID
	r.Task, r.Parent = "LIN-423", otherID
	r.Counts, r.Status = "steps=3 blockers=0 decisions=2 deliverables=1 files=4", "complete"
	r.Payload, r.Duration = oid, "1m02s"
	r.Data = `{"pr":"#743","why":"\u00e9 \\ \"x\""}`
	r.Principal, r.Token = "user:alice@example.com (token)", "obo_"+nonce
	r.SkillsMissing = "code-review, tdd"
	return r
}

func with(edit func(*record.Record)) *record.Record {
	r := full()
	edit(r)
	return r
}

func raw(t testing.TB, r *record.Record, parents ...string) string {
	t.Helper()
	c := &record.Commit{Tree: oid, Parents: parents, Email: "agent@example.com", Record: r, Signature: []byte(signature)}
	require.NoError(t, c.Check())
	return string(c.Encode())
}

// swap replaces the one place where old stands.
func swap(t testing.TB, s, old, next string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(s, old), "%q in\n%s", old, s)
	return strings.Replace(s, old, next, 1)
}
