package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
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

// What a commit says fits into an envelope, however long its body is.
func TestOwnCommit_envelope(t *testing.T) {
	long := strings.Repeat("x", handoff.MaxSummary+1)
	tests := map[string]struct {
		commit                ownCommit
		goal, summary, detail string
		status                string
	}{
		"subject and body": {ownCommit{subject: "s", body: "b"}, "s", "b", "", "complete"},
		"said otherwise":   {ownCommit{subject: "s", body: "b", goal: "g", summary: "u", status: "needs-review"}, "g", "u", "", "needs_review"},
		"long body":        {ownCommit{subject: "s", body: long}, "s", "", long, "complete"},
		"a summary of it":  {ownCommit{subject: "s", body: long, summary: "u"}, "s", "u", "", "complete"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			env := tt.commit.envelope()
			assert.Equal(t, tt.goal, env.Goal)
			assert.Equal(t, tt.summary, env.Summary)
			assert.Equal(t, tt.detail, env.Detail)
			assert.Equal(t, tt.status, env.Status)
		})
	}
}

func TestWithin(t *testing.T) {
	assert.NoError(t, within(t.Context(), time.Minute, func(context.Context) error { return nil }))

	err := within(t.Context(), time.Minute, func(context.Context) error { panic("no such lane") })
	assert.Equal(t, fault.Bug, fault.CodeOf(err))
	assert.ErrorContains(t, err, "no such lane")

	// One that looks at its context says itself what it did not do.
	err = within(t.Context(), time.Millisecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	// One that does not is left behind.
	end := make(chan struct{})
	defer close(end)
	err = within(t.Context(), time.Millisecond, func(context.Context) error { <-end; return nil })
	assert.True(t, fault.Is(err, "late"), "%v", err)

	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	err = within(interrupted, time.Minute, func(context.Context) error { <-end; return nil })
	assert.ErrorIs(t, err, context.Canceled)
}

func FuzzReadTrailers(f *testing.F) {
	f.Add("Handoff-To: fixer\nhandoff-to: b@origin\nHandoff-To: fixer\nHandoff-Task: T\n")
	f.Add("Handoff-To: \n")
	f.Add("Signed-off-by: Alice <alice@example.com>\nno trailer\n: \n")
	f.Fuzz(func(t *testing.T, lines string) {
		c := readTrailers(lines)
		seen := map[string]bool{}
		for _, to := range c.to {
			require.False(t, seen[to], "%q twice", to)
			seen[to] = true
			require.Contains(t, strings.ToLower(lines), "handoff-to")
			require.Contains(t, lines, to)
			require.NotContains(t, to, "\n")
		}
	})
}

func FuzzReadRewritten(f *testing.F) {
	f.Add("a b\nc b\nd e more\n")
	f.Add("alone\n\n")
	f.Fuzz(func(t *testing.T, lines string) {
		rewritten, err := readRewritten(strings.NewReader(lines))
		if err != nil {
			return
		}
		for to, from := range rewritten {
			require.NotEmpty(t, from)
			for _, old := range from {
				require.Contains(t, lines, old)
				require.Contains(t, lines, to)
				require.Len(t, strings.Fields(old+" "+to), 2)
			}
		}
	})
}
