package dialect_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
	"githandoff/internal/handoff"
)

func compileSchema(t *testing.T, format string) *jsonschema.Schema {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "schema", format+".schema.json"))
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	require.NoError(t, err)
	id, _ := doc.(map[string]any)["$id"].(string)
	assert.Equal(t, "urn:githandoff:schema:"+format, id)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource(id, doc))
	schema, err := c.Compile(id)
	require.NoError(t, err)
	return schema
}

func conforms(t *testing.T, schema *jsonschema.Schema, doc string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
	require.NoError(t, err, doc)
	return schema.Validate(v)
}

func TestExamplesConform(t *testing.T) {
	for _, format := range dialect.Formats() {
		schema := compileSchema(t, format)
		files, err := filepath.Glob(filepath.Join("testdata", "examples", format, "*"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			doc := string(embedded(t, file, b))
			if format == dialect.Githandoff {
				// The schema describes a complete envelope, and not a draft.
				d, err := dialect.Import(format, []byte(doc))
				require.NoError(t, err)
				whole, _, err := dialect.Export(format, sent(t, d))
				require.NoError(t, err)
				doc = string(whole)
			}
			assert.NoError(t, conforms(t, schema, doc), file)
		}
	}
}

// An imported document of any format becomes an envelope that conforms to the schema of envelopes.
func TestImportsConform(t *testing.T) {
	schema := compileSchema(t, dialect.Githandoff)
	files, err := filepath.Glob("testdata/examples/*/*")
	require.NoError(t, err)
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		d, err := dialect.Import("", b)
		require.NoError(t, err)
		doc, _, err := dialect.Export(dialect.Githandoff, sent(t, d))
		require.NoError(t, err)
		assert.NoError(t, conforms(t, schema, string(doc)), file)
	}
}

// The importer and the schema accept the same documents.
func TestSchemaAgreesWithImport(t *testing.T) {
	const (
		vox = `{"version":"1.0","session_id":"s","source_agent":"a","target_agent":"b","goal":"g","completed_steps":[],"pending_blockers":[]}`
		ho  = `{"handoff_id":"h","source":{"agent":"a"},"target":{"agent":"b"}}`
	)
	type table struct{ good, bad []string }
	with := func(base string, members ...string) []string {
		out := make([]string, len(members))
		for i, member := range members {
			out[i] = override(t, base, member)
		}
		return out
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := map[string]table{
		dialect.Kelos: {
			good: append([]string{`{"summary":""}`}, with(`{"summary":"s"}`,
				`"version":1`, `"version":null`, `"detail":""`, `"data":{"k":""}`, `"data":null`, `"x":[1]`,
				`"summary":"`+long(4096)+`"`, `"detail":"`+long(65536)+`"`)...),
			bad: append([]string{`{}`, `{"version":1}`}, with(`{"summary":"s"}`,
				`"version":2`, `"version":0`, `"version":"1"`, `"version":1.5`, `"summary":null`, `"summary":7`, `"detail":[]`,
				`"data":[]`, `"data":{"k":1}`, `"data":{"k":null}`,
				`"summary":"`+long(4097)+`"`, `"detail":"`+long(65537)+`"`)...),
		},
		dialect.Vox: {
			good: with(vox, `"relevant_files":["a","b/c","d","e",".github/x"]`, `"relevant_files":null`, `"target_agent":"acme/client"`,
				`"target_agent":"Lead Reviewer"`, `"target_agent":"git@example.com:acme/client.git"`, `"extra":{}`, `"completed_steps":["x"]`,
				`"cryptographic_obo_token":""`, `"cryptographic_obo_token":"`+token()+`"`, `"goal":"`+long(4096)+`"`,
				`"source_agent":"Ünal"`, `"source_agent":"planner#7 (night)"`, `"target_agent":"-x"`, `"target_agent":"a..b"`),
			bad: with(vox, `"version":"1.1"`, `"version":1`, `"session_id":""`, `"session_id":"a\tb"`, `"session_id":null`, `"version":null`,
				`"source_agent":""`, `"source_agent":7`, `"target_agent":7`, `"target_agent":" "`, `"goal":" "`,
				`"goal":"`+long(4097)+`"`, `"completed_steps":null`, `"completed_steps":"x"`, `"pending_blockers":[1]`,
				`"relevant_files":["1","2","3","4","5","6"]`, `"relevant_files":["/etc/passwd"]`, `"relevant_files":["../x"]`,
				`"relevant_files":["a/.GIT/config"]`, `"relevant_files":[""]`, `"relevant_files":["a/.git. /x"]`, `"relevant_files":["git~1"]`, `"relevant_files":["a\\b"]`,
				`"cryptographic_obo_token":"secret"`, `"cryptographic_obo_token":{}`,
				`-version`, `-session_id`, `-source_agent`, `-target_agent`, `-goal`, `-completed_steps`, `-pending_blockers`),
		},
		dialect.HO: {
			good: with(ho, `"context":null`, `"context":{"artifacts":["/TODO/x.md"],"decisions":null}`, `"expectations":{"constraints":[]}`,
				`"rollback":{"on_failure":"","checkpoint_id":"chk_1"}`, `"target":{"agent":null,"reason":"r"}`, `"more":1`,
				`"source":{"agent":"a/b"}`, `"target":{"agent":"QA (night)"}`),
			bad: with(ho, `"handoff_id":""`, `"handoff_id":"`+long(129)+`"`, `"handoff_id":"é"`, `"handoff_id":" h"`, `"handoff_id":7`, `"source":{}`, `"source":[]`,
				`"source":{"agent":" "}`, `"source":{"agent":"a","phase":1}`, `"source":{"agent":"a","phase":"\n"}`, `"target":{}`, `"target":{"agent":""}`,
				`"target":{"agent":"b","reason":"`+long(4097)+`"}`, `"context":[]`, `"context":{"artifacts":"x"}`,
				`"context":{"relevant_memories":[null]}`, `"expectations":{"deliverables":{}}`, `"rollback":{"on_failure":"/"}`,
				`"rollback":{"checkpoint_id":5}`, `"rollback":{"checkpoint_id":"a\nb"}`, `-handoff_id`, `-source`, `-target`),
		},
		dialect.GSD: {
			good: with(`{"version":"1.0"}`, `"next_action":null`, `"next_action":"`+long(4096)+`"`, `"context_notes":"`+long(65536)+`"`, `"phase":3.5`, `"phase":"03"`,
				`"phase_name":null`, `"plan":"a/b"`, `"task":"\n"`, `"completed_tasks":[1,null,{},"x",[]]`, `"blockers":null`, `"uncommitted_files":7`, `"status":7`, `"more":{}`),
			bad: with(`{"version":"1.0"}`, `-version`, `"version":1`, `"version":" "`, `"next_action":7`, `"next_action":"`+long(4097)+`"`,
				`"context_notes":"`+long(65537)+`"`, `"context_notes":[]`, `"phase":[]`, `"phase":"a\nb"`, `"phase_name":"\t"`, `"plan":true`, `"task":{}`,
				`"completed_tasks":{}`, `"remaining_tasks":"x"`, `"blockers":1`, `"human_actions_pending":true`, `"decisions":{}`),
		},
		dialect.Metadata: {
			good: with(`{"status":"complete"}`, `"status":"needs-review"`, `"agent":"Integration Lead"`, `"agent":null`, `"handoff":null`,
				`"handoff":{"next_agent":"x","context":"`+long(4096)+`","more":1}`, `"timestamp":"soon"`, `"skills_invoked":["a"]`,
				`"source_files_verified":["/abs"]`, `"blocked_reason":"moon"`,
				`"status":"blocked","attempted":["x"]`, `"status":"blocked","attempted":["x"],"handoff":{"next_agent":null}`,
				`"status":"needs_clarification","handoff":{"context":"?"}`, `"status":"needs-clarification","questions":["?"]`,
				`"status":"needs_clarification","questions":[{"question":"?","options":null}]`, `"status":"COMPLETE"`, `"status":"Needs Review"`,
				`"status":"NEEDS_CLARIFICATION","questions":"?"`, `"status":"needs_clarification","questions":[{"question":"?","options":[{"label":"a"}]}]`,
				`"agent":"a/b"`, `"handoff":{"next_agent":"é"}`, `"questions":7`, `"questions":[{"options":"a"}]`,
				`"status":"Blocked","attempted":["x"],"blocked_reason":"security-concern"`, `"status":"done"`, `"status":"completed"`, `"status":"needs.review"`,
				`"status":"in-progress"`, `"status":"blocked"`, `"status":"blocked","attempted":[" "]`, `"status":"blocked","attempted":null`),
			bad: with(`{"status":"complete"}`, `-status`, `"status":null`, `"status":""`, `"status":" \t"`, `"status":7`, `"agent":7`,
				`"output_type":[]`, `"output_type":"a\nb"`, `"skills_invoked":"a"`, `"attempted":[1]`, `"handoff":"x"`, `"handoff":{"context":7}`,
				`"handoff":{"next_agent":7}`, `"handoff":{"context":"`+long(4097)+`"}`,
				`"status":"needs_clarification"`, `"status":"needs_clarification","handoff":{"context":""}`,
				`"status":"needs_clarification","questions":[]`, `"status":"needs_clarification","questions":[""]`,
				`"status":"needs_clarification","questions":{"options":[]}`,
				`"status":"needs_clarification","questions":["?",{"question":"?","options":"a"}]`),
		},
	}
	for format, table := range tests {
		schema := compileSchema(t, format)
		for _, doc := range table.good {
			_, err := dialect.Import(format, []byte(doc))
			assert.NoError(t, err, "import %s: %.200s", format, doc)
			assert.NoError(t, conforms(t, schema, doc), "schema %s: %.200s", format, doc)
		}
		for _, doc := range table.bad {
			_, err := dialect.Import(format, []byte(doc))
			assert.Error(t, err, "import %s: %.200s", format, doc)
			assert.Error(t, conforms(t, schema, doc), "schema %s: %.200s", format, doc)
		}
	}
}

// The schema of envelopes accepts the same members as Decode.
func TestSchemaAgreesWithDecode(t *testing.T) {
	schema := compileSchema(t, dialect.Githandoff)
	const base = `{"created_at":"2026-11-20T22:00:00Z","id":"ho_01kdn2xr0g8m4v6t9w1c3e5y7z",` +
		`"salt":"00112233445566778899aabbccddeeff","schema":"githandoff/1","source":{"agent":"a"},` +
		`"status":"complete","summary":"s","target":{"agent":"b"}}`
	good := []string{
		`"goal":"g"`, `"task":"LIN-423"`, `"expires_at":"2026-11-27T22:00:00Z"`, `"target":{"agent":null,"reason":"r","request":"code"}`,
		`"source":{"agent":"a","repo":"local:00112233445566778899aabbccddeeff","phase":"p","commit":"` + strings.Repeat("a", 40) + `","branch":"main","session":"s"}`,
		`"target":{"agent":"b","repo":"git+https://example.com/acme/client"}`, `"data":{"k":""}`, `"detail":"d"`,
		`"status":"blocked","target":{"agent":null},"blocked_reason":"r","attempted":["x"]`, `"status":"blocked","blocked_reason":"r","attempted":["x"]`,
		`"status":"needs_clarification","questions":[{"question":"?","options":[]}]`,
		`"relevant_files":["a","bb:c"]`, `"files_verified":["a.go:1-9","b"]`, `"rollback":{"on_failure":"a","checkpoint":"chk_1"}`,
		`"skills":{"invoked":["x"],"library_read":["y"]}`, `"context":{"artifacts":["/x"],"decisions":["d"],"memories":["m"]}`,
		`"expectations":{"deliverables":["d"],"constraints":["c"],"acceptance_criteria":["a"],"skills":["s"]}`,
		`"parent":"ho_01kdn2xr0g8m4v6t9w1c3e5y70","lineage":[{"id":"ho_01kdn2xr0g8m4v6t9w1c3e5y70","agent":"z","task":"t","summary":"s","data":{"k":"v"}}]`,
		`"obo":{"jti":"obo_00112233445566778899aabbccddeeff","path":"obo/0.json"}`, `"origin":{"format":"kelos","extra":{"/x":1}}`,
	}
	bad := []string{
		`-id`, `-schema`, `-salt`, `-created_at`, `-source`, `-target`, `-status`, `-summary`, `"summary":" "`, `"x":1`, `"schema":"githandoff/2"`,
		`"id":"ho_1"`, `"salt":"0"`, `"created_at":"2026-11-20"`, `"expires_at":"2026-11-27T22:00:00+00:00"`, `"task":"é"`, `"task":" t"`, `"task":""`,
		`"source":{"agent":""}`, `"source":{"agent":"A"}`, `"source":{"agent":"a.lock"}`, `"source":{"agent":"a","commit":"abc"}`,
		`"source":{"agent":"a","repo":"https://example.com/x"}`, `"source":{"agent":"a","branch":"a\nb"}`, `"target":{}`, `"target":{"agent":"b","x":1}`,
		`"status":"done"`, `"status":"blocked"`,
		`"status":"blocked","target":{"agent":null},"blocked_reason":"r","attempted":[" "]`, `"status":"needs_clarification"`,
		`"questions":[{"question":"?"}]`, `"questions":[{"question":" ","options":[]}]`, `"questions":[]`, `"data":{"k":1}`, `"data":{}`,
		`"summary":"` + strings.Repeat("x", 4097) + `"`, `"goal":"` + strings.Repeat("x", 4097) + `"`, `"detail":"` + strings.Repeat("x", 65537) + `"`,
		`"relevant_files":["1","2","3","4","5","6"]`, `"relevant_files":["/x"]`, `"relevant_files":["a/../b"]`, `"relevant_files":["C:x"]`,
		`"relevant_files":["a\\b"]`, `"relevant_files":[".Git/x"]`, `"relevant_files":["a\u200bb"]`, `"files_verified":["../a:1-2"]`, `"completed_steps":[]`,
		`"rollback":{"on_failure":"A"}`, `"rollback":{"checkpoint":"a\nb"}`, `"parent":"x"`, `"lineage":[{"agent":"z"}]`,
		`"obo":{"jti":"x","path":"obo/0.json"}`, `"obo":{"jti":"obo_00112233445566778899aabbccddeeff","path":"obo/00.json"}`,
		`"origin":{}`, `"origin":{"format":"K"}`, `"origin":{"format":"kelos","extra":{}}`,
	}
	decode := func(doc string) error {
		var v any
		require.NoError(t, handoff.ParseStrict([]byte(doc), &v))
		b, err := handoff.Canonical(v)
		require.NoError(t, err)
		_, err = handoff.Decode(b)
		return err
	}
	for _, members := range good {
		doc := override(t, base, members)
		assert.NoError(t, decode(doc), "decode: %s", members)
		assert.NoError(t, conforms(t, schema, doc), "schema: %s", members)
	}
	for _, members := range bad {
		doc := override(t, base, members)
		assert.Error(t, decode(doc), "decode: %.200s", members)
		assert.Error(t, conforms(t, schema, doc), "schema: %.200s", members)
	}
}
