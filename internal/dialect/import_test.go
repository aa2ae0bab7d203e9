package dialect_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

func importFile(t *testing.T, file string) *dialect.Draft {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	d, err := dialect.Import("", b)
	require.NoError(t, err)
	return d
}

func TestImportKelos(t *testing.T) {
	d := importFile(t, "testdata/examples/kelos/investigate.json")
	assert.True(t, strings.HasPrefix(d.Envelope.Summary, "Root cause: null pointer in auth.go:142"))
	assert.Contains(t, d.Envelope.Detail, "auth.go:142 → session.Validate()\n")
	assert.Equal(t, map[string]string{
		"root_cause_file": "pkg/auth/auth.go", "root_cause_line": "142", "severity": "critical", "issue_key": "LIN-423",
	}, d.Envelope.Data)
	assert.Equal(t, &handoff.Origin{Format: "kelos"}, d.Envelope.Origin)
	assert.Empty(t, d.Warnings)
	assert.Empty(t, d.Envelope.Status)
}

func TestImportVox(t *testing.T) {
	d := importFile(t, "testdata/examples/vox/full.json")
	assert.Equal(t, handoff.Envelope{
		Source:          handoff.Source{Agent: "investigator", Session: "3f2b8a64-58d1-4c0e-9a8e-7f1f2f6f0a11"},
		Target:          handoff.Target{Agent: new("client_repo")},
		Goal:            "Make the session middleware refuse expired cookies",
		CompletedSteps:  []string{"Reproduced the 500 on /protected", "Found the missing nil check in auth.go"},
		PendingBlockers: []string{"panic: runtime error: invalid memory address"},
		RelevantFiles:   []string{"pkg/auth/auth.go", "pkg/auth/middleware.go"},
		Origin:          &handoff.Origin{Format: "vox"},
	}, d.Envelope)
	assert.Empty(t, d.Warnings)
}

// A target that is not an agent must not become one by accident.
func TestImportVoxTarget(t *testing.T) {
	const base = `{"version":"1.0","session_id":"s","source_agent":"a","goal":"g","completed_steps":[],"pending_blockers":[],"target_agent":`
	tests := []struct {
		target, warning string
		want            handoff.Target
	}{
		{target: "fixer", want: handoff.Target{Agent: new("fixer")}},
		{
			target: "Senior  Go Reviewer", want: handoff.Target{Agent: new("senior-go-reviewer")},
			warning: `target_agent: "Senior  Go Reviewer" is taken as "senior-go-reviewer"`,
		},
		{
			target: "git+https://example.com/acme/client", want: handoff.Target{Repo: "git+https://example.com/acme/client"},
			warning: `target_agent: "git+https://example.com/acme/client" names a repository; name the receiver with --to`,
		},
		{target: "acme/client", warning: `target_agent: "acme/client" names a repository; name the receiver with --to`},
		{target: "fixer@client", warning: `target_agent: "fixer@client" names a repository; name the receiver with --to`},
	}
	for _, tt := range tests {
		d, err := dialect.Import("vox", []byte(base+`"`+tt.target+`"}`))
		require.NoError(t, err, tt.target)
		assert.Equal(t, tt.want, d.Envelope.Target)
		assert.Equal(t, tt.warning, strings.Join(d.Warnings, "|"))
		if tt.warning != "" && tt.want.Repo == "" {
			assert.Equal(t, map[string]any{"/target_agent": tt.target}, d.Envelope.Origin.Extra)
		}
	}
}

func TestImportMetadata(t *testing.T) {
	d := importFile(t, "testdata/examples/metadata/output.md")
	assert.Equal(t, handoff.Envelope{
		Source:        handoff.Source{Agent: "integration-lead"},
		Target:        handoff.Target{Agent: new("integration-developer"), Request: "integration-architecture"},
		Status:        handoff.StatusNeedsReview,
		Goal:          "Architecture complete. Approval required before implementation.",
		Skills:        &handoff.Skills{Invoked: []string{"writing-plans"}},
		FilesVerified: []string{"pkg/tasks/wiz.go:1-200", "pkg/tasks/xpanse.go"},
		Origin: &handoff.Origin{Format: "metadata", Extra: map[string]any{
			"/status":            "needs-review",
			"/timestamp":         "2026-01-14T14:30:22Z",
			"/feature_directory": ".claude/.output/integrations/shodan/",
		}},
	}, d.Envelope)
	assert.Empty(t, d.Warnings)

	d = importFile(t, "testdata/examples/metadata/blocked.json")
	assert.Equal(t, "security_concern", d.Envelope.BlockedReason)
	assert.Len(t, d.Envelope.Attempted, 1)
	assert.Nil(t, d.Envelope.Target.Agent)
	assert.Equal(t, []string{"missing: agent, output_type, timestamp, feature_directory, skills_invoked"}, d.Warnings)

	d = importFile(t, "testdata/examples/metadata/needs_clarification.json")
	assert.Equal(t, []handoff.Question{{
		Question: "Cannot determine authentication method. User must specify: API key, OAuth2, or mutual TLS?", Options: []string{},
	}}, d.Envelope.Questions)
	assert.Equal(t, d.Envelope.Goal, d.Envelope.Questions[0].Question)
}

func TestImportMetadataTolerates(t *testing.T) {
	d, err := dialect.Import("metadata", []byte(`{"status":"blocked","attempted":["x"],"output_type":"review","handoff":null,
		"timestamp":"14 January","agent":"Lead Dev","source_files_verified":["ok.go:1-2","/abs.go"],"skills_invoked":[],"feature_directory":"d"}`))
	require.NoError(t, err)
	assert.Equal(t, "unknown", d.Envelope.BlockedReason)
	assert.Equal(t, "lead-dev", d.Envelope.Source.Agent)
	assert.Equal(t, "review: blocked", d.Envelope.Summary)
	assert.Equal(t, []string{"ok.go:1-2"}, d.Envelope.FilesVerified)
	assert.Equal(t, []string{
		`source_files_verified: 1 of 2 are not paths in the repository, such as "/abs.go"`,
		`agent: "Lead Dev" is taken as "lead-dev"`,
		`timestamp: "14 January" is not an RFC 3339 time`,
		`missing: handoff.context`,
		`blocked_reason: missing, taken as unknown`,
	}, d.Warnings)

	for _, status := range []string{"approved", "approved-with-recommendations", "approved_with_conditions", "in-progress", "in_progress", "needs_validation", "Done"} {
		doc := `{"status":"` + status + `","agent":"a"}`
		d, err = dialect.Import("", []byte(doc))
		require.NoError(t, err)
		assert.Equal(t, "needs_review", d.Envelope.Status)
		assert.Contains(t, d.Warnings, `status: "`+status+`" is taken as needs_review`)
		assert.Equal(t, status, d.Envelope.Origin.Extra["/status"])
		got, _, err := dialect.Export("metadata", sent(t, d))
		require.NoError(t, err)
		assert.JSONEq(t, doc, string(got))
	}

	d, err = dialect.Import("metadata", []byte(`{"status":"blocked","blocked_reason":"test_failures","handoff":{"context":"c"}}`))
	require.NoError(t, err)
	assert.Equal(t, []string{"unknown"}, d.Envelope.Attempted)
	assert.Contains(t, d.Warnings, "attempted: missing, taken as unknown")

	d, err = dialect.Import("metadata", []byte(`{"status":"blocked","attempted":["x"],"blocked_reason":"bad_moon"}`))
	require.NoError(t, err)
	assert.Equal(t, "bad_moon", d.Envelope.BlockedReason)
	assert.Contains(t, d.Warnings, `blocked_reason: "bad_moon" is not one of the known reasons`)
}

// A word for nobody is not read as an agent: the handoff would wait in that agent's inbox for ever.
func TestImportNobody(t *testing.T) {
	for _, nobody := range []string{"none", "NONE", "null", " None "} {
		doc := `{"agent":"a","status":"complete","skills_invoked":[],"handoff":{"next_agent":"` + nobody + `","context":"c"}}`
		d, err := dialect.Import("", []byte(doc))
		require.NoError(t, err)
		assert.Nil(t, d.Envelope.Target.Agent)
		assert.Contains(t, d.Warnings, `handoff.next_agent: "`+nobody+`" is not an agent: somebody has to decide who takes it`)
		got, _, err := dialect.Export("metadata", sent(t, d))
		require.NoError(t, err)
		assert.JSONEq(t, doc, string(got))
	}
	d, err := dialect.Import("", []byte(`{"agent":"a","status":"complete","handoff":{"next_agent":"none-of-us","context":"c"}}`))
	require.NoError(t, err)
	assert.Equal(t, "none-of-us", *d.Envelope.Target.Agent)

	const doc = `{"handoff_id":"x","source":{"agent":"a"},"target":{"agent":"b","reason":"r"},"rollback":{"on_failure":"none"}}`
	d, err = dialect.Import("", []byte(doc))
	require.NoError(t, err)
	assert.Nil(t, d.Envelope.Rollback)
	assert.Equal(t, []string{`rollback.on_failure: "none" is not an agent`}, d.Warnings)
	got, _, err := dialect.Export("ho", sent(t, d))
	require.NoError(t, err)
	assert.JSONEq(t, doc, string(got))
}

func TestImportHO(t *testing.T) {
	d := importFile(t, "testdata/examples/ho/auth-module.json")
	assert.Equal(t, handoff.Envelope{
		Task:   "ho_abc123",
		Source: handoff.Source{Agent: "architect", Phase: "design_complete"},
		Target: handoff.Target{Agent: new("auto-code"), Reason: "Implementation of auth module"},
		Goal:   "Implementation of auth module",
		Context: &handoff.Context{
			Artifacts: []string{"/TODO/auth-module.md"},
			Decisions: []string{"Use JWT", "bcrypt for passwords"},
			Memories:  []string{"User prefers explicit error handling"},
		},
		Expectations: &handoff.Expectations{
			Deliverables:       []string{"Auth implementation with tests"},
			Constraints:        []string{"No breaking API changes"},
			AcceptanceCriteria: []string{"Tests passing", "Type check clean"},
		},
		Rollback: &handoff.Rollback{OnFailure: "architect", Checkpoint: "chk_def456"},
		Origin:   &handoff.Origin{Format: "ho"},
	}, d.Envelope)
	assert.Empty(t, d.Warnings)
}

func TestImportGSD(t *testing.T) {
	d := importFile(t, "testdata/examples/gsd/paused.json")
	assert.Equal(t, dialect.GSD, d.Format)
	assert.Equal(t, []string{"uncommitted_files: 1 file not committed, which the receiver cannot see"}, d.Warnings)
	e := d.Envelope
	assert.Equal(t, []string{"Add the nil check in auth.go", "The middleware passes expired cookies on.", "03/2/3", "03 sessions"},
		[]string{e.Goal, e.Summary, e.Task, e.Source.Phase})
	assert.Equal(t, []string{"1 Reproduce the failure (1a2b3c4)", "2 Write a failing test"}, e.CompletedSteps)
	assert.Equal(t, []string{"3 Check for a nil session"}, e.Expectations.Deliverables)
	assert.Equal(t, []string{"No key for the staging host; workaround: use the local one", "Ask for the key"}, e.PendingBlockers)
	assert.Equal(t, []string{"Refuse expired cookies — they hold no session"}, e.Context.Decisions)

	d = importFile(t, "testdata/examples/gsd/odd.json")
	assert.Equal(t, []string{"one", "2", "null", `{"x":[]}`, "three"}, d.Envelope.CompletedSteps)
	assert.Equal(t, []string{"as text"}, d.Envelope.Context.Decisions)
	assert.Empty(t, d.Envelope.Task)
}

func TestImportDraft(t *testing.T) {
	d := importFile(t, "testdata/examples/githandoff/draft.json")
	assert.Equal(t, handoff.Envelope{
		Schema: handoff.Schema, Target: handoff.Target{Agent: new("fixer")}, Status: handoff.StatusComplete,
		Summary: "The nil check is missing in auth.go.", Data: map[string]string{"severity": "critical"},
	}, d.Envelope)
}

// Each refusal names the member. schema_test.go has the long table of refusals.
func TestImportRefuses(t *testing.T) {
	long := strings.Repeat("x", 70000)
	tests := []struct {
		format, doc, reason, message string
	}{
		{"kelos", `{}`, "malformed", "kelos: summary: required member is missing"},
		{"kelos", `{"summary":"s","version":2}`, "malformed", "kelos: version: want 1, not 2"},
		{"kelos", `{"summary":"` + long + `"}`, "too_large", "kelos: summary: 70000 bytes, limit 4096"},
		{"kelos", `{"summary":"s","detail":"` + long[:65000] + `","data":{"k":"` + long[:536] + `"}}`, "too_large", "kelos: data: 65537 bytes with detail, limit 65536"},
		{"kelos", `{"summary":"s","data":{"b":"","a":7}}`, "malformed", `kelos: data: member "a": want a string, not a number`},
		{"kelos", `{"summary":"s","summary":"s"}`, "malformed", "kelos: summary: appears twice"},
		{"kelos", `{"summary":"s","x":{"y":1,"y":2}}`, "malformed", "kelos: x.y: appears twice"},
		{"kelos", `{"Summary":"t"}`, "malformed", "kelos: Summary: write it summary"},
		{"kelos", `{"summary":"s","Summary":"t"}`, "malformed", "kelos: Summary: write it summary"},
		{"kelos", `{"summary":"s","\u017fummary":"t"}`, "malformed", "kelos: ſummary: write it summary"},
		{"kelos", `{"summary":"s"} x`, "malformed", "kelos: document: "},
		{"kelos", `{"summary":"s","id":12345678901234567890}`, "malformed", "kelos: id: the integer 12345678901234567890 is too long"},
		{"kelos", `{"summary":"s","x":[[[[[[[[[[[[[[1]]]]]]]]]]]]]]}`, "too_large", `kelos: "/x": nested too deeply, limit 16 levels in an envelope`},
		{"kelos", `{"summary":"s","x":"` + long + long + `"}`, "too_large", "kelos: document: 140022 bytes, limit 131072"},
		{"kelos", `no markers`, "malformed", "kelos: document: neither JSON, nor Markdown with a ```json block, nor a log with markers"},
		{"kelos", `{"summary":"s"`, "malformed", "kelos: document: "},
		{"metadata", `{"status":"complete","output_type":"a\nb"}`, "malformed", "metadata: output_type: must be one line without control characters"},
		{"ho", `{"handoff_id":"h","source":{"agent":"a","phase":"\u001b"},"target":{"agent":"b"}}`, "malformed", "ho: source.phase: must be one line without control characters"},
		{"vox", `{"version":"2.0"}`, "malformed", `vox: version: want "1.0", not "2.0"`},
		{"vox", `{"version":1}`, "malformed", `vox: version: want "1.0", not 1`},
		{"vox", "\xff\xfe{\x00}\x00", "malformed", `vox: document: it is UTF-16; write UTF-8`},
		{"ho", `{"handoff_id":"h","source":{"agent":"a"},"target":{"agent":"b"},"rollback":{"on_failure":"Ünal"}}`, "malformed", `ho: rollback.on_failure: agent "`},
		{"ho", `{"handoff_id":"h","source":{"agent":"a"},"target":{"agent":"b"},"rollback":{"On_Failure":"x"}}`, "malformed", "ho: rollback.On_Failure: write it rollback.on_failure"},
		{"ho", `{"handoff_id":"h","source":{"agent":"a"},"target":{}}`, "malformed", "ho: target.agent: required member is missing"},
		{"metadata", `{"agent":"a"}`, "malformed", "metadata: status: required member is missing"},
		{"metadata", `{"status":"needs_clarification"}`, "malformed", "metadata: handoff.context: needs_clarification without a question"},
		{"metadata", "# No block", "malformed", "metadata: document: neither JSON, nor Markdown with a ```json block, nor a log with markers"},
		{"metadata", "```json\n{\"status\":\n```\n", "malformed", "metadata: document: "},
		{"githandoff", `{"summary":"s"}`, "malformed", "githandoff: schema: required member is missing"},
		{"githandoff", `{"schema":"githandoff/2","new":1}`, "unknown_schema", `githandoff: schema: "githandoff/2", this version reads "githandoff/1"`},
		{"githandoff", `{"schema":1}`, "unknown_schema", `githandoff: schema: 1, this version reads "githandoff/1"`},
		{"githandoff", `{"schema":["githandoff/1"]}`, "unknown_schema", `githandoff: schema: an array, this version reads "githandoff/1"`},
		{"githandoff", `{"schema":{}}`, "unknown_schema", `githandoff: schema: an object, this version`},
		{"githandoff", `{"schema":true}`, "unknown_schema", `githandoff: schema: true, this version`},
		{"githandoff", `{"schema":"githandoff/1","new":1}`, "malformed", "githandoff: new: unknown member"},
		{"githandoff", `{"schema":"githandoff/1","relevant_files":["/x"]}`, "invalid_path", "githandoff: relevant_files[0]: not a relative path"},
		{"githandoff", `null`, "malformed", "githandoff: document: want an object, not null"},
	}
	for _, tt := range tests {
		_, err := dialect.Import(tt.format, []byte(tt.doc))
		require.Error(t, err, tt.message)
		assert.Equal(t, fault.Invalid, fault.CodeOf(err), err.Error())
		assert.True(t, fault.Is(err, fault.Reason(tt.reason)), "%s: %s", tt.reason, err)
		assert.True(t, strings.HasPrefix(err.Error(), "format "+tt.message), "%s", err)
	}

	_, err := dialect.Import("yaml", nil)
	assert.Equal(t, fault.Usage, fault.CodeOf(err))
	_, _, err = dialect.Export("yaml", &handoff.Envelope{})
	assert.Equal(t, fault.Usage, fault.CodeOf(err))
}

func TestDetect(t *testing.T) {
	tests := []struct{ doc, want string }{
		{`{"schema":"githandoff/1"}`, "githandoff"},
		{`{"schema":"other/3","summary":"s"}`, "githandoff"},
		{`{"target":{"agent":"x"},"status":"complete","summary":"s"}`, "githandoff"},
		{`{"handoff_id":"x","source":{}}`, "ho"},
		{`{"version":"1.0","session_id":"s"}`, "vox"},
		{`{"version":1,"summary":"s"}`, "kelos"},
		{"\ufeff \r\n{\"summary\":\"s\"}", "kelos"},
		{`{"handoff":null}`, "metadata"},
		{"text\n---KELOS_HANDOFF_START---\n{}\n---KELOS_HANDOFF_END---\n", "kelos"},
		{"{\"log\":\"json\"}\n---KELOS_HANDOFF_START---\n{}\n---KELOS_HANDOFF_END---\n", "kelos"},
		{"about ---KELOS_HANDOFF_START--- markers\n\n```json\n{\"handoff\":null}\n```\n", "metadata"},
		{"I print\n---KELOS_HANDOFF_START---\nin the end\n\n```json\n{\"status\":\"complete\",\"attempted\":[]}\n```\n", "metadata"},
		// A member that belongs only to another format is an extra member.
		{`{"version":1,"summary":"s","status":"done","session_id":"x","handoff_id":"h"}`, "kelos"},
		{`{"version":1,"summary":"s","source":{"tool":"t"}}`, "kelos"},
		{`{"agent":"a","status":"complete","session_id":"x","handoff_id":"h","version":1,"summary":"s"}`, "kelos"},
		{`{"agent":"a","status":"blocked","attempted":["x"],"version":1,"summary":"s"}`, "metadata"},
		{`{"status":"complete","handoff":{},"source":{}}`, "metadata"},
		{`{"version":"1.0","session_id":"s","source_agent":"a","target_agent":"b","goal":"g","status":"x","summary":"s","handoff_id":"h"}`, "vox"},
		{`{"handoff_id":"x","source":{},"target":{},"status":"complete","version":"1.0","session_id":"s"}`, "ho"},
		// A document without a required member is refused with the name of that member.
		{`{"version":1,"detail":"d"}`, "kelos"},
		{`{"data":{"k":"v"}}`, "kelos"},
		{`{"version":"1.0","summary":"s"}`, "kelos"},
		{`{"goal":"g","completed_steps":[],"pending_blockers":[]}`, "vox"},
		{`{"session_id":"s"}`, "vox"},
		{`{"source":{"agent":"a"},"target":{"agent":"b","reason":"r"},"context":{},"rollback":{}}`, "ho"},
		{`{"handoff_id":"x"}`, "ho"},
		{`{"library_skills_read":[]}`, "metadata"},
		{`{"blocked_reason":"x","attempted":[]}`, "metadata"},
		// The block that ends a Markdown file may have any format.
		{`{"summary":"s","detail":"d","data":{"k":"v"}}`, "kelos"},
		{`{"agent":"a","status":"complete"}`, "metadata"},
		{`{"status":"complete","feature_directory":"d","verdict":"NEEDS_CHANGES"}`, "metadata"},
		{"# A\n```json\n{\"status\":\"complete\"}\n```\n```json\n{\"version\":1,\"summary\":\"s\"}\n```\n", "kelos"},
		{"```json\n{\"version\":\"1.0\",\"session_id\":\"s\"}\n```\n", "vox"},
		// Members that many formats use do not identify a format.
		{`{"version":"1.0","status":"complete","decisions":[{"decision":"d"}],"remaining_work":["w"],"next_action":"do X"}`, ""},
		{`{"status":"complete"}`, ""},
		{`{"status":"complete","summary":"s"}`, ""},
		{`{"status":"complete","handoff":{"to":"x","payload":{}}}`, ""},
		{`{"agent":"a","status":"complete","summary":"s"}`, ""},
		{`{"agent":"a","status":"complete","files":["x"],"next_steps":[]}`, ""},
		{`{"agent":"a","status":"success","summary":"s","data":{"branch":"b"}}`, ""},
		{`{"summary":"s","scenes":[{"camera":"wide"}]}`, ""},
		{`{"summary":"s","detail":"d","agent":"a","session_id":"x"}`, ""},
		{`{"summary":"s","data":{},"status":"complete"}`, ""},
		{`{"summary":"s","completed_steps":[],"pending_blockers":[],"relevant_files":[]}`, ""},
		{`{"id":"t-1","status":{"state":"working"},"artifacts":[],"contextId":"c"}`, ""},
		{`{"source":{"agent":"a"},"target":{"agent":"b"},"payload":{},"status":"new"}`, ""},
		{`{"version":"1.0","messages":1}`, ""},
		{`{"session_id":"s","model":"m"}`, ""},
		{`{"agent":"a","role":"b"}`, ""},
		{"# Plan\n\n```json\n{\"name\": \"x\"}\n```\n", ""},
		{"```json\n{\"x\":\n```\n", ""},
		{`{"version":"1.0","next_action":"n","remaining_tasks":[]}`, "gsd"},
		{`{"version":"1.0","status":"complete","next_action":"n","completed_tasks":[],"decisions":[]}`, "gsd"},
		{`{"version":1,"next_action":"n","remaining_tasks":[]}`, ""},
		{`{"version":"1.0","next_action":"n","blockers":[]}`, ""},
		{`{}`, ""},
		{`{"x":1}`, ""},
		{`{"status":`, ""},
		{`[]`, ""},
		{``, ""},
	}
	for _, tt := range tests {
		got, err := dialect.Detect([]byte(tt.doc))
		assert.Equal(t, tt.want, got, tt.doc)
		assert.Equal(t, tt.want == "", fault.CodeOf(err) == fault.Invalid, tt.doc)
	}
}

// A refusal names the guessed format and the reason of the guess, unless the format is certain.
func TestRefusalNamesTheGuessedFormat(t *testing.T) {
	for doc, message := range map[string]string{
		`{"status":{"state":"x"},"attempted":[]}`: "metadata: status: want a string, not an object (taken for metadata because of its status and attempted; --format names another)",
		`{"summary":7}`:                                               "kelos: summary: want a string, not a number",
		`{"version":2,"summary":"s","x":1}`:                           "kelos: version: want 1, not 2 (taken for kelos because of its version and summary; --format names another)",
		`{"version":"2.0","session_id":"s","x":1}`:                    `vox: version: want "1.0", not "2.0" (taken for vox because of its session_id and version; --format names another)`,
		`{"schema":"acme/handoff-3"}`:                                 `githandoff: schema: "acme/handoff-3", this version reads "githandoff/1" (taken for githandoff because of its schema; --format names another)`,
		`{"schema":"githandoff/2"}`:                                   `githandoff: schema: "githandoff/2", this version reads "githandoff/1"`,
		`{"output_type":"t","attempted":[],"skills_invoked":[]}`:      "metadata: status: required member is missing (taken for metadata because of its output_type, skills_invoked and attempted; --format names another)",
		`{"goal":"g","completed_steps":[]}`:                           "vox: version: required member is missing (taken for vox because of its completed_steps and goal; --format names another)",
		`{"source":{"agent":"a"}}`:                                    "ho: handoff_id: required member is missing (taken for ho because of its source; --format names another)",
		`{"version":1,"summary":"` + strings.Repeat("x", 5000) + `"}`: "kelos: summary: 5000 bytes, limit 4096",
	} {
		_, err := dialect.Import("", []byte(doc))
		assert.EqualError(t, err, "format "+message)
		assert.Equal(t, fault.Invalid, fault.CodeOf(err))
	}
	_, err := dialect.Import("metadata", []byte(`{"status":7,"attempted":[]}`))
	assert.EqualError(t, err, "format metadata: status: want a string, not a number", "nobody guessed")
}

// The position of an error in a block is counted in the lines of the whole file.
func TestLinesOfTheFile(t *testing.T) {
	for doc, message := range map[string]string{
		"# T\n\ntext\n\n```json\n{\"status\": \"complete\",\n \"attempted\": [],\n}\n```\n":                  "line 8, column 1",
		"---\na: b\n---\n````markdown\n```json\n{\"status\": }\n```\n````\n":                                 "line 6, column 12",
		"x\ny\n" + start + "\n\n{\"version\":1,\n\n\"summary\":\"\\ud83d\"}\n" + end + "\nbye\n":             "line 7, column 12",
		"x\n" + start + "{\"summary\":}" + end + "\n":                                                        "line 2, column 12",
		"\ufeff\r\n~~~json\r\n{\"schema\":\"githandoff/1\",\r\n\"goal\":\"g\"\r\n\"task\":\"t\"}\r\n~~~\r\n": "line 5, column 1",
	} {
		_, err := dialect.Import("", []byte(doc))
		assert.ErrorContains(t, err, message)
	}
}

// The text of a Markdown file around its block is imported as well.
func TestTextAroundTheBlock(t *testing.T) {
	const block = "```json\n{\"status\":\"complete\",\"attempted\":[]}\n```\n"
	for doc, want := range map[string]string{
		block:                    "",
		"\n \n" + block + "\n\n": "",
		"# T\r\n\r\nThe session.\r\n\r\n" + block: "# T\r\n\r\nThe session.",
		block + "\n  Good luck!\n":                "  Good luck!",
		"\n\n  a\n" + block + "b\n":               "  a\n\nb",
		"```json\n{}\n```\n" + block:              "```json\n{}\n```",
		"a\n````markdown\n" + block + "````\n":    "a\n````markdown\n\n````",
		`{"status":"complete","attempted":[]}`:    "",
	} {
		d, err := dialect.Import("", []byte(doc))
		require.NoError(t, err)
		assert.Equal(t, want, d.Around)
		require.NoError(t, d.TakeAround())
		assert.Equal(t, want, d.Envelope.Detail)
		assert.Empty(t, d.Around)
		got, _, err := dialect.Export(dialect.Metadata, &d.Envelope)
		require.NoError(t, err)
		assert.JSONEq(t, `{"status":"complete","attempted":[]}`, string(got), "the block comes back as it was")
	}
	for doc, reason := range map[string]fault.Reason{
		strings.Repeat("x", 65537) + "\n" + block:                 "too_large",
		"User: fix it\nAssistant: I will\nUser: thanks\n" + block: "transcript_found",
		"T\n```json\n{\"summary\":\"s\"}\n```\n":                  "detail",
		"T\n```json\n{\"schema\":\"githandoff/1\"}\n```\n":        "detail",
	} {
		d, err := dialect.Import("", []byte(doc))
		require.NoError(t, err)
		assert.True(t, fault.Is(d.TakeAround(), reason), "%s", reason)
		assert.Empty(t, d.Envelope.Detail)
		assert.NotEmpty(t, d.Around)
	}
}

// A draft may lack members that its status requires, since flags can add them.
func TestImportDraftOfEveryStatus(t *testing.T) {
	for _, status := range []string{"complete", "blocked", "needs_review", "needs_clarification"} {
		d, err := dialect.Import("", []byte(`{"schema":"githandoff/1","status":"`+status+`"}`))
		require.NoError(t, err)
		assert.Equal(t, status, d.Envelope.Status)
		got, _, err := dialect.Export("githandoff", &d.Envelope)
		require.NoError(t, err)
		assert.JSONEq(t, `{"schema":"githandoff/1","status":"`+status+`","target":{"agent":null}}`, string(got))
	}
}

func TestImportKelosLog(t *testing.T) {
	const log = "{\"level\":\"info\"}\n---KELOS_HANDOFF_START---\n{\"summary\":\"s\"}\n---KELOS_HANDOFF_END---\n"
	d, err := dialect.Import("", []byte(log))
	require.NoError(t, err)
	assert.Equal(t, "s", d.Envelope.Summary)
}
