package handoff

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"githandoff/internal/fault"
)

// ParseStrict reads exactly one JSON value into dst, a pointer as for json.Unmarshal. It
// refuses, with reason "malformed" and the name of the member, everything encoding/json
// forgives and two readers could read differently: invalid UTF-8 and lone surrogates, a byte
// order mark, duplicate members, members without a field in dst or spelled in another case,
// null where dst is neither pointer, slice, map nor interface, more than MaxDepth open arrays
// and objects, integers a double cannot hold, bytes after the value, numbers with a digit a
// double does not keep. In a map or an interface any name goes, once.
func ParseStrict(b []byte, dst any) error { return ParseStrictAfter(0, b, dst) }

// ParseStrictAfter is like ParseStrict for a value behind so many lines of its file: messages count
// lines as an editor does.
func ParseStrictAfter(lines int, b []byte, dst any) error {
	tree, err := parseTree(b, lines)
	if err != nil {
		return err
	}
	if err := fits(tree, reflect.TypeOf(dst), make(Member, 0, MaxDepth)); err != nil {
		return err
	}
	if err := json.Unmarshal(b, dst); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return refuse(wrong.Field, fault.Malformed, "%s does not fit", Clip(wrong.Value, maxShown))
		}
		return fault.New(fault.Invalid, fault.Malformed, "decode JSON: %w", err)
	}
	return nil
}

// parseTree reads one value into map[string]any, []any, string, float64, bool
// and nil. Lines of b are counted from the given number of lines on.
func parseTree(b []byte, before int) (any, error) {
	if err := checkText(b); err != nil {
		return nil, err
	}
	if !json.Valid(b) {
		err := json.Unmarshal(b, new(any)) // says what is wrong, and where
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, refuse("document", fault.Malformed, "%s%w at %s", blame(b, syntax.Offset), err, place(b, syntax.Offset, before))
		}
		return nil, refuse("document", fault.Malformed, "%w", err)
	}
	if err := checkPairs(b, before); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return readValue(dec, make(Member, 0, MaxDepth))
}

// blame names the most common mistake of writers of JSON.
func blame(b []byte, offset int64) string {
	last := bytes.TrimRight(b[:max(0, offset-1)], " \t\r\n")
	if offset > 0 && bytes.HasSuffix(last, []byte(",")) && strings.IndexByte("}]", b[offset-1]) >= 0 {
		return "a comma too many: "
	}
	return ""
}

// place gives the line and column of the byte before offset, as an editor counts them with so
// many lines before b.
func place(b []byte, offset int64, lines int) string {
	before := b[:max(0, offset-1)]
	line := lines + bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

func checkText(b []byte) error {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return refuse("document", fault.Malformed, "begins with a byte order mark")
	case !utf8.Valid(b):
		return refuse("document", fault.Malformed, "not valid UTF-8")
	}
	return nil
}

// CheckText refuses, with reason "malformed", valid JSON that encoding/json would read as another
// text: invalid UTF-8, a byte order mark, and half a surrogate pair.
func CheckText(b []byte) error {
	if err := checkText(b); err != nil {
		return err
	}
	return checkPairs(b, 0)
}

// checkPairs refuses a \u escape that is half a surrogate pair, which encoding/json would turn
// into U+FFFD. b is valid JSON with so many lines before it, so a backslash starts an escape
// wherever it stands.
func checkPairs(b []byte, before int) error {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		start := i
		i++
		if b[i] != 'u' {
			continue
		}
		first := codeUnit(b[i+1 : i+5])
		i += 4
		if !utf16.IsSurrogate(first) {
			continue
		}
		if !bytes.HasPrefix(b[i+1:], []byte(`\u`)) || utf16.DecodeRune(first, codeUnit(b[i+3:i+7])) == utf8.RuneError {
			return refuse("document", fault.Malformed, "half a surrogate pair at %s", place(b, int64(start)+1, before))
		}
		i += 6
	}
	return nil
}

func codeUnit(hex []byte) rune {
	v, err := strconv.ParseUint(string(hex), 16, 16)
	if err != nil { // impossible: the syntax was checked
		return utf8.RuneError
	}
	return rune(v)
}

func readValue(dec *json.Decoder, at Member) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, refuse(at.String(), fault.Malformed, "%w", err)
	}
	switch t := token.(type) {
	case json.Number:
		return readNumber(string(t), at)
	case json.Delim:
		if len(at) >= MaxDepth {
			return nil, refuse(at.String(), fault.Malformed, "nested deeper than %d", MaxDepth)
		}
		if t == '{' {
			return readObject(dec, at)
		}
		list := []any{}
		for dec.More() {
			v, err := readValue(dec, at.elem(len(list)))
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := dec.Token()
		return list, err
	default:
		return t, nil
	}
}

func readObject(dec *json.Decoder, at Member) (any, error) {
	object := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, refuse(at.String(), fault.Malformed, "%w", err)
		}
		name := token.(string) // the syntax was checked, so a name is a string
		if _, twice := object[name]; twice {
			return nil, refuse(at.name(name).String(), fault.Malformed, "appears twice")
		}
		if object[name], err = readValue(dec, at.name(name)); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, err
}

// readNumber reads a double, the only number of RFC 8785. A number that would
// change on the way is refused, not rounded: it may be somebody's id, or a sum.
func readNumber(literal string, at Member) (any, error) {
	f, err := strconv.ParseFloat(literal, 64)
	integer := !strings.ContainsAny(literal, ".eE")
	switch {
	case err != nil:
		return nil, refuse(at.String(), fault.Malformed, "the number %s is out of range", Clip(literal, maxShown))
	case integer && strconv.FormatFloat(f, 'f', -1, 64) != literal:
		return nil, refuse(at.String(), fault.Malformed, "the integer %s is too long for a number; write it as a string", Clip(literal, maxShown))
	case !integer && !keeps(f, literal):
		return nil, refuse(at.String(), fault.Malformed, "the number %s has digits that a number does not keep; write it as a string", Clip(literal, maxShown))
	}
	return f, nil
}

// maxDigits is the number of significant digits needed to tell every double from its
// neighbours.
const maxDigits = 17

// keeps reports whether f, written with as many digits as the literal has, is the literal.
// Programs print the shortest digits that read back as f: if f lies half way between two of
// those, as 2^-24 does, they may print either.
func keeps(f float64, literal string) bool {
	digits, point, ok := decimal(literal)
	switch {
	case digits == "":
		return true // every spelling of zero reads as zero
	case !ok || len(digits) > maxDigits:
		return false
	}
	for _, precision := range []int{len(digits) - 1, -1} {
		same, at, _ := decimal(strconv.FormatFloat(f, 'e', precision, 64))
		if digits == same && point == at {
			return true
		}
	}
	return false
}

// decimal takes a number of JSON apart: its digits without zeros at either end,
// and where the point stands before the first of them, as a power of ten.
func decimal(literal string) (digits string, point int, ok bool) {
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(strings.TrimPrefix(literal, "-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	ok = true
	if scaled {
		n, err := strconv.Atoi(exponent)
		point, ok = n, err == nil
	}
	digits = strings.TrimLeft(whole+fraction, "0")
	point += len(whole) - (len(whole+fraction) - len(digits))
	return strings.TrimRight(digits, "0"), point, ok
}

// refuse makes the refusal of one member. A cause is kept behind %w.
func refuse(member string, reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, reason, "%s: %w", member, fmt.Errorf(format, args...))
}

// fits compares a JSON value with a Go type.
func fits(v any, t reflect.Type, at Member) error {
	if t == nil || readsItself(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v == nil && len(at) > 0 {
			return nil
		}
		return fits(v, t.Elem(), at)
	case reflect.Interface:
		return nil
	case reflect.Struct, reflect.Map:
		object, ok := v.(map[string]any)
		switch {
		case ok:
			return membersFit(object, t, at)
		case v == nil && t.Kind() == reflect.Map:
			return nil
		}
		return mismatch(v, "an object", at)
	case reflect.Slice, reflect.Array:
		list, ok := v.([]any)
		if !ok && v != nil {
			return mismatch(v, "an array", at)
		}
		for i, elem := range list {
			if err := fits(elem, t.Elem(), at.elem(i)); err != nil {
				return err
			}
		}
	case reflect.String:
		if _, ok := v.(string); !ok {
			return mismatch(v, "a string", at)
		}
	case reflect.Bool:
		if _, ok := v.(bool); !ok {
			return mismatch(v, "a boolean", at)
		}
	default:
		if _, ok := v.(float64); !ok {
			return mismatch(v, "a number", at)
		}
	}
	return nil
}

// readsItself reports whether the type's own method, or encoding/json, decides what fits: for
// an unmarshaler, json.Number, and bytes in base64.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) ||
		t == reflect.TypeFor[json.Number]() ||
		t == reflect.TypeFor[[]byte]()
}

// membersFit compares the members of an object with the fields of a struct, or with the
// elements of a map.
func membersFit(object map[string]any, t reflect.Type, at Member) error {
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		want, known := fields[name]
		if t.Kind() == reflect.Map {
			want, known = t.Elem(), true
		}
		if !known {
			return unknown(at.name(name), slices.Sorted(maps.Keys(fields)))
		}
		if err := fits(object[name], want, at.name(name)); err != nil {
			return err
		}
	}
	return nil
}

// unknown refuses a member without a field, and names the field that was meant.
func unknown(m Member, fields []string) error {
	if i := slices.IndexFunc(fields, func(field string) bool { return strings.EqualFold(field, m.Name()) }); i >= 0 {
		return refuse(m.String(), fault.Malformed, "must be spelled %q", fields[i])
	}
	refusal := refuse(m.String(), fault.Malformed, "unknown member")
	if near := fault.Nearest(m.Name(), fields); near != "" {
		refusal = refuse(m.String(), fault.Malformed, "unknown member; did you mean %s?", near)
	}
	refusal.Err = ErrUnknown
	return refusal
}

// fieldsOf returns the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && f.Tag.Get("json") != "-" && !(f.Anonymous && f.Tag.Get("json") == "") {
			fields[jsonName(f)] = f.Type
		}
	}
	return fields
}

func mismatch(v any, want string, at Member) error {
	return refuse(at.String(), fault.Malformed, "%s where %s belongs", KindOf(v), want)
}

// KindOf names the kind of a JSON value in a message: "a string", "null".
func KindOf(v any) string {
	switch v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "a string"
	case float64:
		return "a number"
	case bool:
		return "a boolean"
	}
	return "null"
}
