package dialect_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// everything returns a handoff that uses most members.
func everything() *handoff.Envelope {
	return &handoff.Envelope{
		Schema: handoff.Schema, ID: "ho_01kdn2xr0g8m4v6t9w1c3e5y7z", CreatedAt: "2026-11-20T22:00:00Z",
		ExpiresAt: "2026-11-27T22:00:00Z", Salt: "00112233445566778899aabbccddeeff", Task: "LIN-423",
		Source: handoff.Source{Agent: "investigator", Phase: "found", Branch: "main"},
		Target: handoff.Target{Agent: new("fixer"), Reason: "knows auth", Request: "bug_report"},
		Status: handoff.StatusNeedsReview, Goal: "Fix it", Summary: "It is broken", Detail: "Badly",
		Data: map[string]string{"severity": "critical"}, CompletedSteps: []string{"found it"}, PendingBlockers: []string{"no tests"},
		RelevantFiles: []string{"auth.go"}, FilesVerified: []string{"auth.go:1-9"}, Attempted: []string{"turned it off and on"},
		Questions: []handoff.Question{{Question: "When?", Options: []string{"now"}, Category: "time"}},
		Context:   &handoff.Context{Artifacts: []string{"plan.md"}}, Expectations: &handoff.Expectations{Skills: []string{"tdd"}, Deliverables: []string{"a fix"}},
		Rollback: &handoff.Rollback{OnFailure: "investigator"}, Skills: &handoff.Skills{Invoked: []string{"reading"}},
		Origin: &handoff.Origin{Format: "other", Extra: map[string]any{"/x": 1.0}},
	}
}

func TestExport(t *testing.T) {
	tests := map[string]struct{ doc, warning string }{
		dialect.Kelos: {
			`{"version":1,"summary":"It is broken","detail":"Badly","data":{"severity":"critical"}}`,
			"kelos cannot say: attempted, completed_steps, context.artifacts, expectations.deliverables, expectations.skills, " +
				"expires_at, files_verified, goal, origin.extra, origin.format, pending_blockers, questions, relevant_files, rollback.on_failure, " +
				"skills.invoked, source.agent, source.branch, source.phase, status, target.agent, target.reason, target.request, task",
		},
		dialect.Vox: {
			`{"version":"1.0","session_id":"ho_01kdn2xr0g8m4v6t9w1c3e5y7z","source_agent":"investigator","target_agent":"fixer",
				"goal":"Fix it","completed_steps":["found it"],"pending_blockers":["no tests"],"relevant_files":["auth.go"]}`,
			"vox cannot say: attempted, context.artifacts, data, detail, expectations.deliverables, expectations.skills, expires_at, " +
				"files_verified, origin.extra, origin.format, questions, rollback.on_failure, skills.invoked, source.branch, source.phase, status, " +
				"summary, target.reason, target.request, task",
		},
		dialect.Metadata: {
			`{"agent":"investigator","output_type":"bug_report","timestamp":"2026-11-20T22:00:00Z","skills_invoked":["reading"],
				"source_files_verified":["auth.go:1-9"],"status":"needs_review","attempted":["turned it off and on"],
				"questions":[{"question":"When?","options":["now"],"category":"time"}],
				"handoff":{"next_agent":"fixer","context":"Fix it"}}`,
			"metadata cannot say: completed_steps, context.artifacts, data, detail, expectations.deliverables, expectations.skills, " +
				"expires_at, origin.extra, origin.format, pending_blockers, relevant_files, rollback.on_failure, source.branch, source.phase, " +
				"summary, target.reason, task",
		},
		dialect.HO: {
			`{"handoff_id":"LIN-423","source":{"agent":"investigator","phase":"found"},"target":{"agent":"fixer","reason":"knows auth"},
				"context":{"artifacts":["plan.md"]},"expectations":{"deliverables":["a fix"]},"rollback":{"on_failure":"investigator"}}`,
			"ho cannot say: attempted, completed_steps, data, detail, expectations.skills, expires_at, files_verified, goal, " +
				"origin.extra, origin.format, pending_blockers, questions, relevant_files, skills.invoked, source.branch, status, summary, target.request",
		},
	}
	for format, tt := range tests {
		got, warnings, err := dialect.Export(format, everything())
		require.NoError(t, err, format)
		assert.JSONEq(t, tt.doc, string(got))
		assert.Equal(t, []string{tt.warning}, warnings)
		_, err = dialect.Import("", got)
		assert.NoError(t, err, "what is exported can be imported")
	}

	whole, err := handoff.Encode(everything())
	require.NoError(t, err)
	got, warnings, err := dialect.Export(dialect.Githandoff, everything())
	require.NoError(t, err)
	assert.Equal(t, string(whole), string(got))
	assert.Empty(t, warnings)
}

// A dialect that has only a summary gets the goal if there is no summary, and the other way round.
func TestExportGoalOrSummary(t *testing.T) {
	for _, e := range []*handoff.Envelope{{Goal: "do it"}, {Summary: "do it"}} {
		e.Task, e.Source.Agent, e.Target.Agent = "t", "a", new("b")
		e.Source.Session = "s"
		for format, want := range map[string]string{
			"kelos":    `"summary":"do it"`,
			"vox":      `"goal":"do it"`,
			"metadata": `"context":"do it"`,
			"ho":       `"reason":"do it"`,
		} {
			got, warnings, err := dialect.Export(format, e)
			require.NoError(t, err)
			assert.Contains(t, string(got), want)
			for _, w := range warnings {
				assert.NotContains(t, w, "goal")
				assert.NotContains(t, w, "summary")
			}
		}
	}
}

func TestExportRefuses(t *testing.T) {
	e := everything()
	e.Target.Agent = nil
	_, _, err := dialect.Export(dialect.Vox, e)
	assert.EqualError(t, err, "format vox: target_agent: required member is missing")
	assert.Equal(t, fault.Invalid, fault.CodeOf(err))

	got, _, err := dialect.Export(dialect.HO, e)
	require.NoError(t, err)
	assert.Contains(t, string(got), `"target":{"agent":null,`)

	e.Target.Repo = "local:00112233445566778899aabbccddeeff"
	got, _, err = dialect.Export(dialect.Vox, e)
	require.NoError(t, err)
	assert.Contains(t, string(got), `"target_agent":"local:00112233445566778899aabbccddeeff"`)
}
