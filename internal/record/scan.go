package record

import (
	"bytes"
	"fmt"
	"time"

	"githandoff/internal/handoff"
)

// Scan reads what a list shows from a raw commit, without asking whether it is
// well formed or who signed it: event, actor, agents, task, home, digest and
// times. It is several times faster than ParseCommit, and what it returns is
// somebody's word: print it escaped, and decide nothing by it.
func Scan(raw []byte) (*Record, error) {
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
	_, block, _ := bytes.Cut(message, []byte("\n\n"))
	for len(block) > 0 {
		var line []byte
		line, block, _ = bytes.Cut(block, []byte("\n"))
		key, value, ok := bytes.Cut(line, []byte(": "))
		if !ok {
			continue
		}
		switch string(key) {
		case "Handoff-Id":
			r.ID = handoff.ID(value)
		case "Handoff-Event":
			r.Event = Event(value)
		case "Handoff-From":
			r.From = string(value)
		case "Handoff-To":
			r.To = string(value)
		case "Handoff-Home":
			r.Home = string(value)
		case "Handoff-Digest":
			r.Digest = string(value)
		case "Handoff-Nonce":
			r.Nonce = string(value)
		case "Handoff-Task":
			r.Task = string(value)
		case "Handoff-Status":
			r.Status = string(value)
		case "Handoff-At":
			r.At = scanTime(value)
		case "Handoff-Expires":
			r.Expires = scanTime(value)
		case "Handoff-Lease":
			r.Lease = scanTime(value)
		}
	}
	if r.Event == "" || r.ID == "" {
		return nil, fmt.Errorf("not a commit of githandoff")
	}
	return r, nil
}

func scanTime(b []byte) time.Time {
	t, err := time.Parse(time.RFC3339, string(b))
	if err != nil {
		return time.Time{}
	}
	return t
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
