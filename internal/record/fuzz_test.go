package record_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitobj"
	"githandoff/internal/record"
)

func FuzzParse(f *testing.F) {
	f.Add(plain().Message(), plain().Actor)
	f.Add(full().Message(), full().Actor)
	f.Add(most(record.Routed).Message(), "alice@example.com")
	f.Add([]byte("offered x to y\n\nHandoff-Id: x\nHandoff-Id: y\n"), "fixer")
	f.Add([]byte("\n\n: \n"), "")
	f.Fuzz(func(t *testing.T, message []byte, actor string) {
		r, err := record.Parse(message, actor)
		if err != nil {
			return
		}
		assert.Equal(t, string(message), string(r.Message()))
		for _, c := range message {
			require.True(t, c == '\n' || c >= 0x20 && c <= 0x7e, "byte %#x is shown to people", c)
		}
	})
}

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte(raw(f, plain())))
	f.Add([]byte(raw(f, full(), oid)))
	joined := most(record.Joined)
	joined.Payload = oid
	f.Add([]byte(raw(f, joined, oid, oid)))
	f.Add([]byte("tree \n\n\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := record.ParseCommit(b)
		if err != nil {
			return
		}
		assert.Equal(t, string(b), string(c.Encode()))
	})
}

// Every record that passes Check can be parsed again.
func FuzzCheck(f *testing.F) {
	f.Add("fixer", "agent@example.com", "git+file:///srv/hub", "LIN-423", `{"a":"b"}`, "ssh:SHA256:"+strings.Repeat("A", 43), "1m02s", oid)
	f.Add("alice@example.com", "a@b", "local:"+nonce, "a: b", "Handoff-Id: x", " ", "", record.None)
	f.Add("a", "a", ":", ": ", "\n", "\x7f", "\u00e9", "")
	f.Fuzz(func(t *testing.T, actor, email, home, task, data, key, duration, previous string) {
		r := with(func(r *record.Record) {
			r.Actor, r.Home, r.Task, r.Data, r.Key, r.Duration, r.Previous = actor, home, task, data, key, duration, previous
		})
		c := &record.Commit{Tree: gitobj.SHA1.EmptyTree(), Email: email, Record: r, Signature: []byte(signature)}
		if c.Check() != nil {
			return
		}
		got, err := record.ParseCommit(c.Encode())
		require.NoError(t, err)
		assert.Equal(t, c, got)
	})
}
