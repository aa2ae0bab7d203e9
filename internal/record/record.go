package record

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/handoff"
)

// None is the value of Handoff-Previous where no inbox tip is replaced, and
// Nobody the value of Handoff-To where a decision is due.
const (
	None   = "none"
	Nobody = "_"
)

// Record is the content of a message. Times have whole seconds. Fields from
// Lease on are absent when empty.
type Record struct {
	Event    Event
	Actor    string // agent, or a person's mail address
	ID       handoff.ID
	From     string // source agent
	To       string // target agent, or Nobody
	Home     string // repo id
	Digest   string // of the stored envelope blob
	Previous string // object id of the inbox tip that this replaces, or None
	Key      string // key id of the signer
	Nonce    string // 32 hex
	At       time.Time
	Expires  time.Time

	Lease         time.Time // until when the claim holds
	Claim         string    // nonce of the claim that this event stands on
	Next          handoff.ID
	Task          string
	Parent        handoff.ID
	Counts        string
	Status        string
	OnFailure     string // agent that takes a failed handoff back
	Payload       string // object id of the payload commit; lane entries only
	Duration      string // from claim to receipt, as 1m02s
	Data          string // results, one-line JSON
	Principal     string // "<who> (declared|token)"
	Token         string // jti
	SkillsMissing string
}

// trailers maps the record to its lines, in wire order. Absent ones have an
// empty value.
func (r *Record) trailers() []trailer {
	return []trailer{
		{"Handoff-Id", string(r.ID)},
		{"Handoff-Event", string(r.Event)},
		{"Handoff-From", r.From},
		{"Handoff-To", r.To},
		{"Handoff-Home", r.Home},
		{"Handoff-Digest", r.Digest},
		{"Handoff-Previous", r.Previous},
		{"Handoff-Key", r.Key},
		{"Handoff-Nonce", r.Nonce},
		{"Handoff-At", stamp(r.At)},
		{"Handoff-Expires", stamp(r.Expires)},
		{"Handoff-Lease", stamp(r.Lease)},
		{"Handoff-Claim", r.Claim},
		{"Handoff-Next", string(r.Next)},
		{"Handoff-Task", r.Task},
		{"Handoff-Parent", string(r.Parent)},
		{"Handoff-Counts", r.Counts},
		{"Handoff-Status", r.Status},
		{"Handoff-On-Failure", r.OnFailure},
		{"Handoff-Payload", r.Payload},
		{"Handoff-Duration", r.Duration},
		{"Handoff-Data", r.Data},
		{"Handoff-Principal", r.Principal},
		{"Handoff-Token", r.Token},
		{"Handoff-Skills-Missing", r.SkillsMissing},
	}
}

const required = 11 // the first trailers, which no message lacks

type trailer struct{ key, value string }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
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
	for _, t := range r.trailers() {
		if t.value != "" {
			b.WriteString(t.key)
			b.WriteString(": ")
			b.WriteString(t.value)
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// maxMessage bounds what Parse looks at.
const maxMessage = 64 << 10

// Parse reads a message. It accepts exactly what Message renders, given the
// actor (the author of the commit).
func Parse(message []byte, actor string) (*Record, error) {
	if len(message) > maxMessage {
		return nil, fmt.Errorf("message of %d bytes, limit %d", len(message), maxMessage)
	}
	_, block, ok := bytes.Cut(message, []byte("\n\n"))
	if !ok {
		return nil, fmt.Errorf("message without trailers")
	}
	r := &Record{Actor: actor}
	seen := make(map[string]bool, 24)
	for line := range strings.Lines(string(block)) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok {
			return nil, fmt.Errorf("line %q is not a trailer", clip(line))
		}
		if seen[key] {
			return nil, fmt.Errorf("trailer %s twice", clip(key))
		}
		seen[key] = true
		switch key {
		case "Handoff-At", "Handoff-Expires", "Handoff-Lease":
			if _, err := time.Parse("2006-01-02T15:04:05Z", value); err != nil {
				return nil, fmt.Errorf("%s: %q is not a UTC time", key, clip(value))
			}
		}
		if to := r.text(key); to != nil {
			*to = value
		} else {
			r.scan(key, value) // what is neither makes the message differ from Message
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if !bytes.Equal(r.Message(), message) {
		return nil, fmt.Errorf("message is not in canonical form")
	}
	return r, nil
}

// check says what cannot be written or believed. It is run on both ways.
func (r *Record) check() error {
	for _, t := range r.trailers() {
		if c, ok := unprintable(t.value); ok {
			return fmt.Errorf("trailer %s: character %q is not printable ASCII", t.key, c)
		}
		if t.value != strings.TrimSpace(t.value) {
			return fmt.Errorf("trailer %s begins or ends with a space", t.key)
		}
	}
	if steps[r.Event] == "" {
		return fmt.Errorf("unknown event %q", clip(string(r.Event)))
	}
	if err := r.checkTrailers(); err != nil {
		return err
	}
	if err := r.checkNames(); err != nil {
		return err
	}
	if err := r.checkHex(); err != nil {
		return err
	}
	return r.checkForms()
}

// checkNames checks ids, agents and the actor.
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
	if err := handoff.CheckAgent(r.To); err != nil && (r.To != Nobody || r.Event == Routed) {
		return err
	}
	if err := handoff.CheckAgent(r.OnFailure); err != nil && r.OnFailure != "" {
		return err
	}
	return checkActor(r.Actor)
}

// checkHex checks what is spelled in hex digits.
func (r *Record) checkHex() error {
	previous := r.Previous
	if previous == None {
		previous = ""
	}
	for _, h := range []struct {
		key, value string
		digits     int
	}{
		{"Handoff-Nonce", r.Nonce, 32},
		{"Handoff-Claim", r.Claim, 32},
		{"Handoff-Payload", r.Payload, 40},
		{"Handoff-Previous", previous, 40},
		{"Handoff-Digest", strings.TrimPrefix(r.Digest, "sha256:"), 64},
	} {
		if h.value != "" && !handoff.IsHex(h.value, h.digits) {
			return fmt.Errorf("%s: want %d hex digits", h.key, h.digits)
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

// checkActor accepts an agent's name or a mail address: what may stand as the
// author of a commit.
func checkActor(s string) error {
	if handoff.CheckAgent(s) == nil {
		return nil
	}
	local, domain, ok := strings.Cut(s, "@")
	_, odd := unprintable(s)
	if !ok || local == "" || domain == "" || odd || len(s) > 254 || strings.ContainsAny(s, " <>\"\\") {
		return fmt.Errorf("actor %s is neither an agent nor a mail address", clip(strconv.QuoteToASCII(s)))
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

func clip(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
