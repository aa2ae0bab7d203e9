// Package brief writes the short form of a handoff: the least that lets its reader
// start. Omitted parts are counted ([Omitted]), and one command away ([Commands]).
//
// The text is the sender's and stands inside a fence. What Omitted and Commands return
// stands outside, and repeats no word of the sender.
package brief

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/untrusted"
)

// Text is the short form of an envelope, for a fence.
func Text(env *handoff.Envelope) string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	list := func(name string, items []string) {
		if len(items) > 0 {
			fmt.Fprintf(&b, "%s:\n", name)
			for _, s := range items {
				fmt.Fprintf(&b, "- %s\n", s)
			}
		}
	}
	if !untrusted.IsTask(env.Task) { // else it stands in front of the fence
		field("Task", env.Task)
	}
	if env.Status != handoff.StatusComplete {
		field("Status", env.Status)
	}
	field("Goal", env.Goal)
	field("Summary", env.Summary)
	if env.Target.Reason != env.Goal { // one sentence is said once
		field("Reason", env.Target.Reason)
	}
	field("Blocked by", env.BlockedReason)
	list("Attempted", env.Attempted)
	for _, q := range env.Questions {
		list("Question: "+q.Question, append([]string{}, q.Options...))
		if len(q.Options) == 0 {
			field("Question", q.Question)
		}
	}
	list("Blockers", env.PendingBlockers)
	list("Files", env.RelevantFiles)
	if e := env.Expectations; e != nil {
		list("Deliverables", e.Deliverables)
		list("Constraints", e.Constraints)
		list("Acceptance", e.AcceptanceCriteria)
	}
	if c := env.Context; c != nil {
		list("Artifacts", c.Artifacts)
		list("Decisions", c.Decisions)
		list("Memories", c.Memories)
	}
	for _, k := range sortedKeys(env.Data) {
		if v := env.Data[k]; len(v) <= shortValue {
			field("data "+k, v)
		}
	}
	if s := env.Source; s.Commit != "" {
		field("Source", strings.TrimSpace(s.Branch+" "+s.Commit))
	}
	if env.Rollback != nil {
		field("Roll back to", env.Rollback.Checkpoint)
	}
	aside(&b, env)
	return b.String()
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
