package handoff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"githandoff/internal/fault"
)

// Validate checks every rule of the format not implied by the canonical form, and returns the
// first violation in the order of declaration. Refusals have the code fault.Invalid and one of
// the reasons malformed, too_large, invalid_id, invalid_path; the message begins with the
// member.
func (e *Envelope) Validate() error {
	if err := checkUTF8(e); err != nil {
		return err
	}
	for _, check := range []func() error{
		e.checkIdentity, e.checkParties, e.checkContent, e.checkFiles, e.checkLineage, e.checkCompanions,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func checkUTF8(v any) error {
	for at, s := range Strings(v) {
		if !utf8.ValidString(s) {
			return refuse(at.String(), fault.Malformed, "not valid UTF-8")
		}
	}
	return nil
}

func (e *Envelope) checkIdentity() error {
	if e.Schema != Schema {
		return refuse("schema", fault.Malformed, "want %q", Schema)
	}
	if err := checkID("id", e.ID); err != nil {
		return err
	}
	created, err := ParseTime(e.CreatedAt)
	if err != nil {
		return refuse("created_at", fault.Malformed, "%w", err)
	}
	if e.ExpiresAt != "" {
		expires, err := ParseTime(e.ExpiresAt)
		if err != nil {
			return refuse("expires_at", fault.Malformed, "%w", err)
		}
		if expires.Before(created) {
			return refuse("expires_at", fault.Malformed, "before created_at")
		}
	}
	if !IsHex(e.Salt, 32) {
		return refuse("salt", fault.Malformed, "want 32 lower-case hex digits")
	}
	return checkTask("task", e.Task)
}

func (e *Envelope) checkParties() error {
	if err := checkAgent("source.agent", e.Source.Agent); err != nil {
		return err
	}
	if c := e.Source.Commit; c != "" && !isObjectID(c) {
		return refuse("source.commit", fault.Malformed, "want a full object id, 40 or 64 lower-case hex digits")
	}
	if a := e.Target.Agent; a != nil {
		if err := checkAgent("target.agent", *a); err != nil {
			return err
		}
	}
	for _, m := range []struct{ name, value string }{
		{"source.repo", e.Source.Repo}, {"target.repo", e.Target.Repo},
	} {
		if m.value != "" && !IsRepoID(m.value) {
			return refuse(m.name, fault.Malformed, "want a repo id: git+https://host/path, git+file:///path or local: and 32 hex digits")
		}
	}
	for _, m := range []struct{ name, value string }{
		{"source.repo", e.Source.Repo},
		{"source.phase", e.Source.Phase},
		{"source.branch", e.Source.Branch},
		{"source.session", e.Source.Session},
		{"target.repo", e.Target.Repo},
		{"target.request", e.Target.Request},
	} {
		if strings.ContainsFunc(m.value, unicode.IsControl) {
			return refuse(m.name, fault.Malformed, "must be one line without control characters")
		}
	}
	return nil
}

// checkContent checks the status, the members it asks for, and the texts.
func (e *Envelope) checkContent() error {
	switch e.Status {
	case StatusComplete, StatusNeedsReview:
	case StatusBlocked:
		switch {
		case blank(e.BlockedReason):
			return refuse("blocked_reason", fault.Malformed, "required when the status is blocked")
		case !slices.ContainsFunc(e.Attempted, func(s string) bool { return !blank(s) }):
			return refuse("attempted", fault.Malformed, "at least one attempt is required when the status is blocked")
		}
	case StatusNeedsClarification:
		if len(e.Questions) == 0 {
			return refuse("questions", fault.Malformed, "at least one is required when the status is needs_clarification")
		}
	default:
		return refuse("status", fault.Malformed, "want %s, %s, %s or %s",
			StatusComplete, StatusBlocked, StatusNeedsReview, StatusNeedsClarification)
	}
	for i, q := range e.Questions {
		if blank(q.Question) {
			return refuse(fmt.Sprintf("questions[%d].question", i), fault.Malformed, "missing")
		}
	}
	if blank(e.Summary) && blank(e.Goal) {
		return refuse("summary", fault.Malformed, "a summary or a goal is required")
	}
	for _, m := range []struct {
		name  string
		size  int
		limit int
	}{
		{"summary", len(e.Summary), MaxSummary},
		{"goal", len(e.Goal), MaxSummary},
		{"detail", len(e.Detail), MaxDetail},
		{"detail and data together", len(e.Detail) + sizeOf(e.Data), MaxDetailAndData},
	} {
		if m.size > m.limit {
			return tooLarge(m.name, m.size, m.limit)
		}
	}
	return nil
}

// checkFiles checks the files, and where the work goes back when it fails.
func (e *Envelope) checkFiles() error {
	if n := len(e.RelevantFiles); n > MaxRelevantFiles {
		return refuse("relevant_files", fault.TooLarge, "%d files, limit %d", n, MaxRelevantFiles)
	}
	for i, p := range e.RelevantFiles {
		if err := CheckPath(p); err != nil {
			return refuse(fmt.Sprintf("relevant_files[%d]", i), fault.InvalidPath, "%w", err)
		}
	}
	for i, p := range e.FilesVerified {
		if err := checkRange(p); err != nil {
			return refuse(fmt.Sprintf("files_verified[%d]", i), fault.InvalidPath, "%w", err)
		}
	}
	if e.Rollback == nil {
		return nil
	}
	if a := e.Rollback.OnFailure; a != "" {
		if err := checkAgent("rollback.on_failure", a); err != nil {
			return err
		}
	}
	if strings.ContainsFunc(e.Rollback.Checkpoint, unicode.IsControl) {
		return refuse("rollback.checkpoint", fault.Malformed, "must be one line without control characters")
	}
	return nil
}

func (e *Envelope) checkLineage() error {
	if e.Parent != "" {
		if err := checkID("parent", e.Parent); err != nil {
			return err
		}
		if e.Parent == e.ID {
			return refuse("parent", fault.InvalidID, "the handoff itself")
		}
	}
	if n := len(e.Lineage); n > MaxLineage {
		return refuse("lineage", fault.TooLarge, "%d ancestors, limit %d", n, MaxLineage)
	}
	for i, a := range e.Lineage {
		at := fmt.Sprintf("lineage[%d].", i)
		if err := cmp.Or(checkID(at+"id", a.ID), checkAgent(at+"agent", a.Agent), checkTask(at+"task", a.Task)); err != nil {
			return err
		}
		if len(a.Summary) > MaxSummary {
			return tooLarge(at+"summary", len(a.Summary), MaxSummary)
		}
	}
	if len(e.Lineage) > 0 {
		b, err := Canonical(e.Lineage)
		if err != nil {
			return err
		}
		if len(b) > maxLineageBytes {
			return tooLarge("lineage", len(b), maxLineageBytes)
		}
	}
	return nil
}

// maxSafe is the largest integer every reader of JSON keeps exactly (RFC 8785).
const maxSafe = 1<<53 - 1

// checkCompanions checks the envelope's token, snapshot and dialect.
func (e *Envelope) checkCompanions() error {
	switch {
	case e.OBO == nil:
	case !IsTokenID(e.OBO.JTI):
		return refuse("obo.jti", fault.InvalidID, "want obo_ and 32 lower-case hex digits")
	case !isTokenPath(e.OBO.Path):
		return refuse("obo.path", fault.InvalidPath, "want obo/<number>.json")
	}
	if w := e.Work; w != nil {
		for _, m := range []struct{ name, oid string }{{"commit", w.Commit}, {"head", w.Head}, {"base", w.Base}} {
			if !isObjectID(m.oid) && (m.oid != "" || m.name != "base") {
				return refuse("work."+m.name, fault.Malformed, "want a full object id, 40 or 64 lower-case hex digits")
			}
		}
		if strings.ContainsFunc(w.Branch, unicode.IsControl) {
			return refuse("work.branch", fault.Malformed, "must be one line without control characters")
		}
		for _, m := range []struct {
			name string
			n    int64
		}{{"commits", int64(w.Commits)}, {"files", int64(w.Files)}, {"bytes", w.Bytes}} {
			if m.n < 0 || m.n > maxSafe {
				return refuse("work."+m.name, fault.Malformed, "want a number from 0 to %d", int64(maxSafe))
			}
		}
	}
	if e.Origin != nil && !spelled(e.Origin.Format, lower, lower+digits+"_-", 32) {
		return refuse("origin.format", fault.Malformed, "want the name of a format")
	}
	return nil
}

func checkID(member string, id ID) error {
	if _, err := ParseID(string(id)); err != nil {
		return refuse(member, fault.InvalidID, "not a handoff id: ho_ and 26 characters of lower-case base32")
	}
	return nil
}

func checkAgent(member, name string) error {
	if name == "" {
		return refuse(member, fault.Malformed, "missing")
	}
	if err := CheckAgent(name); err != nil {
		return refuse(member, fault.Malformed, "%w", err)
	}
	return nil
}

// checkTask keeps a task fit for a trailer, which loses blanks at its ends.
func checkTask(member, task string) error {
	switch {
	case len(task) > MaxTask:
		return tooLarge(member, len(task), MaxTask)
	case strings.ContainsFunc(task, func(r rune) bool { return r < 0x20 || r > 0x7e }):
		return refuse(member, fault.Malformed, "must be printable ASCII")
	case strings.TrimSpace(task) != task:
		return refuse(member, fault.Malformed, "must not begin or end with a space")
	}
	return nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func sizeOf(data map[string]string) int {
	n := 0
	for k, v := range data {
		n += len(k) + len(v)
	}
	return n
}

func tooLarge(member string, size, limit int) error {
	return refuse(member, fault.TooLarge, "%s bytes, limit %s", commas(size), commas(limit))
}

// commas groups the digits of a size by three.
func commas(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
