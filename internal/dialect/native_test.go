package dialect_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/dialect"
)

func TestDraftComesBack(t *testing.T) {
	for _, doc := range []string{
		`{"schema":"githandoff/1"}`,
		`{"schema":"githandoff/1","goal":"g","target":{"agent":null}}`,
		`{"schema":"githandoff/1","goal":"g","target":{}}`,
		`{"schema":"githandoff/1","goal":"g","target":{"reason":"r"}}`,
		`{"schema":"githandoff/1","goal":"g","source":{}}`,
		`{"schema":"githandoff/1","goal":"g","source":{"agent":"","branch":"main"}}`,
		`{"schema":"githandoff/1","goal":"g","completed_steps":[],"detail":"","data":{},"context":{}}`,
		`{"schema":"githandoff/1","goal":"g","data":{"k":""}}`,
		`{"schema":"githandoff/1","goal":"g","status":"needs_clarification","questions":[{"question":"q"},{"question":"r","options":[]}]}`,
		`{"schema":"githandoff/1","goal":"g","origin":{"format":"ho","extra":{"/a":null,"/b":[],"/c":1}}}`,
	} {
		d, err := dialect.Import("", []byte(doc))
		require.NoError(t, err, doc)
		got, warnings, err := d.Export(dialect.Githandoff)
		require.NoError(t, err, doc)
		assert.Empty(t, warnings)
		assert.JSONEq(t, doc, string(got))
	}
}

// Members that were added to a draft are in its export.
func TestDraftIsFilledIn(t *testing.T) {
	d, err := dialect.Import("", []byte(`{"schema":"githandoff/1","goal":"g","task":"","target":{"agent":null},"source":{}}`))
	require.NoError(t, err)
	to := "fixer"
	d.Envelope.Target.Agent, d.Envelope.Task, d.Envelope.Source.Agent = &to, "LIN-423", "boss"
	got, _, err := d.Export(dialect.Githandoff)
	require.NoError(t, err)
	assert.JSONEq(t, `{"schema":"githandoff/1","goal":"g","task":"LIN-423","target":{"agent":"fixer"},"source":{"agent":"boss"}}`, string(got))
}

func TestDraftsComeBack(t *testing.T) {
	imported := 0
	rapid.Check(t, func(t *rapid.T) {
		o := map[string]any{"schema": "githandoff/1"}
		texts, lists := []any{"", "text"}, []any{[]any{}, []any{"one"}}
		for _, name := range []string{"goal", "summary", "detail", "task", "blocked_reason"} {
			member(o, t, name, texts...)
		}
		for _, name := range []string{"completed_steps", "pending_blockers", "attempted", "files_verified"} {
			member(o, t, name, lists...)
		}
		member(o, t, "data", map[string]any{}, map[string]any{"k": ""})
		inner := map[string][]string{
			"source": {"agent", "branch", "phase"}, "target": {"agent", "reason", "request"}, "rollback": {"on_failure"},
		}
		for _, name := range []string{"source", "target", "rollback"} { // in a fixed order, because rapid repeats its draws
			if !rapid.Bool().Draw(t, name) {
				continue
			}
			in := map[string]any{}
			for _, m := range inner[name] {
				member(in, t, m, texts...)
			}
			o[name] = in
		}
		b, err := json.Marshal(o)
		require.NoError(t, err)
		d, err := dialect.Import(dialect.Githandoff, b)
		if err != nil {
			return
		}
		imported++
		got, _, err := d.Export(dialect.Githandoff)
		require.NoError(t, err)
		require.JSONEq(t, string(b), string(got))
	})
	assert.Greater(t, imported, 10)
}
