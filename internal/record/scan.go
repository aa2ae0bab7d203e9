package record

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"githandoff/internal/handoff"
)

// Scan reads the fields that a list shows from a raw commit, without checking its form or
// its signature: event, actor, agents, task, home, digest and times. It is several times
// faster than ParseCommit. The result is unverified: print it escaped, and decide nothing
// by it.
func Scan(raw []byte) (*Record, error) { return scan(raw, true) }

// Reread reads the whole record of a commit that ParseCommit took before, and returns
// what ParseCommit returned. Of any other commit it returns somebody's word, as Scan does.
func Reread(raw []byte) (*Record, error) { return scan(raw, false) }

// scan reads a commit. The texts of a list are copied, so that they do not keep the message
// in memory.
func scan(raw []byte, listed bool) (*Record, error) {
	if len(raw) > MaxCommit {
		return nil, fmt.Errorf("commit of %d bytes, limit %d", len(raw), MaxCommit)
	}
	head, message, ok := bytes.Cut(raw, []byte("\n\n"))
	if !ok {
		return nil, fmt.Errorf("commit without a message")
	}
	r := &Record{}
	if _, author, ok := bytes.Cut(head, []byte("\nauthor ")); ok {
		name, _, _ := bytes.Cut(author, []byte(" <"))
		r.Actor = string(name)
	}
	_, block, _ := strings.Cut(string(message), "\n\n")
	at := 0
	for len(block) > 0 {
		var line string
		line, block, _ = strings.Cut(block, "\n")
		key, value, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		if at = find(key, at+1); at < 0 || listed && !trailers[at].listed {
			continue
		}
		t := &trailers[at]
		switch {
		case t.time != nil:
			*t.time(r), _ = time.Parse(time.RFC3339, value)
		case listed:
			*t.text(r) = strings.Clone(value)
		default:
			*t.text(r) = value
		}
	}
	if r.Event == "" || r.ID == "" {
		return nil, fmt.Errorf("not a commit of githandoff")
	}
	return r, nil
}

// SpeaksOf returns the handoff that a raw commit claims to speak of, "" where it is
// none: the rest of the last line that begins with "Handoff-Id: ", if that is an id.
// Nothing else about the commit has to be in order, so that everybody agrees which
// handoff a malformed one disputes.
func SpeaksOf(raw []byte) handoff.ID {
	const trailer = "\nHandoff-Id: "
	i := bytes.LastIndex(raw, []byte(trailer))
	if i < 0 {
		return ""
	}
	value, _, _ := bytes.Cut(raw[i+len(trailer):], []byte("\n"))
	if len(value) > 64 {
		return ""
	}
	id, err := handoff.ParseID(string(value))
	if err != nil {
		return ""
	}
	return id
}
