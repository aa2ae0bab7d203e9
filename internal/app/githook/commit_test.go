package githook

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
)

func TestWithoutTrailers(t *testing.T) {
	tests := map[string]struct{ body, want string }{
		"trailers alone": {"Handoff-To: fixer\n", ""},
		"one paragraph":  {"It is nil.\n\nHandoff-To: fixer\n", "It is nil."},
		"two":            {"It is nil.\n\nAfter a while.\n\n\nHandoff-To: fixer\nHandoff-Task: T\n", "It is nil.\n\nAfter a while."},
		"nothing":        {"", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, withoutTrailers(tt.body)) })
	}
}

// The envelope of a commit is valid, however long the message of the commit is.
func TestCommit_Envelope(t *testing.T) {
	long := strings.Repeat("x", handoff.MaxSummary+1)
	tests := map[string]struct {
		commit                Commit
		goal, summary, detail string
		status                string
	}{
		"subject and body": {Commit{subject: "s", body: "b"}, "s", "b", "", "complete"},
		"said otherwise":   {Commit{subject: "s", body: "b", goal: "g", summary: "u", Status: "needs-review"}, "g", "u", "", "needs_review"},
		"long body":        {Commit{subject: "s", body: long}, "s", "", long, "complete"},
		"a summary of it":  {Commit{subject: "s", body: long, summary: "u"}, "s", "u", "", "complete"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			env := tt.commit.Envelope()
			assert.Equal(t, tt.goal, env.Goal)
			assert.Equal(t, tt.summary, env.Summary)
			assert.Equal(t, tt.detail, env.Detail)
			assert.Equal(t, tt.status, env.Status)
		})
	}
}

func FuzzReadTrailers(f *testing.F) {
	f.Add("Handoff-To: fixer\nhandoff-to: b@origin\nHandoff-To: fixer\nHandoff-Task: T\n")
	f.Add("Handoff-To: \n")
	f.Add("Signed-off-by: Alice <alice@example.com>\nno trailer\n: \n")
	f.Fuzz(func(t *testing.T, lines string) {
		c := readTrailers(lines)
		seen := map[string]bool{}
		for _, to := range c.To {
			require.False(t, seen[to], "%q twice", to)
			seen[to] = true
			require.Contains(t, strings.ToLower(lines), "handoff-to")
			require.Contains(t, lines, to)
			require.NotContains(t, to, "\n")
		}
	})
}
