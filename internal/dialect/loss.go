package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"githandoff/internal/handoff"
)

// lostMembers names the members of e lost when the exported document is read back. The members
// tying an envelope to its record (schema, id, salt, created_at) are not news to anybody, nor
// is the status of finished work; goal and summary stand in for each other if a dialect has
// only one of them.
func lostMembers(format string, e, said *handoff.Envelope) ([]string, error) {
	have, err := tree(e)
	if err != nil {
		return nil, err
	}
	got, err := tree(said)
	if err != nil {
		return nil, err
	}
	for _, member := range []string{"schema", "id", "salt", "created_at"} {
		delete(have, member)
	}
	if e.Status == handoff.StatusComplete {
		delete(have, "status")
	}
	if e.Goal == said.Goal || e.Goal == said.Summary {
		delete(have, "goal")
	}
	if e.Summary == said.Summary || e.Summary == said.Goal {
		delete(have, "summary")
	}
	if e.Origin != nil && (e.Origin.Format == format || len(e.Origin.Extra) == 0) {
		delete(have, "origin")
	}
	return missing("", have, got), nil
}

func missing(prefix string, have, got map[string]any) []string {
	var out []string
	for _, member := range slices.Sorted(maps.Keys(have)) {
		value, other := have[member], got[member]
		if value == nil || value == "" || reflect.DeepEqual(value, other) {
			continue
		}
		inner, isObject := value.(map[string]any)
		otherInner, _ := other.(map[string]any)
		if isObject && prefix == "" && member != "data" {
			out = append(out, missing(member+".", inner, otherInner)...)
			continue
		}
		out = append(out, prefix+member)
	}
	return out
}

func tree(e *handoff.Envelope) (map[string]any, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode an envelope: %w", err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("decode an envelope: %w", err)
	}
	return out, nil
}
