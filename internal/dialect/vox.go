package dialect

import (
	"cmp"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

const (
	voxVersion = "1.0"
	voxToken   = "cryptographic_obo_token"
)

func readVox(d *document) handoff.Envelope {
	o := d.top()
	if v, ok := o.take("version"); !ok {
		o.refuse("version", fault.Malformed, "required member is missing")
	} else if v != voxVersion {
		o.refuse("version", fault.Malformed, "want %q, not %s", voxVersion, literal(v))
	}
	e := handoff.Envelope{}
	e.Source.Session = o.oneLine("session_id", o.required("session_id", 0))
	e.Source.Agent = o.sourceAgent("source_agent", o.required("source_agent", 0))
	e.Target = voxTarget(o)
	e.Goal = o.required("goal", handoff.MaxSummary)
	e.CompletedSteps = o.requiredList("completed_steps")
	e.PendingBlockers = o.requiredList("pending_blockers")
	e.RelevantFiles = o.list("relevant_files")
	if n := len(e.RelevantFiles); n > handoff.MaxRelevantFiles {
		o.refuse("relevant_files", fault.TooLarge, "%d files, limit %d", n, handoff.MaxRelevantFiles)
	}
	if token := o.text(voxToken, 0); token != "" {
		if _, _, err := DecodeToken(token); err != nil && d.err == nil {
			f := fault.As(err)
			d.err = fault.New(f.Code, f.Reason, "format %s: %s: %w", Vox, voxToken, err).WithHints(f.Hints...)
		}
		d.token = token
	}
	return e
}

// voxTarget tells the three meanings of target_agent apart. A role is a name like an agent's.
// A document cannot send to a repository: only an id saying where this handoff may be found is
// kept as one.
func voxTarget(o object) handoff.Target {
	s := o.required("target_agent", 0)
	if !strings.ContainsAny(s, "/:@") {
		return handoff.Target{Agent: o.targetAgent("target_agent", s)}
	}
	o.warn("target_agent", "%.64q names a repository; name the receiver with --to", s)
	repo := handoff.Target{Repo: s}
	if Check(Vox, &handoff.Envelope{Target: repo}) != nil {
		return handoff.Target{}
	}
	return repo
}

func writeVox(e *handoff.Envelope) map[string]any {
	o := map[string]any{
		"version":          voxVersion,
		"completed_steps":  array(e.CompletedSteps),
		"pending_blockers": array(e.PendingBlockers),
	}
	set(o, "session_id", cmp.Or(e.Source.Session, string(e.ID)))
	set(o, "source_agent", e.Source.Agent)
	if e.Target.Agent != nil {
		set(o, "target_agent", *e.Target.Agent)
	} else {
		set(o, "target_agent", e.Target.Repo)
	}
	set(o, "goal", cmp.Or(e.Goal, e.Summary))
	setList(o, "relevant_files", e.RelevantFiles)
	return o
}
