package dialect

import (
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// importNative reads an envelope, or the part of one that its writer knew: any
// member but schema may be missing, none may be unknown, and the form need not
// be canonical.
func importNative(b []byte) (*Draft, error) {
	root, err := parse(Githandoff, b)
	if err != nil {
		return nil, err
	}
	switch schema := root["schema"]; schema {
	case handoff.Schema:
	case nil:
		return nil, invalid(Githandoff, "malformed", "schema: required member is missing").
			WithHint(`add "schema":%q`, handoff.Schema)
	default:
		return nil, invalid(Githandoff, "unknown_schema", "schema: %.64q, this version reads %q", schema, handoff.Schema).
			WithHint("a newer githandoff may read it")
	}
	var e handoff.Envelope
	if err := handoff.ParseStrict(b, &e); err != nil {
		if f := fault.As(err); f != nil {
			return nil, invalid(Githandoff, f.Reason, "%w", err)
		}
		return nil, invalid(Githandoff, "malformed", "%w", err)
	}
	if err := Check(Githandoff, &e); err != nil {
		return nil, err
	}
	return &Draft{Envelope: e}, nil
}

// exportNative writes a whole envelope as [handoff.Encode] does, and of a draft
// what is there.
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
