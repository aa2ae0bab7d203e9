package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/record"
)

// Scan returns the same values as the parser, if the trailers of the commit are in order.
func FuzzScan(f *testing.F) {
	f.Add([]byte(raw(f, plain())))
	f.Add([]byte(raw(f, full(), oid)))
	f.Add([]byte("tree x\nauthor a <b> 1 +0000\n\noffered\n\nHandoff-Id: x\nHandoff-Id: y\nHandoff-Event: z\n"))
	f.Add([]byte("\n\n\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := record.Scan(b)
		c, perr := record.ParseCommit(b)
		if perr != nil {
			return
		}
		require.NoError(t, err)
		want := c.Record
		assert.Equal(t, []any{want.Actor, want.ID, want.Event, want.From, want.To, want.Home, want.Digest, want.Nonce, want.Task, want.Status, want.Parent},
			[]any{got.Actor, got.ID, got.Event, got.From, got.To, got.Home, got.Digest, got.Nonce, got.Task, got.Status, got.Parent})
		assert.True(t, want.At.Equal(got.At) && want.Expires.Equal(got.Expires) && want.Lease.Equal(got.Lease))
		whole, err := record.Reread(b)
		require.NoError(t, err)
		assert.Equal(t, want, whole)
	})
}
