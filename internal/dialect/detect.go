package dialect

import (
	"bytes"
	"encoding/json"

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
//	status with output_type, handoff, skills_invoked,
//	library_skills_read, source_files_verified,
//	blocked_reason or attempted                             metadata
//	summary with version as a number, or with detail or data
//	as Kelos has them                                       kelos
//	status with agent                                       metadata
//	source or target, an object: with a member that only our
//	envelope has                                            githandoff, which will miss its schema
//	…without one                                            ho, which will miss its handoff_id
//	summary, without status and without version as a text   kelos
//	one of those of ho, then metadata, vox and kelos        that
//	anything in Markdown                                    metadata
//
// So members that another format has too are taken for extra ones.
func Detect(b []byte) (format string, err error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	text, isLog, err := jsonText(b, true)
	if err != nil || isLog {
		return Kelos, nil
	}
	if text == nil {
		return "", fault.New(fault.Invalid, "malformed", "document: %s", noText(b))
	}
	var members map[string]json.RawMessage
	bad := json.Unmarshal(text, &members) != nil
	if format := detectMembers(members); format != "" {
		return format, nil
	}
	if !looksLikeObject(b) && !json.Valid(b) {
		return Metadata, nil // it ends a Markdown file
	}
	if bad {
		var root map[string]any
		return "", handoff.ParseStrict(text, &root)
	}
	return "", fault.New(fault.Invalid, "malformed", "document: none of its members tells its format").
		WithHint("name its format: --format NAME, or --from NAME of convert")
}

func detectMembers(members map[string]json.RawMessage) string {
	count := func(names ...string) (n int) {
		for _, name := range names {
			if _, there := members[name]; there {
				n++
			}
		}
		return n
	}
	has := func(names ...string) bool { return count(names...) > 0 }
	begins := func(name, with string) bool { return bytes.HasPrefix(members[name], []byte(with)) }

	versionText := begins("version", `"`)
	versionNumber := has("version") && !versionText && !begins("version", "n")
	ends := begins("source", "{") || begins("target", "{")
	vox := count("session_id", "source_agent", "target_agent", voxToken)
	if versionText {
		vox++
	}
	metadata := has("output_type", "handoff", "skills_invoked", "library_skills_read", "source_files_verified",
		"blocked_reason", "attempted")
	switch {
	case has("schema"):
		return Githandoff
	case has("handoff_id") && ends:
		return HO
	case vox >= 2:
		return Vox
	case has("status") && metadata:
		return Metadata
	case has("summary") && (versionNumber || !ends && (begins("detail", `"`) || begins("data", "{"))):
		return Kelos
	case has("status") && has("agent"):
		return Metadata
	case ends && has("id", "created_at", "salt", "status", "goal", "summary", "detail", "data", "task", "obo", "origin"):
		return Githandoff
	case ends:
		return HO
	case has("summary") && !has("status") && !versionText:
		return Kelos
	case has("handoff_id"):
		return HO
	case has("status", "agent") || metadata:
		return Metadata
	case vox > 0 && !has("summary"), has("completed_steps", "pending_blockers"):
		return Vox
	case has("summary", "version", "detail", "data"):
		return Kelos
	}
	return ""
}
