package handoff

import (
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Member is the way from a document to one value in it. It is written source.agent,
// completed_steps[2], data.token; a name outside plain ASCII is quoted, a long one cut, to fit
// a message.
type Member []step

// step goes down to the member of an object (index ofName), to the name of one
// itself (ofKey), or to an element of an array.
type step struct {
	name  string
	index int
}

const (
	ofName = -1
	ofKey  = -2

	maxShown = 32 // length of a name in a message, in bytes
)

func (m Member) name(s string) Member { return append(m, step{name: s, index: ofName}) }
func (m Member) key(s string) Member  { return append(m, step{name: s, index: ofKey}) }
func (m Member) elem(i int) Member    { return append(m, step{index: i}) }

func (m Member) String() string {
	var b strings.Builder
	for i, s := range m {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case s.index == ofKey:
			b.WriteString(" (a key)")
		case i > 0:
			b.WriteString("." + showName(s.name))
		default:
			b.WriteString(showName(s.name))
		}
	}
	if b.Len() == 0 {
		return "document"
	}
	return b.String()
}

// Top returns the name of the outermost member, "" for the document itself.
func (m Member) Top() string {
	if len(m) == 0 {
		return ""
	}
	return m[0].name
}

// Name returns the name under which the value stands, for an element that of its array, and "" for
// a key.
func (m Member) Name() string {
	for _, s := range slices.Backward(m) {
		switch s.index {
		case ofName:
			return s.name
		case ofKey:
			return ""
		}
	}
	return ""
}

func showName(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '_' || r == '-' || r == '$' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z')
	})
	shown := Clip(s, maxShown)
	if !plain {
		shown = strconv.QuoteToASCII(shown)
	}
	return shown
}

// Clip cuts s for a message.
func Clip(s string, most int) string {
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Strings goes over every non-empty string in v: members in the order of declaration, the keys
// of a map sorted, each key before its value. A Member is good until the next one.
func Strings(v any) iter.Seq2[Member, string] {
	return func(yield func(Member, string) bool) {
		eachString(reflect.ValueOf(v), make(Member, 0, MaxDepth), yield)
	}
}

func eachString(v reflect.Value, at Member, yield func(Member, string) bool) bool {
	switch v.Kind() {
	case reflect.String:
		return v.Len() == 0 || yield(at, v.String())
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || eachString(v.Elem(), at, yield)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !eachString(v.Field(i), at.name(jsonName(f)), yield) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !eachString(v.Index(i), at.elem(i), yield) {
				return false
			}
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return true
		}
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			if !yield(at.key(k.String()), k.String()) || !eachString(v.MapIndex(k), at.name(k.String()), yield) {
				return false
			}
		}
	}
	return true
}

// jsonName returns encoding/json's name of a field.
func jsonName(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return name
	}
	return f.Name
}
