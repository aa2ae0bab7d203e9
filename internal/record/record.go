package record

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
)

// None is the value of Handoff-Previous if no inbox tip is replaced.
const None = "none"

// Record is the content of a message. Times have whole seconds. Fields from
// Lease on are absent when empty.
type Record struct {
	Event    Event
	Actor    string // agent name, or a person's mail address
	ID       handoff.ID
	From     string // source agent
	To       string // target agent, or handoff.Nobody
	Home     string // repo id of the home
	Digest   string // digest of the stored envelope blob
	Previous string // object id of the replaced inbox tip, or None
	Key      string // key id of the signer
	Nonce    string // 32 hex digits
	At       time.Time
	Expires  time.Time

	Lease         time.Time // end of the claim's lease
	Claim         string    // nonce of the claim below this event
	Next          handoff.ID
	Task          string
	Parent        handoff.ID
	Counts        string
	Status        string
	OnFailure     string // agent that takes a failed handoff back
	Payload       string // object id of the payload commit; only in lane entries
	Duration      string // time from claim to receipt, such as 1m02s
	Data          string // results as one line of JSON
	Principal     string // "<who> (declared|token)"
	Token         string // id of the token (jti)
	SkillsMissing string
}

// trailer is a line of a message: its key, and the field of a record that has its value, a text or
// a time. Lists show the trailers that are marked as listed.
type trailer struct {
	key    string
	listed bool
	text   func(r *Record) *string
	time   func(r *Record) *time.Time
}

// trailers are the lines of a message, in wire order. A line with an empty value is left out.
var trailers = [...]trailer{
	{"Handoff-Id", true, func(r *Record) *string { return (*string)(&r.ID) }, nil},
	{"Handoff-Event", true, func(r *Record) *string { return (*string)(&r.Event) }, nil},
	{"Handoff-From", true, func(r *Record) *string { return &r.From }, nil},
	{"Handoff-To", true, func(r *Record) *string { return &r.To }, nil},
	{"Handoff-Home", true, func(r *Record) *string { return &r.Home }, nil},
	{"Handoff-Digest", true, func(r *Record) *string { return &r.Digest }, nil},
	{"Handoff-Previous", false, func(r *Record) *string { return &r.Previous }, nil},
	{"Handoff-Key", false, func(r *Record) *string { return &r.Key }, nil},
	{"Handoff-Nonce", true, func(r *Record) *string { return &r.Nonce }, nil},
	{"Handoff-At", true, nil, func(r *Record) *time.Time { return &r.At }},
	{"Handoff-Expires", true, nil, func(r *Record) *time.Time { return &r.Expires }},
	{"Handoff-Lease", true, nil, func(r *Record) *time.Time { return &r.Lease }},
	{"Handoff-Claim", false, func(r *Record) *string { return &r.Claim }, nil},
	{"Handoff-Next", false, func(r *Record) *string { return (*string)(&r.Next) }, nil},
	{"Handoff-Task", true, func(r *Record) *string { return &r.Task }, nil},
	{"Handoff-Parent", true, func(r *Record) *string { return (*string)(&r.Parent) }, nil},
	{"Handoff-Counts", false, func(r *Record) *string { return &r.Counts }, nil},
	{"Handoff-Status", true, func(r *Record) *string { return &r.Status }, nil},
	{"Handoff-On-Failure", false, func(r *Record) *string { return &r.OnFailure }, nil},
	{"Handoff-Payload", false, func(r *Record) *string { return &r.Payload }, nil},
	{"Handoff-Duration", false, func(r *Record) *string { return &r.Duration }, nil},
	{"Handoff-Data", false, func(r *Record) *string { return &r.Data }, nil},
	{"Handoff-Principal", false, func(r *Record) *string { return &r.Principal }, nil},
	{"Handoff-Token", false, func(r *Record) *string { return &r.Token }, nil},
	{"Handoff-Skills-Missing", false, func(r *Record) *string { return &r.SkillsMissing }, nil},
}

const required = 11 // number of trailers, from the first one, that every message has

func (t *trailer) value(r *Record) string {
	if t.text != nil {
		return *t.text(r)
	}
	if at := *t.time(r); !at.IsZero() {
		return at.UTC().Format(time.RFC3339)
	}
	return ""
}

// find returns the index of a key in the table of trailers, -1 if it is unknown. The search begins
// at from: messages have the order of the table.
func find(key string, from int) int {
	for n := range trailers {
		if i := (from + n) % len(trailers); trailers[i].key == key {
			return i
		}
	}
	return -1
}

// Message renders the commit message.
func (r *Record) Message() []byte {
	var b bytes.Buffer
	switch r.Event {
	case Offered, Routed:
		fmt.Fprintf(&b, "%s %s to %s\n\n", r.Event, r.ID, r.To)
	default:
		fmt.Fprintf(&b, "%s %s by %s\n\n", r.Event, r.ID, r.Actor)
	}
	for i := range trailers {
		if value := trailers[i].value(r); value != "" {
			b.WriteString(trailers[i].key)
			b.WriteString(": ")
			b.WriteString(value)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// maxMessage bounds a message, in bytes.
const maxMessage = 64 << 10

// Parse reads a message. It accepts exactly what Message renders, given the
// actor (the author of the commit).
func Parse(message []byte, actor string) (_ *Record, err error) {
	if len(message) > maxMessage {
		return nil, fmt.Errorf("message of %d bytes, limit %d", len(message), maxMessage)
	}
	_, block, ok := bytes.Cut(message, []byte("\n\n"))
	if !ok {
		return nil, fmt.Errorf("message without trailers")
	}
	r := &Record{Actor: actor}
	seen := make(map[string]bool, 24)
	at, unknown := 0, error(nil)
	for line := range strings.Lines(string(block)) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok {
			return nil, fmt.Errorf("line %q is not a trailer", handoff.Clip(line, maxShown))
		}
		if seen[key] {
			return nil, fmt.Errorf("trailer %q twice", handoff.Clip(key, maxShown))
		}
		seen[key] = true
		if at = find(key, at+1); at < 0 {
			if strings.HasPrefix(key, prefix) {
				unknown = cmp.Or(unknown, fmt.Errorf("trailer %q is %w", handoff.Clip(key, maxShown), handoff.ErrUnknown))
			}
			continue // the comparison with Message below refuses the message
		}
		if t := &trailers[at]; t.text != nil {
			*t.text(r) = value
		} else if *t.time(r), err = time.Parse("2006-01-02T15:04:05Z", value); err != nil {
			return nil, fmt.Errorf("%s: %q is not a UTC time", key, handoff.Clip(value, maxShown))
		}
	}
	if err := cmp.Or(unknown, r.check()); err != nil {
		return nil, err
	}
	if !bytes.Equal(r.Message(), message) {
		return nil, fmt.Errorf("message is not in canonical form")
	}
	return r, nil
}

// check refuses a record that must not be written or believed. It runs both for writing and for
// reading.
func (r *Record) check() error {
	for i := range trailers {
		key, value := trailers[i].key, trailers[i].value(r)
		if c, ok := unprintable(value); ok {
			return fmt.Errorf("trailer %s: character %q is not printable ASCII", key, c)
		}
		if value != strings.TrimSpace(value) {
			return fmt.Errorf("trailer %s begins or ends with a space", key)
		}
	}
	if r.Event != "" && steps[r.Event] == "" {
		return fmt.Errorf("event %q is %w", handoff.Clip(string(r.Event), maxShown), handoff.ErrUnknown)
	}
	for _, check := range []func() error{r.checkTrailers, r.checkNames, r.checkHex, r.checkForms} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkNames checks ids, agents and the actor: an agent's name or a mail address, fit to be the
// author of a commit.
func (r *Record) checkNames() error {
	for _, id := range []handoff.ID{r.ID, r.Next, r.Parent} {
		if id != "" {
			if _, err := handoff.ParseID(string(id)); err != nil {
				return err
			}
		}
	}
	if err := handoff.CheckAgent(r.From); err != nil {
		return err
	}
	if err := handoff.CheckAgent(r.To); err != nil && (r.To != handoff.Nobody || r.Event == Routed) {
		return err
	}
	if err := handoff.CheckAgent(r.OnFailure); err != nil && r.OnFailure != "" {
		return err
	}
	if handoff.CheckAgent(r.Actor) == nil {
		return nil
	}
	local, domain, ok := strings.Cut(r.Actor, "@")
	_, odd := unprintable(r.Actor)
	if !ok || local == "" || domain == "" || odd || len(r.Actor) > 254 || strings.ContainsAny(r.Actor, " <>\"\\") {
		return fmt.Errorf("actor %s is neither an agent nor a mail address", handoff.Clip(strconv.QuoteToASCII(r.Actor), maxShown))
	}
	return nil
}

// previous returns the commit in Handoff-Previous, "" for none.
func (r *Record) previous() string {
	if r.Previous == None {
		return ""
	}
	return r.Previous
}

// checkHex checks the values in hex digits.
func (r *Record) checkHex() error {
	for _, h := range []struct {
		key, value string
		digits     int
	}{
		{"Handoff-Nonce", r.Nonce, 32},
		{"Handoff-Claim", r.Claim, 32},
		{"Handoff-Digest", strings.TrimPrefix(r.Digest, "sha256:"), 64},
	} {
		if h.value != "" && !handoff.IsHex(h.value, h.digits) {
			return fmt.Errorf("%s: want %d hex digits", h.key, h.digits)
		}
	}
	for _, h := range []struct{ key, oid string }{{"Handoff-Payload", r.Payload}, {"Handoff-Previous", r.previous()}} {
		if h.oid != "" && !gitobj.IsID(h.oid) {
			return fmt.Errorf("%s: want an object id", h.key)
		}
	}
	if !strings.HasPrefix(r.Digest, "sha256:") {
		return fmt.Errorf("Handoff-Digest: want sha256:<hex>")
	}
	if r.Token != "" && !handoff.IsTokenID(r.Token) {
		return fmt.Errorf("Handoff-Token: want obo_ and 32 hex digits")
	}
	return nil
}

func unprintable(s string) (rune, bool) {
	for _, c := range s {
		if c < 0x20 || c > 0x7e {
			return c, true
		}
	}
	return 0, false
}

const maxShown = 64 // length of a quoted text in a message, in bytes
