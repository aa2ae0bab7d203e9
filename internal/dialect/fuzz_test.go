package dialect_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// FuzzImport checks that no input makes an importer panic, that each failure is a refusal, and that an imported
// document can be exported with the same value and meaning, also after it was stored as an envelope.
func FuzzImport(f *testing.F) {
	files, err := filepath.Glob("testdata/examples/*/*")
	require.NoError(f, err)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Add([]byte(`{"summary":"s","data":{"~/":"x"},"a/b":{"~":[1,{}]},"absent":["/version"],"":null}`))
	f.Add([]byte(`{"status":"needs-clarification","handoff":{"next_agent":"A B","context":"?","x":{}},"questions":[]}`))
	f.Add([]byte(`{"handoff_id":"h","source":{"agent":"a"},"target":{"agent":null},"context":{"x":{}},"rollback":null}`))
	f.Add([]byte("Done.\n\n```json\n{\"version\":\"1.0\",\"session_id\":\"s\"}\n```\n"))
	f.Add([]byte("{\"a\":1,\n}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if format, err := dialect.Detect(b); err != nil {
			require.NotNil(t, fault.As(err), "%v", err)
		} else {
			assert.Contains(t, dialect.Formats(), format)
		}
		for _, format := range dialect.Formats() {
			d, err := dialect.Import(format, b)
			if err != nil {
				require.NotNil(t, fault.As(err), "%v", err)
				continue
			}
			first, warnings, err := dialect.Export(format, &d.Envelope)
			require.NoError(t, err)
			assert.Empty(t, warnings)
			again, err := dialect.Import(format, first)
			require.NoError(t, err)
			assert.Equal(t, d.Envelope, again.Envelope)
			assert.Equal(t, d.Token, again.Token)

			second, _, err := dialect.Export(format, through(t, again.Envelope))
			require.NoError(t, err)
			assert.Equal(t, string(first), string(second))

			if root := map[string]any(nil); handoff.ParseStrict(b, &root) == nil && format != dialect.Githandoff {
				want, err := handoff.Canonical(root)
				require.NoError(t, err)
				assert.Equal(t, string(want), string(first))
			}
			for _, other := range dialect.Formats() {
				_, _, err := dialect.Export(other, &d.Envelope)
				if err != nil {
					require.NotNil(t, fault.As(err), "%v", err)
				}
			}
		}
	})
}

func FuzzDecodeToken(f *testing.F) {
	f.Add(token())
	f.Add("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl")
	f.Fuzz(func(t *testing.T, text string) {
		claims, signature, err := dialect.DecodeToken(text)
		if err != nil {
			assert.Equal(t, fault.Denied, fault.CodeOf(err))
			return
		}
		assert.Equal(t, text, dialect.EncodeToken(claims, signature))
	})
}
