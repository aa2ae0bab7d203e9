package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
)

// Event is a step of a handoff.
type Event string

// The events. The five from Acknowledged to Expired are receipts: they end it.
const (
	Offered      Event = "offered"
	Routed       Event = "routed"
	Claimed      Event = "claimed"
	Progressed   Event = "progressed"
	Released     Event = "released"
	Acknowledged Event = "acknowledged"
	Failed       Event = "failed"
	Rerouted     Event = "rerouted"
	Revoked      Event = "revoked"
	Expired      Event = "expired"
	Joined       Event = "joined"
)

// Receipt reports whether the event ends a handoff.
func (e Event) Receipt() bool {
	switch e {
	case Acknowledged, Failed, Rerouted, Revoked, Expired:
		return true
	}
	return false
}

// Need says whether an event has a trailer.
type Need int

// The needs. A trailer with Never makes a message malformed.
const (
	Never Need = iota
	May
	Must
)

// steps are the trailers of each event after the first eleven, in wire order. A "!" follows a
// required one. Handoff-Payload is left out: it is in each lane entry and nowhere else.
var steps = map[Event]string{
	Offered:      "Task Parent Counts! Status! On-Failure Principal Token",
	Routed:       "Task Data Principal Token",
	Claimed:      "Lease! Claim Task Principal Token",
	Progressed:   "Lease! Claim! Next Task Data Principal Token",
	Released:     "Claim! Task Principal Token",
	Acknowledged: "Claim! Task Parent Counts! Status! Duration! Data Principal Token Skills-Missing",
	Failed:       "Claim Next Task Parent Counts! Status! Duration Data Principal Token",
	Rerouted:     "Claim Next! Task Parent Counts! Status! Duration Data Principal Token",
	Revoked:      "Claim Task Parent Counts! Status! Duration Data Principal Token",
	Expired:      "Claim Task Parent Counts! Status! Duration Data Principal Token",
	Joined:       "Task Token",
}

// Needs says whether records of an event have a trailer. Handoff-Payload depends on the place
// of the record, not on the event.
func (e Event) Needs(name string) Need {
	if i := find(name, 0); i >= 0 && i < required {
		return Must
	}
	short := strings.TrimPrefix(name, prefix)
	for word := range strings.FieldsSeq(steps[e]) {
		if word == short {
			return May
		}
		if word == short+"!" {
			return Must
		}
	}
	return Never
}

const prefix = "Handoff-"

// checkTrailers compares the present trailers with the table, and with each other.
func (r *Record) checkTrailers() error {
	for i := range trailers {
		key, value := trailers[i].key, trailers[i].value(r)
		if key == "Handoff-Payload" { // checkPlace checks Handoff-Payload
			continue
		}
		switch need := r.Event.Needs(key); {
		case need == Must && value == "":
			return fmt.Errorf("trailer %s is missing in %q", key, handoff.Clip(string(r.Event), maxShown))
		case need == Never && value != "":
			return fmt.Errorf("trailer %s does not belong to %q", key, handoff.Clip(string(r.Event), maxShown))
		}
	}
	own := r.Event == Offered || r.Event.Receipt() || r.Event == Joined
	switch {
	case r.Duration != "" && r.Claim == "":
		return fmt.Errorf("Handoff-Duration without a claim")
	case r.Next == r.ID:
		return fmt.Errorf("Handoff-Next is the handoff itself")
	case r.Parent == r.ID:
		return fmt.Errorf("Handoff-Parent is the handoff itself")
	case strings.HasSuffix(r.Principal, " (token)") && r.Token == "":
		return fmt.Errorf("Handoff-Principal names a token, but there is none")
	case !own && (r.Principal == "") != (r.Token == ""):
		return fmt.Errorf("a step has Handoff-Principal if it has Handoff-Token, and only then")
	}
	return nil
}

// checkPlace compares the record with the commit around it: a lane entry, or a commit of an
// inbox ref.
func (c *Commit) checkPlace() error {
	r := c.Record
	for _, oid := range []string{r.Payload, r.previous()} {
		if oid != "" && len(oid) != len(c.Tree) {
			return fmt.Errorf("%q is the id of an object in a repository of another format", oid)
		}
	}
	if gitobj.IsEmptyTree(c.Tree) { // lane entries have the empty tree
		switch {
		case r.Payload == "":
			return fmt.Errorf("a lane entry without Handoff-Payload")
		case r.Event == Joined && len(c.Parents) != 2, r.Event != Joined && len(c.Parents) > 1:
			return fmt.Errorf("a lane entry %q with %d parents", r.Event, len(c.Parents))
		}
		return nil
	}
	switch {
	case r.Payload != "":
		return fmt.Errorf("Handoff-Payload in a commit of an inbox ref")
	case r.Event == Joined || r.Event.Receipt():
		return fmt.Errorf("%q is only a lane entry, but has a tree", r.Event)
	case r.Event == Offered && len(c.Parents) > 0:
		return fmt.Errorf("a payload commit with a parent")
	case r.Event != Offered && (len(c.Parents) != 1 || c.Parents[0] != r.Previous):
		return fmt.Errorf("%q is not on top of the commit that Handoff-Previous names", r.Event)
	}
	return nil
}

// checkForms keeps prose out of the trailers that are shown as facts about a handoff, and not as
// the words of their author.
func (r *Record) checkForms() error {
	if who, mark, _ := strings.Cut(r.Principal, " "); r.Principal != "" &&
		(!strings.HasPrefix(who, "user:") || mark != "(declared)" && mark != "(token)") {
		return fmt.Errorf("Handoff-Principal: want user:MAIL (declared) or (token)")
	}
	switch r.Status {
	case "", handoff.StatusComplete, handoff.StatusBlocked, handoff.StatusNeedsReview, handoff.StatusNeedsClarification:
	default:
		return fmt.Errorf("Handoff-Status: %q is %w", handoff.Clip(r.Status, maxShown), handoff.ErrUnknown)
	}
	if r.Duration != "" && !durable(r.Duration) {
		return fmt.Errorf("Handoff-Duration: %q is not of the form 3s, 4m32s or 1h00m05s", handoff.Clip(r.Duration, maxShown))
	}
	if len(r.Task) > handoff.MaxTask {
		return fmt.Errorf("Handoff-Task: %d bytes, limit %d", len(r.Task), handoff.MaxTask)
	}
	if len(r.SkillsMissing) > maxSkills {
		return fmt.Errorf("Handoff-Skills-Missing: %d bytes, limit %d", len(r.SkillsMissing), maxSkills)
	}
	if r.Data != "" {
		if _, err := DecodeData(r.Data); err != nil {
			return err
		}
	}
	if err := handoff.CheckRepoID(r.Home); err != nil {
		return fmt.Errorf("Handoff-Home: %w", err)
	}
	if !handoff.IsKeyID(r.Key) {
		return fmt.Errorf("Handoff-Key: %q is not a key id", handoff.Clip(r.Key, maxShown))
	}
	if r.Counts != "" && !isCounts(r.Counts) {
		return fmt.Errorf("Handoff-Counts: want numbers of steps, blockers, decisions, deliverables, files")
	}
	// A step that moves an inbox ref names the tip that it replaces.
	switch {
	case (r.Event == Offered || r.Event == Joined) && r.Previous != None:
		return fmt.Errorf("Handoff-Previous: %q replaces no inbox tip", r.Event)
	case r.Event != Offered && r.Event != Joined && !r.Event.Receipt() && r.Previous == None:
		return fmt.Errorf("Handoff-Previous: %q replaces an inbox tip", r.Event)
	}
	return nil
}

// maxSkills bounds Handoff-Skills-Missing, in bytes: names of 4,096 and separators.
const maxSkills = 4200

// Duration prints a span as receipts and histories do: 3s, 1m02s, 1h00m05s. Clocks differ, so a
// negative span prints as 0s.
func Duration(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return fmt.Sprintf("%dh%02dm%02ds", h, m, s)
	case m > 0:
		return fmt.Sprintf("%dm%02ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}

// durable reports whether s is a time span in the form that Duration prints.
func durable(s string) bool {
	d, err := time.ParseDuration(s)
	return err == nil && d >= 0 && Duration(d) == s
}

// isCounts reports whether s has the form of handoff.Envelope.Counts. The numbers have at most
// six digits; an envelope has no room for more.
func isCounts(s string) bool {
	const form = "steps=%d blockers=%d decisions=%d deliverables=%d files=%d"
	var n [5]int
	_, err := fmt.Sscanf(s, form, &n[0], &n[1], &n[2], &n[3], &n[4])
	return err == nil && slices.Min(n[:]) >= 0 && slices.Max(n[:]) < 1e6 &&
		fmt.Sprintf(form, n[0], n[1], n[2], n[3], n[4]) == s
}

// EncodeData gives results their one spelling, the value of Handoff-Data: a JSON object of
// strings on one line, members sorted by the bytes of their names, without blanks between
// tokens. The characters < > & and everything but printable ASCII are written \uxxxx in lower
// case, beyond U+FFFF as two surrogates; JSON's shorter escapes (\" \\ \b \f \n \r \t) are used
// where they exist. No results are "".
func EncodeData(results map[string]string) string {
	if len(results) == 0 {
		return ""
	}
	b, err := json.Marshal(results)
	if err != nil {
		return "" // impossible: strings can always be encoded
	}
	return ASCII(b)
}

// DecodeData reads Handoff-Data. It refuses any other spelling than EncodeData's.
func DecodeData(s string) (map[string]string, error) {
	var results map[string]string
	if err := json.Unmarshal([]byte(s), &results); err != nil {
		return nil, fmt.Errorf("Handoff-Data: want one JSON object of strings")
	}
	if EncodeData(results) != s {
		return nil, fmt.Errorf("Handoff-Data: not in canonical form")
	}
	if len(s) > handoff.MaxResults {
		return nil, fmt.Errorf("Handoff-Data: %d bytes, limit %d", len(s), handoff.MaxResults)
	}
	return results, nil
}

// ASCII escapes everything but printable ASCII, as JSON allows it anywhere in a string.
func ASCII(b []byte) string {
	var out strings.Builder
	for _, r := range string(b) {
		switch {
		case r >= 0x20 && r <= 0x7e:
			out.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, "\\u%04x\\u%04x", hi, lo)
		default:
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}
