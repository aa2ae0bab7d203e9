package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"githandoff/internal/handoff"
)

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
