package dialect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// blockedReasons returns the reasons of the dialect and of its routing table.
func blockedReasons() []string {
	return []string{
		"security_concern", "architecture_decision", "test_failures", "missing_requirements", "unknown",
		"missing_test_plan", "implementation_unclear", "architecture_change_needed",
	}
}

func readMetadata(d *document) handoff.Envelope {
	o := d.top()
	e := handoff.Envelope{
		Status:        readStatus(o),
		BlockedReason: o.text("blocked_reason", 0),
		Attempted:     o.list("attempted"),
		FilesVerified: verifiedFiles(o),
	}
	e.Source.Agent = o.sourceAgent("agent", o.text("agent", 0))
	e.Target.Request = o.line("output_type")
	e.Skills = unlessEmpty(handoff.Skills{
		Invoked:     o.list("skills_invoked"),
		LibraryRead: o.list("library_skills_read"),
	})

	// When the agent ended is not when the handoff was made, and agents are
	// often wrong about the time: it stays in origin.extra.
	if at := o.text("timestamp", 0); at != "" {
		if _, err := time.Parse(time.RFC3339, at); err != nil {
			o.warn("timestamp", "%.64q is not an RFC 3339 time", at)
		}
	}
	o.text("feature_directory", 0)

	h := o.object("handoff")
	e.Target.Agent = h.targetAgent("next_agent", h.text("next_agent", 0))
	e.Goal = h.text("context", handoff.MaxSummary)
	e.Questions = readQuestions(o)

	var absent []string
	for _, member := range []string{"agent", "output_type", "timestamp", "feature_directory", "skills_invoked"} {
		if _, there := o.take(member); !there {
			absent = append(absent, member)
		}
	}
	if blank(e.Goal) {
		absent = append(absent, "handoff.context")
		e.Summary = standIn(e.Target.Request, e.Status)
	}
	if len(absent) > 0 {
		d.warnings = append(d.warnings, "missing: "+strings.Join(absent, ", "))
	}
	switch e.Status {
	case handoff.StatusBlocked:
		checkBlocked(o, &e)
	case handoff.StatusNeedsClarification:
		if len(e.Questions) == 0 && blank(e.Goal) {
			h.refuse("context", fault.Malformed, "needs_clarification without a question")
		} else if len(e.Questions) == 0 {
			e.Questions = []handoff.Question{{Question: e.Goal, Options: []string{}}}
		}
	}
	return e
}

// standIn returns the summary of a handoff without a context: an envelope needs one of goal and
// summary, and this much is known.
func standIn(request, status string) string {
	return cmp.Or(request, "work") + ": " + strings.ReplaceAll(status, "_", " ")
}

// readStatus takes an unknown status for work a person has to look at: nobody goes on by
// mistake.
func readStatus(o object) string {
	said := o.required("status", 0)
	status := spelled(said)
	switch status {
	case "", handoff.StatusComplete, handoff.StatusBlocked, handoff.StatusNeedsReview, handoff.StatusNeedsClarification:
		return status
	}
	if !blank(said) {
		o.warn("status", "%.64q is taken as %s", said, handoff.StatusNeedsReview)
	}
	return handoff.StatusNeedsReview
}

// spelled returns a word of the dialect as the dialect spells it: agents write
// needs-review and Needs Review as well.
func spelled(word string) string {
	return strings.Map(lowerASCII, strings.NewReplacer("-", "_", " ", "_").Replace(word))
}

// checkBlocked fills in a missing reason or attempt of a blocked handoff, with a warning.
func checkBlocked(o object, e *handoff.Envelope) {
	if !slices.ContainsFunc(e.Attempted, func(s string) bool { return !blank(s) }) {
		o.warn("attempted", "missing, taken as unknown")
		e.Attempted = []string{"unknown"}
	}
	known := spelled(e.BlockedReason)
	switch {
	case blank(e.BlockedReason):
		o.warn("blocked_reason", "missing, taken as unknown")
		e.BlockedReason = "unknown"
	case slices.Contains(blockedReasons(), known):
		e.BlockedReason = known // routes name reasons in this spelling
	default:
		o.warn("blocked_reason", "%.64q is not one of the known reasons", e.BlockedReason)
	}
}

// verifiedFiles leaves out what is not the path of a file in the repository,
// for it says nothing to somebody in another clone; origin.extra keeps it.
func verifiedFiles(o object) []string {
	all := o.list("source_files_verified")
	if validFiles(all...) {
		return all
	}
	var good, bad []string
	for _, entry := range all {
		if validFiles(entry) {
			good = append(good, entry)
		} else {
			bad = append(bad, entry)
		}
	}
	o.warn("source_files_verified", "%d of %d are not paths in the repository, such as %.64q", len(bad), len(all), bad[0])
	return good
}

func validFiles(entries ...string) bool {
	return Check(Metadata, &handoff.Envelope{FilesVerified: entries}) == nil
}

// readQuestions takes an extension used by agents: a text, or an array of texts and of objects
// with question, options and category. As the dialect has no such member, other forms are not
// wrong: origin.extra keeps them.
func readQuestions(o object) []handoff.Question {
	v, there := o.take("questions")
	if !there {
		return nil
	}
	items, isArray := v.([]any)
	if !isArray {
		items = []any{v}
	}
	var out []handoff.Question
	for _, item := range items {
		q, ok := readQuestion(item)
		if !ok {
			o.warn("questions", "want strings, or objects with question, options and category")
			return nil
		}
		out = append(out, q)
	}
	return out
}

func readQuestion(item any) (q handoff.Question, ok bool) {
	q.Options = []string{}
	members, isObject := item.(map[string]any)
	if !isObject {
		q.Question, ok = item.(string)
		return q, ok && !blank(q.Question)
	}
	o := object{doc: newDocument(Metadata, nil), members: members}
	q.Question = o.required("question", 0)
	q.Category = o.text("category", 0)
	options, _ := o.take("options")
	list, isArray := options.([]any)
	for _, option := range list {
		// Some agents' tool for asking people wants {label, description}.
		if labelled, isObject := option.(map[string]any); isObject {
			option = labelled["label"]
		}
		text, isText := option.(string)
		isArray = isArray && isText
		q.Options = append(q.Options, text)
	}
	return q, o.doc.err == nil && (options == nil || isArray)
}

func writeMetadata(e *handoff.Envelope) map[string]any {
	next := map[string]any{"next_agent": nil}
	if e.Target.Agent != nil {
		next["next_agent"] = *e.Target.Agent
	}
	context := e.Goal
	if context == "" && e.Summary != standIn(e.Target.Request, e.Status) {
		context = e.Summary
	}
	set(next, "context", context)

	o := map[string]any{
		"status":         cmp.Or(e.Status, handoff.StatusComplete),
		"skills_invoked": []any{},
		"handoff":        next,
	}
	set(o, "agent", e.Source.Agent)
	set(o, "output_type", e.Target.Request)
	set(o, "timestamp", e.CreatedAt)
	if e.Skills != nil {
		o["skills_invoked"] = array(e.Skills.Invoked)
		setList(o, "library_skills_read", e.Skills.LibraryRead)
	}
	setList(o, "source_files_verified", e.FilesVerified)
	set(o, "blocked_reason", e.BlockedReason)
	setList(o, "attempted", e.Attempted)

	onlyContext := len(e.Questions) == 1 && e.Questions[0].Question == context &&
		len(e.Questions[0].Options) == 0 && e.Questions[0].Category == ""
	if len(e.Questions) > 0 && (!onlyContext || e.Status != handoff.StatusNeedsClarification) {
		questions := make([]any, len(e.Questions))
		for i, q := range e.Questions {
			question := map[string]any{"question": q.Question, "options": array(q.Options)}
			set(question, "category", q.Category)
			questions[i] = question
		}
		o["questions"] = questions
	}
	return o
}
