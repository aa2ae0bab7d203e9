package dialect

import (
	"cmp"
	"reflect"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

func readHO(d *document) handoff.Envelope {
	o := d.top()
	e := handoff.Envelope{Task: o.required("handoff_id", handoff.MaxTask)}
	if strings.ContainsFunc(e.Task, func(r rune) bool { return r < 0x20 || r > 0x7e }) || strings.TrimSpace(e.Task) != e.Task {
		o.refuse("handoff_id", fault.Malformed, "want printable ASCII without spaces around it")
	}
	source := o.object("source")
	e.Source.Agent = source.sourceAgent("agent", source.required("agent", 0))
	e.Source.Phase = source.line("phase")

	target := o.object("target")
	if v, there := target.members["agent"]; !there || v != nil {
		e.Target.Agent = target.targetAgent("agent", target.required("agent", 0))
	} else {
		target.take("agent")
		target.warn("agent", "null: somebody has to decide who takes it")
	}
	// The dialect has one sentence for both the reason for this agent and its task.
	e.Target.Reason = target.text("reason", handoff.MaxSummary)
	e.Goal = e.Target.Reason
	if blank(e.Goal) {
		target.warn("reason", "missing; use --goal to say what is to be done")
	}

	context := o.object("context")
	e.Context = unlessEmpty(handoff.Context{
		Artifacts: context.list("artifacts"),
		Decisions: context.list("decisions"),
		Memories:  context.list("relevant_memories"),
	})

	expected := o.object("expectations")
	e.Expectations = unlessEmpty(handoff.Expectations{
		Deliverables:       expected.list("deliverables"),
		Constraints:        expected.list("constraints"),
		AcceptanceCriteria: expected.list("acceptance_criteria"),
	})

	rollback := o.object("rollback")
	e.Rollback = unlessEmpty(handoff.Rollback{
		OnFailure:  rollback.onFailure(),
		Checkpoint: rollback.line("checkpoint_id"),
	})
	return e
}

// unlessEmpty returns nil for a zero value: an envelope has no empty objects.
func unlessEmpty[T any](v T) *T {
	if reflect.ValueOf(v).IsZero() {
		return nil
	}
	return &v
}

func writeHO(e *handoff.Envelope) map[string]any {
	source := map[string]any{}
	set(source, "agent", e.Source.Agent)
	set(source, "phase", e.Source.Phase)

	target := map[string]any{"agent": nil}
	if e.Target.Agent != nil {
		target["agent"] = *e.Target.Agent
	}
	set(target, "reason", cmp.Or(e.Target.Reason, e.Goal, e.Summary))

	o := map[string]any{"source": source, "target": target}
	set(o, "handoff_id", cmp.Or(e.Task, string(e.ID)))

	context, expected, rollback := map[string]any{}, map[string]any{}, map[string]any{}
	if c := e.Context; c != nil {
		setList(context, "artifacts", c.Artifacts)
		setList(context, "decisions", c.Decisions)
		setList(context, "relevant_memories", c.Memories)
	}
	if x := e.Expectations; x != nil {
		setList(expected, "deliverables", x.Deliverables)
		setList(expected, "constraints", x.Constraints)
		setList(expected, "acceptance_criteria", x.AcceptanceCriteria)
	}
	if r := e.Rollback; r != nil {
		set(rollback, "on_failure", r.OnFailure)
		set(rollback, "checkpoint_id", r.Checkpoint)
	}
	setObject(o, "context", context)
	setObject(o, "expectations", expected)
	setObject(o, "rollback", rollback)
	return o
}
