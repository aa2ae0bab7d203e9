package dialect

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// absentKey is the member of origin.extra listing pointers. No pointer is spelled like it: all
// but the empty one begin with "/".
const absentKey = "absent"

// extraOf returns the document's content beyond what write makes of its envelope.
func extraOf(c codec, d *document, e handoff.Envelope) (map[string]any, error) {
	// The sender will know who and when, whatever the document says: if it is silent on them,
	// its silence must be recorded now.
	known := e
	known.Source.Agent = cmp.Or(e.Source.Agent, "unknown")
	known.CreatedAt = "unknown"
	x := differ{objects: d.objects, extra: map[string]any{}}
	x.diff("", c.write(&known), d.root)
	if len(x.absent) > 0 {
		slices.Sort(x.absent)
		x.extra[absentKey] = array(x.absent)
	}
	if len(x.extra) == 0 {
		return nil, nil
	}
	for _, pointer := range slices.Sorted(maps.Keys(x.extra)) {
		// A value in it lies three levels down: envelope, origin, extra.
		if depth(x.extra[pointer])+3 > handoff.MaxDepth {
			return nil, invalid(d.format, fault.TooLarge, "%.64q: nested too deeply, limit %d levels in an envelope", pointer, handoff.MaxDepth)
		}
	}
	return x.extra, nil
}

type differ struct {
	objects map[string]bool // pointers of objects compared member by member
	extra   map[string]any
	absent  []string
}

func (x *differ) diff(prefix string, base, doc map[string]any) {
	for member, value := range doc {
		pointer := prefix + "/" + escape(member)
		was, there := base[member]
		inner, isObject := value.(map[string]any)
		switch {
		case isObject && len(inner) > 0 && x.objects[pointer]:
			wasInner, _ := was.(map[string]any)
			x.diff(pointer, wasInner, inner)
		case !there || !reflect.DeepEqual(was, value):
			x.extra[pointer] = value
		}
	}
	for member := range base {
		if _, there := doc[member]; !there {
			x.absent = append(x.absent, prefix+"/"+escape(member))
		}
	}
}

// restore puts the members of origin.extra back into root. A member read by the dialect itself
// is left out, with a warning, if it no longer agrees with the envelope: the envelope was
// signed and acted on.
func restore(c codec, e *handoff.Envelope, root map[string]any) (map[string]any, []string) {
	base := newDocument(e.Origin.Format, root)
	want := filled(c.read(base), e)
	agrees := func(candidate map[string]any) bool {
		d := newDocument(base.format, candidate)
		return reflect.DeepEqual(filled(c.read(d), e), want) && (d.err == nil || base.err != nil)
	}
	var tested []edit
	for _, ed := range edits(e.Origin.Extra) {
		if base.known[ed.pointer] {
			tested = append(tested, ed)
		} else {
			ed.apply(root)
		}
	}
	whole := clone(root).(map[string]any)
	for _, ed := range tested {
		ed.apply(whole)
	}
	if agrees(whole) {
		return whole, nil
	}
	var warnings []string
	for _, ed := range tested {
		next := clone(root).(map[string]any)
		ed.apply(next)
		if agrees(next) {
			root = next
		} else {
			warnings = append(warnings, fmt.Sprintf("ignored origin.extra: %s contradicts the handoff", ed.pointer))
		}
	}
	return root, warnings
}

// filled returns the envelope of a document with the source agent of e: the author of a document
// need not be its sender.
func filled(read handoff.Envelope, e *handoff.Envelope) handoff.Envelope {
	read.Source.Agent = e.Source.Agent
	return read
}

// edit is one entry of origin.extra.
type edit struct {
	pointer string
	remove  bool
	value   any
}

// edits lists the entries in the order of their application: by pointer, so a parent comes
// before its members. Entries of another form than [Import] makes are left alone; the envelope
// still carries them.
func edits(extra map[string]any) []edit {
	var out []edit
	for key, value := range extra {
		if strings.HasPrefix(key, "/") {
			out = append(out, edit{pointer: key, value: value})
		}
	}
	list, _ := extra[absentKey].([]any)
	for _, item := range list {
		if pointer, ok := item.(string); ok && strings.HasPrefix(pointer, "/") {
			out = append(out, edit{pointer: pointer, remove: true})
		}
	}
	slices.SortFunc(out, func(a, b edit) int { return strings.Compare(a.pointer, b.pointer) })
	return out
}

// apply makes the edit in root, which shares nothing with an envelope. An edit below anything
// but an object does nothing.
func (ed edit) apply(root map[string]any) {
	path := strings.Split(ed.pointer[1:], "/")
	last := len(path) - 1
	for _, token := range path[:last] {
		member := unescape(token)
		if _, there := root[member]; !there && !ed.remove {
			root[member] = map[string]any{}
		}
		inner, isObject := root[member].(map[string]any)
		if !isObject {
			return
		}
		root = inner
	}
	if member := unescape(path[last]); ed.remove {
		delete(root, member)
	} else {
		root[member] = clone(ed.value)
	}
}

// clone copies a JSON value.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for member, inner := range v {
			out[member] = clone(inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = clone(inner)
		}
		return out
	}
	return v
}

// escape and unescape are the two sides of RFC 6901, section 3.
func escape(member string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(member)
}

func unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	case []any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	default:
		return 0
	}
	return deepest + 1
}
