package dialect

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// gsdVersion is written for work from elsewhere.
const gsdVersion = "1.0"

func readGSD(d *document) handoff.Envelope {
	o := d.top()
	if s := o.required("version", 0); s != "" && !strings.HasPrefix(s, "1") {
		o.warn("version", "%.64q is not known here; read as %s", s, gsdVersion)
	}
	e := handoff.Envelope{Goal: o.text("next_action", handoff.MaxSummary)}
	if blank(e.Goal) {
		o.warn("next_action", "missing; use --goal to say what is to be done")
	}
	if notes := o.text("context_notes", handoff.MaxDetail); len(notes) <= handoff.MaxSummary {
		e.Summary = notes
	} else {
		e.Detail = notes
	}
	phase, name := o.oneLine("phase", o.scalar("phase")), o.oneLine("phase_name", o.scalar("phase_name"))
	e.Source.Phase = strings.TrimSpace(phase + " " + name)
	e.Task = gsdTask(phase, o.scalar("plan"), o.scalar("task"))

	e.CompletedSteps = o.items("completed_tasks", gsdStep)
	e.PendingBlockers = append(o.items("blockers", gsdBlocker), o.items("human_actions_pending", gsdBlocker)...)
	e.Expectations = unlessEmpty(handoff.Expectations{Deliverables: o.items("remaining_tasks", gsdStep)})
	e.Context = unlessEmpty(handoff.Context{Decisions: o.items("decisions", gsdDecision)})
	if v, _ := o.take("uncommitted_files"); v != nil {
		if files, ok := v.([]any); ok && len(files) > 0 {
			o.warn("uncommitted_files", "%s not committed, which the receiver cannot see", fault.Count(len(files), "file"))
		}
	}
	return e
}

// gsdTask returns the key of the work. One with a slash in it is whole.
func gsdTask(phase, plan, task string) string {
	key := task
	if !strings.Contains(task, "/") {
		parts := slices.DeleteFunc([]string{phase, plan, task}, func(part string) bool { return part == "" })
		if len(parts) < 2 {
			return ""
		}
		key = strings.Join(parts, "/")
	}
	if len(key) > handoff.MaxTask || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return key
}

func gsdStep(item map[string]any) string {
	s := strings.TrimSpace(textOf(item, "id") + " " + cmp.Or(textOf(item, "name"), textOf(item, "description"), textOf(item, "title")))
	if commit := textOf(item, "commit"); commit != "" {
		s += " (" + commit + ")"
	}
	return s
}

func gsdBlocker(item map[string]any) string {
	s := cmp.Or(textOf(item, "description"), textOf(item, "action"), textOf(item, "name"))
	if way := textOf(item, "workaround"); way != "" {
		s += "; workaround: " + way
	}
	return s
}

func gsdDecision(item map[string]any) string {
	s := textOf(item, "decision")
	if why := textOf(item, "rationale"); why != "" {
		s += " — " + why
	}
	return s
}

func writeGSD(e *handoff.Envelope) map[string]any {
	notes := e.Summary
	if notes == "" && len(e.Detail) > handoff.MaxSummary {
		notes = e.Detail
	}
	o := map[string]any{
		"version": gsdVersion, "status": "paused", "next_action": e.Goal, "context_notes": notes,
		"completed_tasks": objects("name", e.CompletedSteps), "remaining_tasks": []any{}, "decisions": []any{},
		"blockers": objects("description", e.PendingBlockers), "human_actions_pending": []any{}, "uncommitted_files": []any{},
	}
	set(o, "phase", e.Source.Phase)
	if strings.Contains(e.Task, "/") {
		set(o, "task", e.Task)
	}
	if x := e.Expectations; x != nil {
		o["remaining_tasks"] = objects("name", x.Deliverables)
	}
	if c := e.Context; c != nil {
		o["decisions"] = objects("decision", c.Decisions)
	}
	return o
}

// objects returns texts as members of objects of their own.
func objects(member string, texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = map[string]any{member: text}
	}
	return out
}

// items reads a list of texts and objects. Say makes a text of an object; an item of another
// form becomes its JSON.
func (o object) items(member string, say func(item map[string]any) string) []string {
	v, ok := o.take(member)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		o.refuse(member, fault.Malformed, "want an array, not %s", handoff.KindOf(v))
		return nil
	}
	var out []string
	for _, item := range list {
		text, isText := item.(string)
		if inner, isObject := item.(map[string]any); isObject {
			text = say(inner)
		}
		if !isText && blank(text) {
			raw, _ := json.Marshal(item) // it was read from JSON
			text = string(raw)
		}
		out = append(out, text)
	}
	return out
}

// scalar returns an optional text or number, as text.
func (o object) scalar(member string) string {
	v, ok := o.take(member)
	if s, plain := scalarText(v); plain || !ok {
		return s
	}
	o.refuse(member, fault.Malformed, "want a string or a number, not %s", handoff.KindOf(v))
	return ""
}

func scalarText(v any) (s string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// textOf returns a text or number of an item, without space around it.
func textOf(item map[string]any, member string) string {
	s, _ := scalarText(item[member])
	return strings.TrimSpace(s)
}
