package dialect_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
	"githandoff/internal/handoff"
)

// through encodes and decodes an envelope, as a handoff does.
func through(t *testing.T, e handoff.Envelope) *handoff.Envelope {
	t.Helper()
	b, err := handoff.Canonical(e)
	require.NoError(t, err)
	var out handoff.Envelope
	require.NoError(t, handoff.ParseStrict(b, &out))
	return &out
}

// sent returns the draft as its sender completes it.
func sent(t *testing.T, d *dialect.Draft) *handoff.Envelope {
	t.Helper()
	e := d.Envelope
	e.Schema = handoff.Schema
	e.ID = "ho_01kdn2xr0g8m4v6t9w1c3e5y7z"
	e.CreatedAt = "2026-11-20T22:00:00Z"
	e.ExpiresAt = "2026-11-27T22:00:00Z"
	e.Salt = "00112233445566778899aabbccddeeff"
	if e.Source.Agent == "" {
		e.Source.Agent = "me"
	}
	e.Source.Branch = "main"
	if e.Status == "" {
		e.Status = handoff.StatusComplete
	}
	b, err := handoff.Encode(&e)
	require.NoError(t, err)
	out, err := handoff.Decode(b)
	require.NoError(t, err)
	return out
}

func TestExamplesComeBack(t *testing.T) {
	files, err := filepath.Glob("testdata/examples/*/*")
	require.NoError(t, err)
	require.Greater(t, len(files), 15)
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			format := filepath.Base(filepath.Dir(file))
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			detected, err := dialect.Detect(b)
			require.NoError(t, err)
			require.Equal(t, format, detected)

			d, err := dialect.Import(format, b)
			require.NoError(t, err)
			want := string(embedded(t, file, b))

			got, warnings, err := dialect.Export(format, through(t, d.Envelope))
			require.NoError(t, err)
			assert.Empty(t, warnings)
			assert.JSONEq(t, want, string(got))

			if format == dialect.Githandoff {
				return
			}
			got, _, err = dialect.Export(format, sent(t, d))
			require.NoError(t, err)
			assert.JSONEq(t, want, string(got), "after the sender filled it in")
		})
	}
}

// embedded finds the JSON of an example without the package under test.
func embedded(t *testing.T, file string, b []byte) []byte {
	t.Helper()
	if filepath.Ext(file) == ".json" {
		return b
	}
	for start, v := range slices.Backward(b) {
		if v != '{' || (start > 0 && b[start-1] != '\n') {
			continue
		}
		for end := len(b); end > start; end-- {
			if json.Valid(b[start:end]) {
				return b[start:end]
			}
		}
	}
	require.Fail(t, "no JSON in "+file)
	return nil
}

// These documents have unknown members, values of every kind, and every form of an empty known member.
func TestOddDocumentsComeBack(t *testing.T) {
	tests := map[string][]string{
		dialect.Kelos: {
			`{"summary":"s"}`,
			`{"version":1.0,"summary":"s","detail":"","data":{}}`,
			`{"version":null,"summary":"s","detail":null,"data":null}`,
			`{"summary":"s","data":{"":"empty","a/b":"x","~":"y"},"~1/~0":{"deep":[{"x":[1,-0,1e-7,true,null]}]},"absent":["/version"]}`,
			`{"summary":"s","data/x":1,"":{"":""},"é\u0000":1e21}`,
		},
		dialect.Vox: {
			`{"version":"1.0","session_id":"s","source_agent":"Vox Planner","target_agent":"Senior Reviewer","goal":"g","completed_steps":[],"pending_blockers":[],"relevant_files":[]}`,
			`{"version":"1.0","session_id":"s","source_agent":"a","target_agent":"acme/client","goal":"g","completed_steps":["x"],"pending_blockers":[],"relevant_files":null,"cryptographic_obo_token":null}`,
			`{"version":"1.0","session_id":"s","source_agent":"a","target_agent":"git+https://example.com/acme/client","goal":"g","completed_steps":[],"pending_blockers":[],"priority":3,"meta":{"goal":"other"}}`,
			`{"version":"1.0","session_id":"s","source_agent":"a","target_agent":"b","goal":"g","completed_steps":[],"pending_blockers":[],"cryptographic_obo_token":"` + token() + `"}`,
			`{"$schema":"https://example.com/vox.json","version":"1.0","session_id":"s","source_agent":"a","target_agent":"fixer@client","goal":"g","completed_steps":[],"pending_blockers":[]}`,
		},
		dialect.Metadata: {
			`{"status":"complete"}`,
			`{"status":"complete","handoff":null}`,
			`{"status":"complete","handoff":{}}`,
			`{"status":"complete","handoff":{"next_agent":""}}`,
			`{"status":"complete","agent":null,"handoff":{"context":"","files":["a"],"next_agent":"QA Guy"},"timestamp":"yesterday"}`,
			`{"status":"needs-review","skills_invoked":null,"library_skills_read":[],"source_files_verified":["/abs","../up","ok.go:1-9","ok.go"]}`,
			`{"status":"needs-clarification","handoff":{"context":"Which one?"}}`,
			`{"status":"needs_clarification","questions":["Which one?"],"handoff":null}`,
			`{"status":"needs_clarification","questions":[{"question":"Which?","options":["a","b"],"by":"me"}],"handoff":{"context":"Undecided"}}`,
			`{"status":"needs_clarification","questions":[],"handoff":{"context":"Which?"}}`,
			`{"status":"blocked","attempted":["all"],"handoff":{"next_agent":null,"context":"c"}}`,
			`{"status":"blocked","blocked_reason":"cosmic_rays","attempted":["all"]}`,
			`{"status":"blocked","attempted":[" "]}`,
			`{"status":"BLOCKED","attempted":null,"blocked_reason":"out_of_scope"}`,
			`{"status":"approved-with-conditions","conditions":["tests"],"agent":"a"}`,
			`{"status":"In Progress"}`,
			`{"status":"complete","questions":["And now?"],"handoff":{"context":"And now?"}}`,
		},
		dialect.HO: {
			`{"handoff_id":"h","source":{"agent":"a"},"target":{"agent":null}}`,
			`{"handoff_id":"h","source":{"agent":"A B","phase":""},"target":{"agent":"b","reason":null},"context":{},"expectations":null,"rollback":{"on_failure":"The Boss","by":1}}`,
			`{"handoff_id":"h","source":{"agent":"a","host":"x"},"target":{"agent":"b","reason":"r","score":0.5},"context":{"artifacts":[],"links":{"a":{"b":[]}}},"expectations":{"skills":["x"],"constraints":null}}`,
		},
	}
	for format, docs := range tests {
		for _, doc := range docs {
			t.Run(format, func(t *testing.T) {
				d, err := dialect.Import(format, []byte(doc))
				require.NoError(t, err, doc)
				forms := map[string]*handoff.Envelope{"draft": through(t, d.Envelope)}
				if d.Envelope.Goal != "" || d.Envelope.Summary != "" {
					forms["sent"] = sent(t, d)
				}
				for name, e := range forms {
					got, _, err := dialect.Export(format, e)
					require.NoError(t, err, doc)
					assert.JSONEq(t, doc, string(got), name)
				}
			})
		}
	}
}

func TestStaleMembersStayOut(t *testing.T) {
	d, err := dialect.Import(dialect.Vox, []byte(`{"version":"1.0","session_id":"s","source_agent":"Vox Planner",
		"target_agent":"acme/client","goal":"g","completed_steps":[],"pending_blockers":[],"priority":3}`))
	require.NoError(t, err)
	fixer := "fixer"
	d.Envelope.Target.Agent = &fixer

	got, warnings, err := dialect.Export(dialect.Vox, &d.Envelope)
	require.NoError(t, err)
	assert.JSONEq(t, `{"version":"1.0","session_id":"s","source_agent":"Vox Planner","target_agent":"fixer","goal":"g",
		"completed_steps":[],"pending_blockers":[],"priority":3}`, string(got))
	assert.Equal(t, []string{"ignored origin.extra: /target_agent contradicts the handoff"}, warnings)
}

// The sender of a document need not be its author.
func TestAuthorIsNotTheSender(t *testing.T) {
	for _, file := range []string{"vox/full.json", "metadata/full.json", "ho/auth-module.json", "kelos/investigate.json"} {
		b, err := os.ReadFile("testdata/examples/" + file)
		require.NoError(t, err)
		d, err := dialect.Import("", b)
		require.NoError(t, err)
		dialect.SentBy(&d.Envelope, "courier")
		assert.Equal(t, "courier", d.Envelope.Source.Agent)
		got, _, err := dialect.Export(d.Envelope.Origin.Format, sent(t, d))
		require.NoError(t, err)
		assert.JSONEq(t, string(b), string(got), file)
	}

	// A document that names nobody, or the sender, needs no note about its author.
	d, err := dialect.Import("", []byte(`{"status":"complete","agent":"courier"}`))
	require.NoError(t, err)
	extra := d.Envelope.Origin.Extra
	dialect.SentBy(&d.Envelope, "courier")
	assert.Equal(t, extra, d.Envelope.Origin.Extra)
	native := handoff.Envelope{Source: handoff.Source{Agent: "a"}}
	dialect.SentBy(&native, "b")
	assert.Equal(t, handoff.Envelope{Source: handoff.Source{Agent: "b"}}, native)
}

// Extras that no import made are kept: nothing fails, and the envelope is not changed.
func TestExtrasOfNoImportAreKept(t *testing.T) {
	e := handoff.Envelope{Summary: "s", Origin: &handoff.Origin{Format: dialect.Kelos, Extra: map[string]any{
		"": 1.0, "x": 2.0, "/": "root", "/a": map[string]any{}, "/a/b": 1.0, "/summary/x": 1.0, "/new/x": true,
		"absent": []any{"/summary", 7.0, "/no/such", "x"}, "/version": 2.0,
	}}}
	got, warnings, err := dialect.Export(dialect.Kelos, &e)
	require.NoError(t, err)
	assert.JSONEq(t, `{"version":1,"summary":"s","":"root","a":{"b":1},"new":{"x":true}}`, string(got))
	assert.Equal(t, []string{
		"ignored origin.extra: /summary contradicts the handoff",
		"ignored origin.extra: /version contradicts the handoff",
	}, warnings)
	assert.Equal(t, map[string]any{}, e.Origin.Extra["/a"])
}
