package dialect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// document is one JSON object while it is read. It remembers the members known to the dialect,
// to keep all others, and the first refusal.
type document struct {
	format   string
	root     map[string]any
	known    map[string]bool // JSON pointers of the members asked for
	objects  map[string]bool // JSON pointers among known of members read as objects
	warnings []string
	token    string
	err      error
}

func newDocument(format string, root map[string]any) *document {
	return &document{format: format, root: root, known: map[string]bool{}, objects: map[string]bool{}}
}

func invalid(dialect string, reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, reason, "format "+dialect+": "+format, args...)
}

// inFormat names the format in a refusal of an envelope or of JSON.
func inFormat(dialect string, err error) error {
	if fault.As(err) != nil {
		return fault.About("format "+dialect, err)
	}
	return invalid(dialect, fault.Malformed, "%w", err)
}

// object is a JSON object inside a document. A nil members map stands for an absent object.
type object struct {
	doc     *document
	pointer string
	members map[string]any
}

func (d *document) top() object { return object{doc: d, members: d.root} }

// name returns how messages call a member: handoff.next_agent.
func (o object) name(member string) string {
	return strings.ReplaceAll(strings.TrimPrefix(o.pointer+"/"+member, "/"), "/", ".")
}

// take returns a member and whether it is there; null counts as absent.
func (o object) take(member string) (any, bool) {
	o.doc.known[o.pointer+"/"+member] = true
	v, ok := o.members[member]
	return v, ok && v != nil
}

// refuse records a refusal of the member; the first one counts.
func (o object) refuse(member string, reason fault.Reason, format string, args ...any) {
	if o.doc.err == nil {
		o.doc.err = invalid(o.doc.format, reason, o.name(member)+": "+format, args...)
	}
}

func (o object) warn(member, format string, args ...any) {
	o.doc.warnings = append(o.doc.warnings, o.name(member)+": "+fmt.Sprintf(format, args...))
}

// text returns an optional string of at most limit bytes; limit 0 is none.
func (o object) text(member string, limit int) string {
	v, ok := o.take(member)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		o.refuse(member, fault.Malformed, "want a string, not %s", handoff.KindOf(v))
		return ""
	}
	if limit > 0 && len(s) > limit {
		o.refuse(member, fault.TooLarge, "%d bytes, limit %d", len(s), limit)
	}
	return s
}

// required returns a string, present and not blank.
func (o object) required(member string, limit int) string {
	s := o.text(member, limit)
	if v, ok := o.take(member); !ok {
		o.refuse(member, fault.Malformed, "required member is missing")
	} else if v, ok := v.(string); ok && blank(v) {
		o.refuse(member, fault.Malformed, "must not be empty")
	}
	return s
}

// line returns text without control characters, for members shown by git or a terminal as they are.
func (o object) line(member string) string {
	return o.oneLine(member, o.text(member, 0))
}

func (o object) oneLine(member, s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		o.refuse(member, fault.Malformed, "must be one line without control characters")
	}
	return s
}

// list returns an optional array of strings.
func (o object) list(member string) []string {
	v, ok := o.take(member)
	if !ok {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		o.refuse(member, fault.Malformed, "want an array of strings, not %s", handoff.KindOf(v))
		return nil
	}
	var out []string
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			o.refuse(member, fault.Malformed, "item %d: want a string, not %s", i, handoff.KindOf(item))
			return nil
		}
		out = append(out, s)
	}
	return out
}

// requiredList returns an array of strings, present but perhaps empty.
func (o object) requiredList(member string) []string {
	if _, ok := o.take(member); !ok {
		o.refuse(member, fault.Malformed, "required member is missing")
	}
	return o.list(member)
}

// texts returns an optional object of strings.
func (o object) texts(member string) map[string]string {
	v, ok := o.take(member)
	if !ok {
		return nil
	}
	members, ok := v.(map[string]any)
	if !ok {
		o.refuse(member, fault.Malformed, "want an object of strings, not %s", handoff.KindOf(v))
		return nil
	}
	var out map[string]string
	for _, k := range slices.Sorted(maps.Keys(members)) {
		s, ok := members[k].(string)
		if !ok {
			o.refuse(member, fault.Malformed, "member %.64q: want a string, not %s", k, handoff.KindOf(members[k]))
			return nil
		}
		if out == nil {
			out = make(map[string]string, len(members))
		}
		out[k] = s
	}
	return out
}

// object returns an optional object with members of its own.
func (o object) object(member string) object {
	v, ok := o.take(member)
	inner := object{doc: o.doc, pointer: o.pointer + "/" + member}
	o.doc.objects[inner.pointer] = true
	if !ok {
		return inner
	}
	if inner.members, ok = v.(map[string]any); !ok {
		o.refuse(member, fault.Malformed, "want an object, not %s", handoff.KindOf(v))
	}
	return inner
}

// checkSpelling refuses a member differing from a known one in case alone: a case-folding
// reader (Go's own is one) would take it for the known one.
func (d *document) checkSpelling() error {
	var unknown []string
	for pointer := range d.objects {
		if inner, ok := d.root[strings.TrimPrefix(pointer, "/")].(map[string]any); ok {
			for member := range inner {
				unknown = append(unknown, pointer+"/"+member)
			}
		}
	}
	for member := range d.root {
		unknown = append(unknown, "/"+member)
	}
	folded := make(map[string]string, len(d.known))
	for pointer := range d.known {
		folded[fold(pointer)] = pointer
	}
	slices.Sort(unknown)
	for _, pointer := range unknown {
		if known := folded[fold(pointer)]; known != "" && known != pointer {
			return invalid(d.format, fault.Malformed, "%s: write it %s",
				strings.ReplaceAll(pointer[1:], "/", "."), strings.ReplaceAll(known[1:], "/", "."))
		}
	}
	return nil
}

// fold goes by way of upper case, which also folds U+017F and U+212A.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// literal returns a short value as JSON writes it, and the kind of any other.
func literal(v any) string {
	switch v.(type) {
	case string:
		return fmt.Sprintf("%.64q", v)
	case float64, bool:
		return fmt.Sprint(v)
	}
	return handoff.KindOf(v)
}

// parse reads one JSON object as strictly as [handoff.ParseStrict] does, after
// its size.
func parse(format string, src source) (map[string]any, error) {
	if n := len(src.json); n > handoff.MaxEnvelope {
		return nil, invalid(format, fault.TooLarge, "document: %d bytes, limit %d", n, handoff.MaxEnvelope)
	}
	var root map[string]any
	if err := handoff.ParseStrictAfter(src.line, src.json, &root); err != nil {
		return nil, inFormat(format, err)
	}
	if root == nil {
		return nil, invalid(format, fault.Malformed, "document: want an object, not null")
	}
	return root, nil
}
