package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/dialect"
	"githandoff/internal/handoff"
)

// member sets a member to one of the values, or leaves it out.
func member(o map[string]any, t *rapid.T, name string, values ...any) {
	if i := rapid.IntRange(-1, len(values)-1).Draw(t, name); i >= 0 {
		o[name] = values[i]
	}
}

func object(t *rapid.T, name string, fill func(o map[string]any)) any {
	switch rapid.IntRange(0, 5).Draw(t, name) {
	case 0:
		return nil
	case 1:
		return map[string]any{}
	}
	o := map[string]any{}
	fill(o)
	member(o, t, "x/~", 1.0, map[string]any{"deep": []any{nil, map[string]any{}}})
	member(o, t, "note", "", "unknown")
	return o
}

// document draws a document that is mostly valid, and in which any member may be missing.
func document(t *rapid.T, format string) map[string]any {
	agents := []any{"fixer", "QA Guy", "client_repo", "None"}
	lists := []any{nil, []any{}, []any{"one"}, []any{"one", ""}}
	texts := []any{nil, "", " ", "text", "two\nlines"}
	o := map[string]any{}
	switch format {
	case dialect.Kelos:
		o["summary"] = rapid.SampledFrom([]any{"", "s"}).Draw(t, "summary")
		member(o, t, "version", 1.0, nil)
		member(o, t, "detail", texts...)
		member(o, t, "data", nil, map[string]any{}, map[string]any{"": "", "/k": "v"})
	case dialect.Vox:
		o["version"], o["session_id"], o["goal"] = "1.0", "s", "g"
		o["source_agent"] = rapid.SampledFrom(agents).Draw(t, "source")
		o["target_agent"] = rapid.SampledFrom(append(agents, "acme/x", "local:00112233445566778899aabbccddeeff")).Draw(t, "target")
		o["completed_steps"] = rapid.SampledFrom(lists[1:]).Draw(t, "steps")
		o["pending_blockers"] = rapid.SampledFrom(lists[1:]).Draw(t, "blockers")
		member(o, t, "relevant_files", nil, []any{}, []any{"a", "./b"})
		member(o, t, "cryptographic_obo_token", nil, "", token())
	case dialect.Metadata:
		o["status"] = rapid.SampledFrom([]any{"complete", "blocked", "needs-review", "needs_clarification", "needs-clarification", "approved", "in-progress", " x"}).Draw(t, "status")
		member(o, t, "agent", append(agents, nil, "")...)
		for _, name := range []string{"output_type", "timestamp", "feature_directory", "blocked_reason"} {
			member(o, t, name, texts[:4]...)
		}
		for _, name := range []string{"skills_invoked", "library_skills_read", "attempted"} {
			member(o, t, name, lists...)
		}
		member(o, t, "source_files_verified", nil, []any{}, []any{"a:1-2"}, []any{"a:1-2", "/b"})
		member(o, t, "questions", nil, []any{}, []any{"q"}, []any{map[string]any{"question": "text", "options": []any{"a"}, "z": 1.0}},
			[]any{map[string]any{"question": "text", "options": []any{}}}, []any{"text"})
		member(o, t, "handoff", object(t, "handoff object", func(h map[string]any) {
			member(h, t, "next_agent", append(agents, nil, "")...)
			member(h, t, "context", texts...)
		}))
	case dialect.GSD:
		items := []any{nil, []any{}, []any{"one"}, []any{map[string]any{"id": 1.0, "name": "n", "commit": "c"}, map[string]any{}, nil, 2.0}}
		o["version"] = rapid.SampledFrom([]any{"1.0", "2"}).Draw(t, "version")
		for _, name := range []string{"completed_tasks", "remaining_tasks", "blockers", "human_actions_pending", "decisions", "uncommitted_files"} {
			member(o, t, name, items...)
		}
		for _, name := range []string{"phase", "phase_name", "plan", "task"} {
			member(o, t, name, nil, "", "a", "a/b", 3.0, " x ")
		}
		member(o, t, "next_action", texts...)
		member(o, t, "context_notes", append(texts, strings.Repeat("x", 5000))...)
		member(o, t, "status", nil, "paused", 7.0)
	case dialect.HO:
		o["handoff_id"] = "ho_1"
		source, target := map[string]any{}, map[string]any{}
		o["source"], o["target"] = source, target
		source["agent"] = rapid.SampledFrom(agents).Draw(t, "source")
		target["agent"] = rapid.SampledFrom(append(agents, nil)).Draw(t, "target")
		member(source, t, "phase", nil, "", "p")
		member(target, t, "reason", texts...)
		member(o, t, "context", object(t, "context object", func(c map[string]any) {
			member(c, t, "artifacts", lists...)
			member(c, t, "relevant_memories", lists...)
			member(c, t, "decisions", lists...)
		}))
		member(o, t, "expectations", object(t, "expectations object", func(x map[string]any) {
			member(x, t, "deliverables", lists...)
			member(x, t, "constraints", lists...)
			member(x, t, "acceptance_criteria", lists...)
		}))
		member(o, t, "rollback", object(t, "rollback object", func(r map[string]any) {
			member(r, t, "on_failure", append(agents, nil, "")...)
			member(r, t, "checkpoint_id", nil, "", "chk")
		}))
	}
	member(o, t, "more", nil, 0.1, map[string]any{"status": "x"}, []any{})
	member(o, t, "a/b~c", "x")
	member(o, t, "absent", []any{"/status"})
	return o
}

// Every imported document can be exported again, from the draft and after its sender has completed it. The
// envelope is the same after another import.
func TestDocumentsComeBack(t *testing.T) {
	for _, format := range []string{dialect.Kelos, dialect.Vox, dialect.Metadata, dialect.HO, dialect.GSD} {
		t.Run(format, func(t *testing.T) {
			imported := 0
			rapid.Check(t, func(r *rapid.T) {
				b, err := json.Marshal(document(r, format))
				require.NoError(t, err)
				d, err := dialect.Import(format, b)
				if err != nil {
					return
				}
				imported++
				got, warnings, err := dialect.Export(format, through(t, d.Envelope))
				require.NoError(r, err)
				assert.Empty(r, warnings)
				require.JSONEq(r, string(b), string(got))

				again, err := dialect.Import(format, got)
				require.NoError(r, err)
				require.Equal(r, d.Envelope, again.Envelope)

				e := d.Envelope
				if strings.TrimSpace(e.Goal+e.Summary) == "" {
					return
				}
				got, _, err = dialect.Export(format, sent(t, d))
				require.NoError(r, err)
				require.JSONEq(r, string(b), string(got))
			})
			assert.Greater(t, imported, 30, "most documents are good")
		})
	}
}

// Whatever a sender changes in an envelope, the export contains the change.
func TestExportShowsChanges(t *testing.T) {
	for _, format := range []string{dialect.Vox, dialect.Metadata, dialect.HO} {
		t.Run(format, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				b, err := json.Marshal(document(r, format))
				require.NoError(t, err)
				d, err := dialect.Import(format, b)
				if err != nil || d.Envelope.Status == handoff.StatusBlocked {
					return
				}
				d.Envelope.Target.Agent = new("chosen-later")
				d.Envelope.Goal = "another goal"
				d.Envelope.Target.Reason = "another goal"
				got, _, err := dialect.Export(format, through(t, d.Envelope))
				require.NoError(r, err)
				again, err := dialect.Import(format, got)
				require.NoError(r, err)
				require.Equal(r, "chosen-later", *again.Envelope.Target.Agent)
				require.Equal(r, "another goal", again.Envelope.Goal)
			})
		})
	}
}
