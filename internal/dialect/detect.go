package dialect

import (
	"bytes"
	"encoding/json"

	"githandoff/internal/fault"
)

// Detect tells the format of a document by its content, and does not judge it
// otherwise. A file that begins with "{" is JSON, and its members decide, in
// this order:
//
//	schema                                              githandoff
//	handoff_id                                          ho
//	session_id, source_agent, target_agent              vox
//	source or target, an object                         githandoff, which will miss its schema
//	summary with a version that is a number or absent,
//	and no status                                       kelos
//	status, handoff, output_type                        metadata
//	summary, version                                    kelos
//
// Anything else is a log of Kelos if a line has its start marker, and otherwise
// metadata if it is Markdown with a json block.
func Detect(b []byte) (format string, err error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	var members map[string]json.RawMessage
	if looksLikeObject(b) && json.Unmarshal(b, &members) == nil {
		if format := detectMembers(members); format != "" {
			return format, nil
		}
		return "", unknown("none of its members tells its format")
	}
	if bytes.Contains(b, []byte(handoffStart)) {
		if _, found, err := LastKelosBlock(bytes.NewReader(b)); found || err != nil {
			return Kelos, nil
		}
	}
	if _, found := lastFence(b); found {
		return Metadata, nil
	}
	if looksLikeObject(b) {
		return "", unknown("not valid JSON")
	}
	return "", unknown("neither JSON, nor Markdown with a ```json block, nor a log with markers")
}

func detectMembers(members map[string]json.RawMessage) string {
	has := func(names ...string) bool {
		for _, name := range names {
			if _, there := members[name]; there {
				return true
			}
		}
		return false
	}
	begins := func(name, with string) bool { return bytes.HasPrefix(members[name], []byte(with)) }
	switch {
	case has("schema"):
		return Githandoff
	case has("handoff_id"):
		return HO
	case has("session_id", "source_agent", "target_agent"):
		return Vox
	case begins("source", "{"), begins("target", "{"):
		return Githandoff
	case has("summary") && !has("status") && !begins("version", `"`):
		return Kelos
	case has("status", "handoff", "output_type"):
		return Metadata
	case has("summary", "version"):
		return Kelos
	}
	return ""
}

func unknown(why string) error {
	return fault.New(fault.Invalid, "malformed", "document: %s", why).WithHint("name its format: --format NAME, or --from NAME of convert")
}
