package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Detect tells the format of a document by its content, and does not judge it
// otherwise. The members of its JSON object decide, in this order; an object is
// found as the package comment says, and one in a log is of Kelos:
//
//	schema                                                  githandoff
//	handoff_id with source or target, an object             ho
//	two of session_id, source_agent, target_agent,
//	cryptographic_obo_token, and version as a text          vox
//	next_action and version as a text, with completed_tasks,
//	remaining_tasks, uncommitted_files or
//	human_actions_pending                                   gsd
//	status with output_type, handoff, skills_invoked,
//	library_skills_read, source_files_verified,
//	feature_directory, blocked_reason or attempted          metadata
//	summary with version as a number                        kelos
//	summary, and no member unknown to Kelos                 kelos
//	status with agent or questions, and no member
//	unknown to metadata                                     metadata
//
// So members shared with another format are taken for extra ones, and a document of another
// system is not taken for one of these: everybody uses the words status, summary, agent and
// version. The member handoff of metadata, if an object, has next_agent or context, or
// nothing.
//
// A document close to a format is told what it misses:
//
//	source or target, an object, and no member unknown to
//	ho, or to our envelope                                  ho, githandoff
//	two of the members of metadata from above               metadata
//	no member unknown to metadata, vox or kelos             that
func Detect(b []byte) (format string, err error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	src, err := findJSON(b, true)
	if err != nil {
		return Kelos, nil //nolint:nilerr // findJSON fails only for a log
	}
	g, err := detect(b, src)
	return g.format, err
}

// guess is a format, and the members it was guessed by.
type guess struct {
	format  string
	because []string
	sure    bool // the members leave no doubt about the format
}

// qualify adds the guessed format to a refusal, since the document may well be of another.
func (g guess) qualify(err error) error {
	f := fault.As(err)
	if g.sure || f == nil || f.Reason != fault.Malformed && f.Reason != fault.UnknownSchema {
		return err
	}
	out := *f
	out.Message += " (taken for " + g.format + " because of its " + enumerate(g.because) + "; --format names another)"
	return &out
}

func enumerate(words []string) string {
	if last := len(words) - 1; last > 0 {
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
	return strings.Join(words, "")
}

// Untold reports whether err refuses a document because nothing in it tells its
// format.
func Untold(err error) bool { return errors.As(err, new(untold)) }

// untold is why nothing tells the format of a document.
type untold string

func (u untold) Error() string { return string(u) }

func detect(b []byte, src source) (guess, error) {
	switch {
	case src.isLog:
		return guess{format: Kelos, sure: true}, nil
	case src.json == nil:
		return guess{}, fault.New(fault.Invalid, fault.Malformed, "document: %w", noText(b))
	}
	var members outline
	if json.Unmarshal(src.json, &members) != nil {
		var root map[string]any
		return guess{}, handoff.ParseStrictAfter(src.line, src.json, &root)
	}
	if g := detectMembers(members); g.format != "" {
		return g, nil
	}
	return guess{}, fault.New(fault.Invalid, fault.Malformed, "document: %w", untold("none of its members tells its format"))
}

// knownMembers lists the members at the top of an object of a format that is told by them alone.
func knownMembers(format string) []string {
	switch format {
	case Githandoff:
		return envelopeMembers()
	case Kelos:
		return []string{"version", "summary", "detail", "data"}
	case Vox:
		return []string{
			"version", "session_id", "source_agent", "target_agent", "goal", "completed_steps", "pending_blockers", "relevant_files", voxToken,
		}
	case Metadata:
		return append(metadataOwn(), "status", "agent", "timestamp", "questions")
	case HO:
		return []string{"handoff_id", "source", "target", "context", "expectations", "rollback"}
	}
	return nil
}

// envelopeMembers returns the members of our own envelope.
func envelopeMembers() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[handoff.Envelope]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// metadataOwn returns the members no other system is known to use.
func metadataOwn() []string {
	return []string{
		"output_type", "handoff", "skills_invoked", "library_skills_read", "source_files_verified", "feature_directory", "blocked_reason", "attempted",
	}
}

// gsdOwn returns the members by which GSD differs from other formats with a next step.
func gsdOwn() []string {
	return []string{"completed_tasks", "remaining_tasks", "uncommitted_files", "human_actions_pending"}
}

// outline is the members of an object, read only at their beginnings.
type outline map[string]json.RawMessage

func (o outline) those(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { _, there := o[name]; return !there })
}

func (o outline) has(names ...string) bool { return len(o.those(names...)) == len(names) }

func (o outline) begins(name, with string) bool { return bytes.HasPrefix(o[name], []byte(with)) }

// only reports whether the format knows every member, however its case is.
func (o outline) only(format string) bool {
	known := map[string]bool{}
	for _, name := range knownMembers(format) {
		known[fold(name)] = true
	}
	for name := range o {
		if !known[fold(name)] {
			return false
		}
	}
	return len(o) > 0
}

func detectMembers(o outline) guess {
	versionText := o.begins("version", `"`)
	versionNumber := o.has("version") && !versionText && !o.begins("version", "n")
	ends := slices.DeleteFunc([]string{"source", "target"}, func(end string) bool { return !o.begins(end, "{") })
	vox := o.those("session_id", "source_agent", "target_agent", voxToken)
	if versionText {
		vox = append(vox, "version")
	}
	own := o.those(metadataOwn()...)
	if foreignHandoff(o["handoff"]) {
		own = slices.DeleteFunc(own, func(name string) bool { return name == "handoff" })
	}
	switch {
	case o.has("schema"):
		return guess{Githandoff, []string{"schema"}, o.begins("schema", `"githandoff/`)}
	case o.has("handoff_id") && len(ends) > 0:
		return guess{HO, append([]string{"handoff_id"}, ends...), len(ends) > 1}
	case len(vox) > 1:
		return guess{Vox, vox, len(vox) > 2}
	case versionText && o.has("next_action") && len(o.those(gsdOwn()...)) > 0:
		return guess{GSD, append([]string{"version", "next_action"}, o.those(gsdOwn()...)...), true}
	case o.has("status") && len(own) > 0:
		return guess{Metadata, append([]string{"status"}, own...), len(own) > 1}
	case o.has("summary") && versionNumber:
		return guess{Kelos, []string{"version", "summary"}, o.begins("version", "1")}
	case o.has("summary") && o.only(Kelos):
		return guess{Kelos, []string{"summary"}, true}
	case o.has("status") && len(o.those("agent", "questions")) > 0 && o.only(Metadata):
		return guess{Metadata, append([]string{"status"}, o.those("agent", "questions")...), false}
	}
	return nearest(o, ends, own)
}

// nearest returns the format a document almost has.
func nearest(o outline, ends, own []string) guess {
	switch {
	case len(ends) > 0 && o.only(HO):
		return guess{format: HO, because: ends}
	case len(ends) > 0 && o.only(Githandoff):
		return guess{format: Githandoff, because: ends}
	case o.has("handoff_id") && o.only(HO):
		return guess{format: HO, because: []string{"handoff_id"}}
	case len(own) > 1:
		return guess{format: Metadata, because: own}
	case o.only(Metadata) && len(own)+len(o.those("agent")) > 0:
		return guess{format: Metadata, because: slices.Sorted(maps.Keys(o))}
	case o.only(Vox) && !o.only(Kelos):
		return guess{format: Vox, because: slices.Sorted(maps.Keys(o))}
	case o.only(Kelos):
		return guess{format: Kelos, because: slices.Sorted(maps.Keys(o))}
	}
	return guess{}
}

// foreignHandoff reports whether a member named handoff is an object of another system.
func foreignHandoff(raw json.RawMessage) bool {
	var inner outline
	return json.Unmarshal(raw, &inner) == nil && len(inner) > 0 && len(inner.those("next_agent", "context")) == 0
}
