package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// members are the members of a JSON object, in their order. A name may stand twice: of two such
// members some clients take the first, others the last.
//
// The other values are []any, string, bool, json.Number and nil. No number is converted: one too
// large for a float is nothing that a path depends on.
type members []member

type member struct {
	name  string
	value any
}

const mark = "\xef\xbb\xbf" // of UTF-8, before a text

// parse reads the JSON values of b, one behind the other. Those in front of an error are returned
// with it.
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
		p := parser{b: raw}
		all = append(all, p.value())
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
		p := parser{b: raw}
		s, _ := name.(string)
		all = append(all, member{s, p.value()})
	}
	return all
}

// written reads a string that has JSON in it: an object, a list, or a string
// again.
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

// parser reads JSON that encoding/json found valid, and no deeper than it permits.
type parser struct {
	b  []byte
	at int
}

// next is the first byte of the next token.
func (p *parser) next() byte {
	for strings.IndexByte(" \t\r\n,:", p.b[p.at]) >= 0 {
		p.at++
	}
	return p.b[p.at]
}

func (p *parser) value() any {
	switch p.next() {
	case '{':
		o := members{}
		for p.at++; p.next() != '}'; {
			name := p.text()
			o = append(o, member{name, p.value()})
		}
		p.at++
		return o
	case '[':
		list := []any{}
		for p.at++; p.next() != ']'; {
			list = append(list, p.value())
		}
		p.at++
		return list
	case '"':
		return p.text()
	}
	return p.scalar()
}

// text reads a string.
func (p *parser) text() string {
	from := p.at
	for p.at++; p.b[p.at] != '"'; p.at++ {
		if p.b[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
	var s string
	if json.Unmarshal(p.b[from:p.at], &s) != nil {
		return ""
	}
	return s
}

func (p *parser) scalar() any {
	from := p.at
	for p.at < len(p.b) && strings.IndexByte(" \t\r\n,]}", p.b[p.at]) < 0 {
		p.at++
	}
	switch s := string(p.b[from:p.at]); s {
	case "true", "false":
		return s == "true"
	case "null":
		return nil
	default:
		return json.Number(s)
	}
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
