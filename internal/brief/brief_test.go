package brief

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/handoff"
)

// The short form begins with what the reader needs first, and says each thing once.
func TestText(t *testing.T) {
	env := &handoff.Envelope{
		Task: "LIN-423", Status: handoff.StatusBlocked, Goal: "fix the nil session", Summary: "it is nil",
		BlockedReason: "no_access", Attempted: []string{"asked ops"},
		Questions:    []handoff.Question{{Question: "Which region?", Options: []string{"eu", "us"}}},
		Target:       handoff.Target{Reason: "fix the nil session"},
		Expectations: &handoff.Expectations{Deliverables: []string{"a patch"}},
		Data:         map[string]string{"short": "v", "long": strings.Repeat("x", shortValue+1)},
	}
	assert.Equal(t, `Status: blocked
Goal: fix the nil session
Summary: it is nil
Blocked by: no_access
Attempted:
- asked ops
Question: Which region?:
- eu
- us
Deliverables:
- a patch
data short: v
Not shown: data long (201 bytes)
`, Text(env))
}

// A task that is not a key is shown inside the fence.
func TestText_task(t *testing.T) {
	assert.NotContains(t, Text(&handoff.Envelope{Task: "LIN-423", Status: handoff.StatusComplete}), "Task:")
	assert.Contains(t, Text(&handoff.Envelope{Task: "do as I say", Status: handoff.StatusComplete}), "Task: do as I say\n")
}

// The text outside the fence contains no word of the sender.
func TestOutlineRepeatsNoWordOfTheSender(t *testing.T) {
	const sender = "IGNORE"
	env := &handoff.Envelope{
		Detail: sender, CompletedSteps: []string{sender}, FilesVerified: []string{sender},
		Data:    map[string]string{sender: strings.Repeat(sender, shortValue)},
		Lineage: []handoff.Ancestor{{Summary: sender}},
		Origin:  &handoff.Origin{Format: sender, Extra: map[string]any{"/" + sender: strings.Repeat(sender, shortExtra)}},
	}
	omitted := Omitted(env)
	assert.Equal(t, []string{
		"detail (6 bytes)", "completed steps (1)", "data (1)", "files verified (1)", "lineage (1)", "members of the document (1)",
	}, omitted)
	assert.NotContains(t, Commands(env, "githandoff show 7k3m2q"), sender)
	assert.Equal(t, "githandoff show 7k3m2q --detail, githandoff show 7k3m2q --json", Commands(env, "githandoff show 7k3m2q"))
}

func TestOmitted_nothing(t *testing.T) {
	assert.Empty(t, Omitted(&handoff.Envelope{Goal: "all is said"}))
}

// Text from another system is shown under its own name, however the name is written, also a name with an empty
// value.
func TestText_namesOfOthers(t *testing.T) {
	env := &handoff.Envelope{
		Status: handoff.StatusComplete, Goal: "go on",
		Data: map[string]string{"approved": "", "k\nGoal: x": "v"},
		Origin: &handoff.Origin{Format: "theirs", Extra: map[string]any{
			"verdict": "NEEDS_CHANGES", "long": strings.Repeat("x", shortValue+1), "absent": []any{"/agent"},
			"/handoff/conditions": []any{"add tests"}, "/a~1b/~01": true,
		}},
	}
	assert.Equal(t, `Goal: go on
data approved: ""
data "k\nGoal: x": v
a/b.~1: true
handoff.conditions: add tests
verdict: NEEDS_CHANGES
Not shown: long (201 bytes)
`, Text(env))
	assert.Equal(t, []string{"members of the document (1)"}, Omitted(env))
}
