package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"githandoff/internal/handoff"
)

// checkForms keeps prose out of trailers that are shown as facts about a handoff, and not
// as the words of their author.
func (r *Record) checkForms() error {
	if who, mark, _ := strings.Cut(r.Principal, " "); r.Principal != "" &&
		(!strings.HasPrefix(who, "user:") || mark != "(declared)" && mark != "(token)") {
		return fmt.Errorf("Handoff-Principal: want user:MAIL (declared) or (token)")
	}
	switch r.Status {
	case "", handoff.StatusComplete, handoff.StatusBlocked, handoff.StatusNeedsReview, handoff.StatusNeedsClarification:
	default:
		return fmt.Errorf("Handoff-Status: unknown status %q", clip(r.Status))
	}
	if r.Duration != "" && !durable(r.Duration) {
		return fmt.Errorf("Handoff-Duration: %q is not of the form 3s, 4m32s or 1h00m05s", clip(r.Duration))
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
		return fmt.Errorf("Handoff-Key: %q is not a key id", clip(r.Key))
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

// Duration prints a span as receipts and histories do: 3s, 1m02s, 1h00m05s. Clocks
// differ: less than nothing is nothing.
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

// durable: Duration writes it.
func durable(s string) bool {
	d, err := time.ParseDuration(s)
	return err == nil && d >= 0 && Duration(d) == s
}

// isCounts: handoff.Envelope.Counts writes it. The numbers have at most six digits; an envelope
// has no room for more.
func isCounts(s string) bool {
	const form = "steps=%d blockers=%d decisions=%d deliverables=%d files=%d"
	var n [5]int
	_, err := fmt.Sscanf(s, form, &n[0], &n[1], &n[2], &n[3], &n[4])
	return err == nil && slices.Min(n[:]) >= 0 && slices.Max(n[:]) < 1e6 &&
		fmt.Sprintf(form, n[0], n[1], n[2], n[3], n[4]) == s
}

// EncodeData gives results their one spelling, the value of Handoff-Data: a JSON
// object of strings on one line, members sorted by the bytes of their names, without
// blanks between tokens. The characters < > & and all that are not printable ASCII
// are written \uxxxx in lower case, beyond U+FFFF as two surrogates; where JSON has a
// shorter escape (\" \\ \b \f \n \r \t) that one is used. No results are "".
func EncodeData(results map[string]string) string {
	if len(results) == 0 {
		return ""
	}
	b, err := json.Marshal(results)
	if err != nil {
		return "" // strings always have a form
	}
	return ASCII(b)
}

// DecodeData reads Handoff-Data. What EncodeData does not write is refused.
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

// ASCII escapes what is not printable ASCII, as JSON allows it anywhere in a string.
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
