package dialect

import (
	"encoding/json"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// importNative reads an envelope, or the part of one known to its writer: any member but
// schema may be missing, none may be unknown, and the form need not be canonical.
func importNative(src source) (*Draft, error) {
	root, err := parse(Githandoff, src)
	if err != nil {
		return nil, err
	}
	switch schema := root["schema"]; schema {
	case handoff.Schema:
	case nil:
		return nil, invalid(Githandoff, fault.Malformed, "schema: required member is missing").
			WithHints(fault.Fact(`it needs "schema":%q`, handoff.Schema))
	default:
		hint := fault.Fact(`it needs "schema":%q`, handoff.Schema)
		if s, ok := schema.(string); ok && strings.HasPrefix(s, "githandoff/") {
			hint = fault.Fact("a newer githandoff may read it")
		}
		return nil, invalid(Githandoff, fault.UnknownSchema, "schema: %s, this version reads %q", literal(schema), handoff.Schema).
			WithHints(hint)
	}
	var e handoff.Envelope
	if err := handoff.ParseStrictAfter(src.line, src.json, &e); err != nil {
		return nil, inFormat(Githandoff, err)
	}
	if err := Check(Githandoff, &e); err != nil {
		return nil, err
	}
	return &Draft{Envelope: e, native: root}, nil
}

// Export is like [Export] for the envelope of a draft. A githandoff document comes back as
// githandoff with its empty members too: the envelope has no place for them.
func (d *Draft) Export(format string) (doc []byte, warnings []string, err error) {
	doc, warnings, err = Export(format, &d.Envelope)
	if err != nil || format != Githandoff || d.native == nil {
		return doc, warnings, err
	}
	var root map[string]any
	if err := json.Unmarshal(doc, &root); err != nil {
		return nil, nil, err
	}
	keepEmpty(root, d.native)
	doc, err = handoff.Canonical(root)
	return doc, warnings, err
}

// keepEmpty gives out the same empty members as was.
func keepEmpty(out, was any) {
	switch out := out.(type) {
	case map[string]any:
		was, _ := was.(map[string]any)
		for name, value := range out {
			if _, there := was[name]; !there && saysNothing(value) {
				delete(out, name)
			}
		}
		for name, value := range was {
			if _, there := out[name]; !there && saysNothing(value) {
				out[name] = value
			}
			keepEmpty(out[name], value)
		}
	case []any:
		if was, _ := was.([]any); len(was) == len(out) {
			for i := range out {
				keepEmpty(out[i], was[i])
			}
		}
	}
}

// saysNothing: null, or nothing else all the way down.
func saysNothing(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case string:
		return value == ""
	case []any:
		return len(value) == 0
	case map[string]any:
		for _, inner := range value {
			if !saysNothing(inner) {
				return false
			}
		}
		return true
	}
	return false
}

// exportNative writes a whole envelope as [handoff.Encode] does, and a draft's existing
// members.
func exportNative(e *handoff.Envelope) ([]byte, error) {
	root, err := tree(e)
	if err != nil {
		return nil, err
	}
	root["schema"] = handoff.Schema
	for _, member := range []string{"id", "created_at", "salt", "status"} {
		if root[member] == "" {
			delete(root, member)
		}
	}
	if source, ok := root["source"].(map[string]any); ok && source["agent"] == "" {
		delete(source, "agent")
		if len(source) == 0 {
			delete(root, "source")
		}
	}
	return handoff.Canonical(root)
}
