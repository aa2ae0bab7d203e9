package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// members are the members of a JSON object, in their order. A name may appear twice: some clients
// take the first of the two members, others the last.
//
// The other values are []any, string, bool, json.Number and nil. No number is converted, so a
// number that is too large for a float is no error. No path depends on it.
type members []member

type member struct {
	name  string
	value any
}

const mark = "\xef\xbb\xbf" // byte order mark of UTF-8

// parse reads the JSON values of b, one after the other. It returns an error together with the
// values before it.
func parse(b []byte) ([]any, error) {
	var all []any
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte(mark))))
	for {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return all, err
		}
		all = append(all, value(raw))
	}
}

// begun reads the members of an object up to the first one that cannot be read.
func begun(b []byte) members {
	var all members
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte(mark))))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		var raw json.RawMessage
		if err != nil || d.Decode(&raw) != nil {
			break
		}
		s, _ := name.(string)
		all = append(all, member{s, value(raw)})
	}
	return all
}

// written reads a string that contains JSON: an object, a list, or another string.
func written(s string) (any, bool) {
	if !opens(s) {
		return nil, false
	}
	all, err := parse([]byte(s))
	if err != nil || len(all) != 1 {
		return nil, false
	}
	if inner, ok := all[0].(string); ok && opens(inner) {
		return written(inner)
	}
	return all[0], true
}

// opens reports whether a text begins like JSON with members or elements in it.
func opens(s string) bool {
	s = strings.TrimLeft(strings.TrimPrefix(s, mark), " \t\r\n")
	return s != "" && strings.ContainsRune(`{["`, rune(s[0]))
}

// value reads JSON that encoding/json found valid, and no deeper than it permits.
func value(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return next(d)
}

func next(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		return nil
	}
	switch token {
	case json.Delim('{'):
		o := members{}
		for d.More() {
			name, _ := next(d).(string)
			o = append(o, member{name, next(d)})
		}
		_, _ = d.Token()
		return o
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, next(d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}

// hasName reports whether a member has one of these names. Clients and servers differ in case and in
// the sign between words.
func hasName(name string, names ...string) bool {
	if len(name) > maxName {
		return false
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", "")
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

const maxName = 64
