// Package brief writes the short form of a handoff: just enough for its reader to start.
// Omitted parts are counted ([Omitted]), and one command away ([Commands]).
//
// The text is the sender's and stands inside a fence. The results of Omitted and Commands
// stand outside, and repeat no word of the sender.
package brief

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"githandoff/internal/dialect"
	"githandoff/internal/handoff"
	"githandoff/internal/untrusted"
)

// Text returns the short form of an envelope, for a fence.
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
	if !untrusted.IsTask(env.Task) { // a task that is a key is printed outside the fence
		field("Task", env.Task)
	}
	if env.Status != handoff.StatusComplete {
		field("Status", env.Status)
	}
	field("Goal", env.Goal)
	field("Summary", env.Summary)
	if env.Target.Reason != env.Goal { // a reason equal to the goal is not repeated
		field("Reason", env.Target.Reason)
	}
	field("Blocked by", env.BlockedReason)
	list("Attempted", env.Attempted)
	for _, q := range env.Questions {
		list("Question: "+q.Question, q.Options)
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
	for _, k := range slices.Sorted(maps.Keys(env.Data)) {
		if v := env.Data[k]; len(v) <= shortValue {
			field("data "+oneWord(k), cmp.Or(v, `""`)) // an empty value says something too
		}
	}
	if s := env.Source; s.Commit != "" {
		field("Source", strings.TrimSpace(s.Branch+" "+s.Commit))
	}
	if env.Rollback != nil {
		field("Roll back to", env.Rollback.Checkpoint)
	}
	aside(field, env)
	return b.String()
}

// Omitted counts the parts missing from the short form. It stands outside the fence, so it
// holds no word of the sender.
func Omitted(env *handoff.Envelope) []string {
	var more []string
	count := func(n int, what string) {
		if n > 0 {
			more = append(more, fmt.Sprintf("%s (%d)", what, n))
		}
	}
	if env.Detail != "" {
		more = append(more, fmt.Sprintf("detail (%d bytes)", len(env.Detail)))
	}
	count(len(env.CompletedSteps), "completed steps")
	long := 0
	for _, v := range env.Data {
		if len(v) > shortValue {
			long++
		}
	}
	count(long, "data")
	count(len(env.FilesVerified), "files verified")
	if env.Skills != nil {
		count(len(env.Skills.Invoked)+len(env.Skills.LibraryRead), "skills")
	}
	count(len(env.Lineage), "lineage")
	if _, hidden := extraMembers(env); len(hidden) > 0 {
		count(len(hidden), "members of the "+foreignFormat(env)+"document")
	}
	return more
}

// Commands names the commands for the parts missing from the short form; show is the command that
// shows the handoff.
func Commands(env *handoff.Envelope, show string) string {
	var commands []string
	if env.Detail != "" {
		commands = append(commands, show+" --detail")
	}
	if _, hidden := extraMembers(env); len(hidden) > 0 && foreignFormat(env) != "" {
		commands = append(commands, show+" --format "+env.Origin.Format)
	}
	return strings.Join(append(commands, show+" --json"), ", ")
}

const (
	shortValue = 200  // bytes of a value shown in the prompt
	shortExtra = 2048 // bytes of all members shown from another system's document

	absentMembers = "absent" // lists in origin.extra the members that the document does not have
)

// aside writes the rare members of an envelope, and another system's members without a place
// in it. They stand inside the fence, names included: they are the sender's.
func aside(line func(name, value string), env *handoff.Envelope) {
	line("Phase", env.Source.Phase)
	line("Session", env.Source.Session)
	line("Request", env.Target.Request)
	for _, q := range env.Questions {
		line("Category", q.Category)
	}
	if env.Expectations != nil {
		line("Skills expected", strings.Join(env.Expectations.Skills, ", "))
	}
	if env.Rollback != nil {
		line("If it fails", env.Rollback.OnFailure)
	}
	if env.Source.Commit == "" {
		line("Source", env.Source.Branch)
	}
	shown, hidden := extraMembers(env)
	for _, m := range shown {
		line(m.name, m.text)
	}
	var names []string
	for _, k := range slices.Sorted(maps.Keys(env.Data)) {
		if n := len(env.Data[k]); n > shortValue {
			names = append(names, fmt.Sprintf("data %s (%d bytes)", oneWord(k), n))
		}
	}
	for _, m := range hidden {
		names = append(names, fmt.Sprintf("%s (%d bytes)", m.name, len(m.text)))
	}
	line("Not shown", strings.Join(names, ", "))
}

// extra is a member of another system's document.
type extra struct{ name, text string }

// extraMembers returns another system's members outside the envelope: short ones, as far as there
// is room, and the others.
func extraMembers(env *handoff.Envelope) (shown, hidden []extra) {
	if env.Origin == nil {
		return nil, nil
	}
	room := shortExtra
	for _, pointer := range slices.Sorted(maps.Keys(env.Origin.Extra)) {
		text := extraText(env.Origin.Extra[pointer])
		if pointer == absentMembers || text == "" {
			continue
		}
		m := extra{name: oneWord(memberName(pointer)), text: text}
		if n := len(m.name) + len(m.text); len(m.text) <= shortValue && n <= room {
			shown, room = append(shown, m), room-n
		} else {
			hidden = append(hidden, m)
		}
	}
	return shown, hidden
}

// memberName returns a JSON pointer as a reader calls the member, and a name of other systems as it is.
func memberName(pointer string) string {
	path, isPointer := strings.CutPrefix(pointer, "/")
	if !isPointer {
		return pointer
	}
	return strings.NewReplacer("/", ".", "~1", "/", "~0", "~").Replace(path)
}

// extraText returns a value of JSON for a reader: texts as they are, lists of them one
// after the other, all else as JSON; "" for an empty value.
func extraText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case []any:
		var items []string
		for _, item := range value {
			text, isText := item.(string)
			if !isText {
				return rawText(value)
			}
			items = append(items, text)
		}
		return strings.Join(items, "; ")
	case map[string]any:
		if len(value) == 0 {
			return ""
		}
	}
	return rawText(value)
}

func rawText(value any) string {
	b, _ := json.Marshal(value) // it was read from JSON
	return string(b)
}

// oneWord returns a name, quoted if it could break its line.
func oneWord(name string) string {
	if name == "" || len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		name = strconv.Quote(name)
	}
	return name
}

// foreignFormat returns the name of a format if this program knows it, for otherwise it is the
// sender's word.
func foreignFormat(env *handoff.Envelope) string {
	if env.Origin != nil && slices.Contains(dialect.Formats(), env.Origin.Format) {
		return env.Origin.Format + " "
	}
	return ""
}
