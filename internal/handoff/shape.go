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
	case reflect.Struct:
		if object, ok := v.(map[string]any); ok {
			return s.checkStruct(object, t, at)
		}
		return mismatch(v, "an object", at)
	case reflect.Map:
		if object, ok := v.(map[string]any); ok {
			return s.checkMap(object, t.Elem(), at)
		}
		return unlessNull(v, "an object", at)
	case reflect.Slice, reflect.Array:
		if list, ok := v.([]any); ok {
			return s.checkList(list, t.Elem(), at)
		}
		return unlessNull(v, "an array", at)
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

func (s *shape) checkStruct(object map[string]any, t reflect.Type, at Member) error {
	fields := s.fieldsOf(t)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field, known := fields[name]
		if known {
			if err := s.check(object[name], field, at.name(name)); err != nil {
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

func (s *shape) checkMap(object map[string]any, elem reflect.Type, at Member) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := s.check(object[name], elem, at.name(name)); err != nil {
			return err
		}
	}
	return nil
}

func (s *shape) checkList(list []any, elem reflect.Type, at Member) error {
	for i, v := range list {
		if err := s.check(v, elem, at.elem(i)); err != nil {
			return err
		}
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

func unlessNull(v any, want string, at Member) error {
	if v == nil {
		return nil
	}
	return mismatch(v, want, at)
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
