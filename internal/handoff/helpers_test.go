package handoff_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

const (
	someID   = "ho_01kahcp3g0000000000000000r"
	otherID  = "ho_01kahcp3g0000000000000000s"
	someSalt = "000102030405060708090a0b0c0d0e0f"
	someOID  = "0123456789abcdef0123456789abcdef01234567"

	smallest = `{"created_at":"2026-11-20T22:00:00Z","goal":"Fix the login","id":"` + someID +
		`","salt":"` + someSalt + `","schema":"githandoff/1","source":{"agent":"investigator"},` +
		`"status":"complete","target":{"agent":"fixer"}}`
)

func minimal() *handoff.Envelope {
	return &handoff.Envelope{
		Schema: handoff.Schema, ID: someID, CreatedAt: "2026-11-20T22:00:00Z", Salt: someSalt,
		Source: handoff.Source{Agent: "investigator"}, Target: handoff.Target{Agent: new("fixer")},
		Status: handoff.StatusComplete, Goal: "Fix the login",
	}
}

// full returns an envelope in which every member has a value.
func full() *handoff.Envelope {
	e := minimal()
	e.ExpiresAt = "2026-11-27T22:00:00Z"
	e.Task = "LIN-423"
	e.Source = handoff.Source{
		Agent: "investigator", Repo: "local:" + someSalt, Phase: "design_complete",
		Commit: someOID, Branch: "fix/lin-423", Session: "5f0c9e4e-8a0e-4d5e-9f43-0c2b6d1c6a11",
	}
	e.Target = handoff.Target{
		Agent: new("fixer"), Repo: "git+https://example.com/acme/client",
		Reason: "Implementation of auth module", Request: "bug_report",
	}
	e.Status = handoff.StatusNeedsClarification
	e.Summary = "Nil session in auth.go:142 → 500"
	e.Detail = "\tline one\r\nline \"two\" \\ <&> \u2028\U0001F600"
	e.Data = map[string]string{"root_cause_line": "142", "": "empty key", "\U0001F600": "after", "\uFB33": "before"}
	e.CompletedSteps = []string{"read the log", "reproduced it"}
	e.PendingBlockers = []string{"no access to staging"}
	e.RelevantFiles = []string{"pkg/auth/auth.go", ".github/workflows/ci.yml"}
	e.BlockedReason = "unknown"
	e.Attempted = []string{"asked the logs"}
	e.Questions = []handoff.Question{
		{Question: "Which?", Options: []string{"API key", "OAuth2"}, Category: "auth"},
		{Question: "Why?", Options: []string{}},
	}
	e.Context = &handoff.Context{Artifacts: []string{"/TODO/a.md"}, Decisions: []string{"Use JWT", "bcrypt"}, Memories: []string{"m"}}
	e.Expectations = &handoff.Expectations{
		Deliverables: []string{"tests"}, Constraints: []string{"c"}, AcceptanceCriteria: []string{"a"}, Skills: []string{"s"},
	}
	e.Rollback = &handoff.Rollback{OnFailure: "architect", Checkpoint: "chk_def456"}
	e.Skills = &handoff.Skills{Invoked: []string{"i"}, LibraryRead: []string{"l"}}
	e.FilesVerified = []string{"a/b.go", "a/b.go:1-200"}
	e.Parent = otherID
	e.Lineage = []handoff.Ancestor{{ID: otherID, Agent: "architect", Task: "LIN-423", Summary: "s", Data: map[string]string{"k": "v"}}}
	e.OBO = &handoff.OBORef{JTI: "obo_" + someSalt, Path: "obo/0.json"}
	e.Origin = &handoff.Origin{Format: "vox", Extra: map[string]any{
		"f": 1e-7, "i": float64(42), "b": true, "n": nil, "list": []any{1.5, "x", map[string]any{}}, "o": map[string]any{"k": []any{}},
	}}
	return e
}

// requireRefusal checks the code, the reason, and a part of the message.
func requireRefusal(t *testing.T, err error, reason, message string) {
	t.Helper()
	require.Error(t, err)
	f := fault.As(err)
	require.NotNil(t, f, "not a refusal: %v", err)
	require.Equal(t, fault.Invalid, f.Code)
	require.Equal(t, fault.Reason(reason), f.Reason, "%v", err)
	require.Contains(t, err.Error(), message)
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 600)
}
