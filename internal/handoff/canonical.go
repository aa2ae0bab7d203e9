package handoff

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"

	"githandoff/internal/fault"
)

// Canonical gives the RFC 8785 bytes of v, anything that encoding/json takes.
// It refuses what ParseStrict would not read back: invalid UTF-8, NaN, numbers
// that a double does not keep, more than MaxDepth levels.
func Canonical(v any) ([]byte, error) {
	// encoding/json would write U+FFFD for a bad byte and say nothing.
	if err := checkUTF8(v); err != nil {
		return nil, err
	}
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fault.New(fault.Invalid, fault.Malformed, "encode JSON: %w", err)
	}
	tree, err := parseTree(plain.Bytes(), 0)
	if err != nil {
		return nil, err
	}
	return appendValue(make([]byte, 0, plain.Len()), tree), nil
}

// appendValue writes what parseTree reads.
func appendValue(b []byte, v any) []byte {
	switch t := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, t)
	case string:
		return appendString(b, t)
	case float64:
		return appendNumber(b, t)
	case []any:
		b = append(b, '[')
		for i, elem := range t {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, elem)
		}
		return append(b, ']')
	default:
		object := t.(map[string]any)
		b = append(b, '{')
		// By UTF-16 code units (RFC 8785, 3.2.3): code points beyond U+FFFF begin with a
		// surrogate and so come before U+E000 to U+FFFF.
		byUTF16 := func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) }
		for i, name := range slices.SortedFunc(maps.Keys(object), byUTF16) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendString(b, name), ':')
			b = appendValue(b, object[name])
		}
		return append(b, '}')
	}
}

// appendString escapes what must be escaped and nothing else (RFC 8785, 3.2.2.2).
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\t':
			b = append(b, '\\', 't')
		case '\n':
			b = append(b, '\\', 'n')
		case '\f':
			b = append(b, '\\', 'f')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			if c < 0x20 {
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			} else {
				b = append(b, c)
			}
		}
	}
	return append(b, '"')
}

// appendNumber writes a double as ECMAScript does (RFC 8785, 3.2.2.3): the
// fewest digits that read back the same, plain from 1e-6 up to 1e21.
func appendNumber(b []byte, f float64) []byte {
	if f == 0 {
		return append(b, '0') // also -0
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	b = strconv.AppendFloat(b, f, 'e', -1, 64)
	// Go pads the exponent to two digits: 1e-07.
	if n := len(b); b[n-2] == '0' && (b[n-3] == '-' || b[n-3] == '+') {
		b = append(b[:n-2], b[n-1])
	}
	return b
}
