package dialect

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// responseKey is the output with the last message of an agent, in base64.
const responseKey = "response"

// Results reads the outputs of a log: the lines between the markers but blank ones, and a map
// of the "key: value" lines, as Kelos reads them. A repeated key has its last value. If the
// log has no outputs, or was cut off within the last ones, the map is nil.
func (l Log) Results() (lines []string, results map[string]string, err error) {
	if !l.Outputs.Found || l.Outputs.Cut {
		return nil, nil, nil
	}
	if err := l.Outputs.check(outputsStart); err != nil {
		return nil, nil, err
	}
	results = map[string]string{}
	for line := range strings.Lines(string(l.Outputs.Text)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		lines = append(lines, line)
		// A colon alone is not enough, or "https" would be a key. So a key without a value,
		// whose space was trimmed, is none.
		if key, value, ok := strings.Cut(line, ": "); ok && key != "" {
			results[key] = value
		}
	}
	return lines, results, nil
}

// HandoffText returns the document between the markers; nil if there is none. A document too long,
// and a text that is none, is refused.
func (l Log) HandoffText() ([]byte, error) {
	if !l.Handoff.Found {
		return nil, nil
	}
	if err := l.Handoff.check(handoffStart); err != nil {
		return nil, err
	}
	if src, err := findJSON(l.Handoff.Text, false); err == nil && src.json == nil && len(l.Handoff.Text) > 0 {
		return nil, invalid(Kelos, fault.Malformed, "line %d of the log: the text between the markers is not JSON", l.Handoff.Line+1)
	}
	return append([]byte{}, l.Handoff.Text...), nil // not nil, which would mean no markers
}

// Left returns the document an agent left in its log: its handoff, or the document [Log.Response]
// makes of its last message; nil if there is neither.
func (l Log) Left() ([]byte, error) {
	if doc, err := l.HandoffText(); doc != nil || err != nil || l.Handoff.Cut {
		return doc, err
	}
	return l.Response()
}

// CutOff refuses a log ending within its agent's handoff or outputs; nil if it does not.
func (l Log) CutOff() error {
	switch {
	case l.Handoff.Cut:
		return CutOff()
	case l.Outputs.Cut && !l.Handoff.Found:
		return invalid(Kelos, fault.Malformed, "the log ends inside the outputs of the agent: no %s follows the last %s", outputsEnd, outputsStart)
	}
	return nil
}

// Response makes a kelos document of the outputs of an agent that left no handoff: its last
// message is the detail, the message's first paragraph the summary, and the other results are
// data. It is nil if the outputs hold no message.
func (l Log) Response() ([]byte, error) {
	_, results, err := l.Results()
	if err != nil {
		return nil, err
	}
	encoded := strings.TrimSpace(results[responseKey])
	if encoded == "" {
		return nil, nil
	}
	message, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err != nil:
		return nil, invalid(Kelos, fault.Malformed, "outputs: %s: not base64: %w", responseKey, err)
	case !utf8.Valid(message):
		return nil, invalid(Kelos, fault.Malformed, "outputs: %s: not valid UTF-8", responseKey)
	case blank(string(message)):
		return nil, nil
	}
	delete(results, responseKey)
	return responseDocument(string(message), results)
}

// responseDocument makes a kelos document of the last message of an agent, and of other
// results.
func responseDocument(message string, data map[string]string) ([]byte, error) {
	return handoff.Canonical(writeKelos(&handoff.Envelope{Summary: firstParagraph(message), Detail: message, Data: data}))
}

// firstParagraph returns the beginning of a message, cut to the size of a summary: the
// detail has the whole.
func firstParagraph(message string) string {
	text := strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n"))
	text, _, _ = strings.Cut(text, "\n\n")
	if len(text) <= handoff.MaxSummary {
		return strings.TrimSpace(text)
	}
	const dots = " …"
	text = text[:handoff.MaxSummary-len(dots)]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	if at := strings.LastIndexAny(text, " \t\n"); at > 0 {
		text = text[:at]
	}
	return strings.TrimSpace(text) + dots
}
