package agentsetup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// put adds value to a text of JSON with comments: at the end of a list, the array at path, or as the
// member at path, which must not exist yet. Missing objects and a missing array are made. Every
// existing byte stays; inserted is the new text between them, for [cutOut] to remove again.
func put(text []byte, path []string, value any, list bool) (out []byte, inserted string, err error) {
	root, err := parse(text)
	if err != nil {
		return nil, "", err
	}
	v := &root
	for i, name := range path {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, "", fmt.Errorf("%s is not an object", member(path[:i]))
		}
		next := find(obj, name)
		if next == nil {
			return insert(text, v, path[i:], value, list)
		}
		v = next
	}
	if _, ok := v.Value.(*hujson.Array); !ok || !list {
		return nil, "", fmt.Errorf("%s is not an array", member(path))
	}
	return insert(text, v, nil, value, list)
}

// parse reads a text of JSON with comments. The last line may be a comment without an
// end, which clients read and hujson does not.
func parse(text []byte) (hujson.Value, error) { return hujson.Parse(append(slices.Clone(text), '\n')) }

// at returns the value at path; nil if a member is missing.
func at(text []byte, path []string) (*hujson.Value, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	v := &root
	for _, name := range path {
		obj, ok := v.Value.(*hujson.Object)
		if !ok {
			return nil, nil
		}
		if v = find(obj, name); v == nil {
			return nil, nil
		}
	}
	return v, nil
}

// find returns the member of a name. The last of several counts, as in the clients' readers.
func find(obj *hujson.Object, name string) *hujson.Value {
	for i := range slices.Backward(obj.Members) {
		if lit, ok := obj.Members[i].Name.Value.(hujson.Literal); ok && lit.String() == name {
			return &obj.Members[i].Value
		}
	}
	return nil
}

func member(path []string) string {
	if len(path) == 0 {
		return "the document"
	}
	return "member " + strings.Join(path, ".")
}

// insert puts value after the last element or member of a container. Names lists the missing
// objects around it, with the name of the array, or of the value itself, at the end.
func insert(text []byte, container *hujson.Value, names []string, value any, list bool) ([]byte, string, error) {
	if list && len(names) > 0 {
		value = []any{value}
	}
	for _, name := range slices.Backward(names[min(1, len(names)):]) {
		value = map[string]any{name: value}
	}
	in, last, trailing := inside(container)
	outer, step := indentation(text, container)
	body, err := spelled(value, outer+step, step)
	if err != nil {
		return nil, "", err
	}
	if len(names) > 0 {
		body = quoted(names[0]) + ": " + body
	}
	at := in
	var b strings.Builder
	switch {
	case last >= 0 && trailing >= 0:
		at = trailing
	case last >= 0:
		at = last
		b.WriteString(",")
	}
	b.WriteString("\n" + outer + step + body)
	if last < 0 {
		b.WriteString("\n" + outer)
	} else if trailing >= 0 {
		b.WriteString(",")
	}
	out := slices.Insert(slices.Clone(text), at, []byte(b.String())...)
	if _, err := parse(out); err != nil {
		return nil, "", fmt.Errorf("add an entry: %w", err)
	}
	return out, b.String(), nil
}

// inside says where the text of a container begins, where its last element ends (-1 if it is
// empty), and where the text after a trailing comma begins (-1 without one).
func inside(v *hujson.Value) (begin, last, trailing int) {
	begin, last, trailing = v.StartOffset+1, -1, -1
	var end *hujson.Value
	switch c := v.Value.(type) {
	case *hujson.Object:
		if n := len(c.Members); n > 0 {
			end = &c.Members[n-1].Value
		}
	case *hujson.Array:
		if n := len(c.Elements); n > 0 {
			end = &c.Elements[n-1]
		}
	}
	if end == nil {
		return begin, last, trailing
	}
	last = end.EndOffset
	if end.AfterExtra != nil {
		trailing = last + len(end.AfterExtra) + 1
	}
	return begin, last, trailing
}

// indentation returns the white space before the line on which a container begins, and one
// step of it as the text uses it.
func indentation(text []byte, v *hujson.Value) (outer, step string) {
	line := text[bytes.LastIndexByte(text[:v.StartOffset], '\n')+1 : v.StartOffset]
	outer = string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
	step = "  "
	for l := range bytes.Lines(text) {
		if white := l[:len(l)-len(bytes.TrimLeft(l, " \t"))]; len(white) > 0 && len(white) < len(l) {
			return outer, string(white)
		}
	}
	return outer, step
}

func spelled(v any, indent, step string) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, step)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// cutOut takes away the insertions of put, the last one first. It reports false if one of them was
// changed since, or if the rest would not be JSON.
func cutOut(text []byte, inserted []string) ([]byte, bool) {
	text, whole := cutText(text, inserted)
	if whole && len(bytes.TrimSpace(text)) > 0 {
		if _, err := parse(text); err != nil {
			return nil, false
		}
	}
	return text, whole
}

// cutText is like cutOut for a text other than JSON.
func cutText(text []byte, inserted []string) ([]byte, bool) {
	for _, s := range slices.Backward(inserted) {
		if bytes.Count(text, []byte(s)) != 1 {
			return nil, false
		}
		text = bytes.Replace(text, []byte(s), nil, 1)
	}
	return text, true
}

// sameEntries reports whether two texts of JSON with comments hold the same, in lists of any order.
func sameEntries(a, b []byte) bool {
	va, errA := unordered(a)
	vb, errB := unordered(b)
	return errA == nil && errB == nil && reflect.DeepEqual(va, vb)
}

func unordered(text []byte) (any, error) {
	doc, err := parse(text)
	if err != nil {
		return nil, err
	}
	doc.Standardize()
	var v any
	err = json.Unmarshal(doc.Pack(), &v)
	sortLists(v)
	return v, err
}

func sortLists(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			sortLists(inner)
		}
	case []any:
		for _, inner := range v {
			sortLists(inner)
		}
		slices.SortFunc(v, func(a, b any) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
}
