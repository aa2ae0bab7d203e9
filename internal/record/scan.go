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
func Scan(raw []byte) (*Record, error) { return scan(raw, (*Record).listed, strings.Clone) }

// Reread reads the whole record of a commit that ParseCommit took before, and returns
// what ParseCommit returned. Of any other commit it returns somebody's word, as Scan does.
func Reread(raw []byte) (*Record, error) {
	return scan(raw, (*Record).text, func(value string) string { return value })
}

// scan reads a commit. Field says where the value of a trailer goes that is a plain
// text; nil where it is not wanted. Keep makes a value outlive the message, or not.
func scan(raw []byte, field func(r *Record, key string) *string, keep func(string) string) (*Record, error) {
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
	for len(block) > 0 {
		var line string
		line, block, _ = strings.Cut(block, "\n")
		key, value, ok := strings.Cut(line, ": ")
		if !ok || r.scan(key, value) {
			continue
		}
		if to := field(r, key); to != nil {
			*to = keep(value)
		}
	}
	r.ID = handoff.ID(keep(string(r.ID)))
	if r.Event == "" || r.ID == "" {
		return nil, fmt.Errorf("not a commit of githandoff")
	}
	return r, nil
}

// scan takes a trailer that is no plain text, and says whether it was one.
func (r *Record) scan(key, value string) bool {
	switch key {
	case "Handoff-Id":
		r.ID = handoff.ID(value)
	case "Handoff-Event":
		r.Event = eventOf(value)
	case "Handoff-At":
		r.At = scanTime(value)
	case "Handoff-Expires":
		r.Expires = scanTime(value)
	case "Handoff-Lease":
		r.Lease = scanTime(value)
	default:
		return false
	}
	return true
}

// listed are the texts that a list shows.
func (r *Record) listed(key string) *string {
	switch key {
	case "Handoff-From":
		return &r.From
	case "Handoff-To":
		return &r.To
	case "Handoff-Home":
		return &r.Home
	case "Handoff-Digest":
		return &r.Digest
	case "Handoff-Nonce":
		return &r.Nonce
	case "Handoff-Task":
		return &r.Task
	case "Handoff-Status":
		return &r.Status
	}
	return nil
}

// text are all texts.
func (r *Record) text(key string) *string {
	switch key {
	case "Handoff-Previous":
		return &r.Previous
	case "Handoff-Key":
		return &r.Key
	case "Handoff-Claim":
		return &r.Claim
	case "Handoff-Next":
		return (*string)(&r.Next)
	case "Handoff-Parent":
		return (*string)(&r.Parent)
	case "Handoff-Counts":
		return &r.Counts
	case "Handoff-On-Failure":
		return &r.OnFailure
	case "Handoff-Payload":
		return &r.Payload
	case "Handoff-Duration":
		return &r.Duration
	case "Handoff-Data":
		return &r.Data
	case "Handoff-Principal":
		return &r.Principal
	case "Handoff-Token":
		return &r.Token
	case "Handoff-Skills-Missing":
		return &r.SkillsMissing
	}
	return r.listed(key)
}

// eventOf is the event of that name. One that we know takes no memory of its own.
func eventOf(name string) Event {
	for _, e := range Events() {
		if string(e) == name {
			return e
		}
	}
	return Event(strings.Clone(name))
}

func scanTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
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
