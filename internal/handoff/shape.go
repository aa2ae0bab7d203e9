package handoff

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"githandoff/internal/fault"
)

// shape compares a JSON value with a Go type.
type shape struct {
	before int                                      // lines of the file before the value
	fields map[reflect.Type]map[string]reflect.Type // by JSON name; a cache
}

func (s *shape) check(v any, t reflect.Type, at Member) error {
	if t == nil || readsItself(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v == nil && len(at) > 0 {
			return nil
		}
		return s.check(v, t.Elem(), at)
	case reflect.Interface:
		return nil
	case reflect.Struct, reflect.Map:
		object, ok := v.(map[string]any)
		switch {
		case ok:
			return s.checkMembers(object, t, at)
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
			if err := s.check(elem, t.Elem(), at.elem(i)); err != nil {
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

// readsItself says that the type's own method, or encoding/json, decides what
// fits: what implements an unmarshaler, json.Number, and bytes in base64.
func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) ||
		t == reflect.TypeFor[json.Number]() ||
		t == reflect.TypeFor[[]byte]()
}

// checkMembers compares the members of an object with the fields of a struct, or with the
// elements of a map.
func (s *shape) checkMembers(object map[string]any, t reflect.Type, at Member) error {
	var fields map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		fields = s.fieldsOf(t)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		want, known := fields[name]
		if t.Kind() == reflect.Map {
			want, known = t.Elem(), true
		}
		if known {
			if err := s.check(object[name], want, at.name(name)); err != nil {
				return err
			}
			continue
		}
		for _, want := range slices.Sorted(maps.Keys(fields)) {
			if strings.EqualFold(want, name) {
				return refuse(at.name(name).String(), fault.Malformed, "must be spelled %q", want)
			}
		}
		return refuse(at.name(name).String(), fault.Malformed, "unknown member")
	}
	return nil
}

func (s *shape) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := s.fields[t]; ok {
		return known
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && f.Tag.Get("json") != "-" && !(f.Anonymous && f.Tag.Get("json") == "") {
			fields[jsonName(f)] = f.Type
		}
	}
	s.fields[t] = fields
	return fields
}

func mismatch(v any, want string, at Member) error {
	got := "null"
	switch v.(type) {
	case map[string]any:
		got = "an object"
	case []any:
		got = "an array"
	case string:
		got = "a string"
	case float64:
		got = "a number"
	case bool:
		got = "a boolean"
	}
	return refuse(at.String(), fault.Malformed, "%s where %s belongs", got, want)
}
