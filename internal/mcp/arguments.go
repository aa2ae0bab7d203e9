package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// arguments are those of a tool.
type arguments []argument

type argument struct {
	name string
	kind kind
}

// kind describes the values of an argument. Its schema has no unions, because some clients do not
// accept them.
type kind struct {
	schema string
	want   string // the schema in words
	fits   func(value any) bool
}

func text() kind { return kind{`{"type":"string"}`, "a string", isText} }

func texts() kind {
	return kind{`{"type":"array","items":{"type":"string"}}`, "a list of strings", areTexts}
}

func paths() kind {
	return kind{
		fmt.Sprintf(`{"type":"array","items":{"type":"string"},"maxItems":%d}`, handoff.MaxRelevantFiles),
		fmt.Sprintf("a list of at most %d paths", handoff.MaxRelevantFiles),
		func(v any) bool { return areTexts(v) && len(v.([]any)) <= handoff.MaxRelevantFiles },
	}
}

func results() kind {
	return kind{`{"type":"object","additionalProperties":{"type":"string"}}`, "an object of strings", func(v any) bool {
		object, ok := v.(map[string]any)
		for _, v := range object {
			ok = ok && isText(v)
		}
		return ok
	}}
}

func oneOf(words ...string) kind {
	return kind{`{"type":"string","enum":["` + strings.Join(words, `","`) + `"]}`, strings.Join(words, ", "), func(v any) bool {
		word, ok := v.(string)
		return ok && slices.Contains(words, word)
	}}
}

func isText(v any) bool {
	_, ok := v.(string)
	return ok
}

func areTexts(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(v any) bool { return !isText(v) })
}

// String lists the names.
func (all arguments) String() string {
	if len(all) == 0 {
		return "none"
	}
	var names []string
	for _, a := range all {
		names = append(names, a.name)
	}
	return strings.Join(names, ", ")
}

// kind returns the kind of an argument, if there is one of that name.
func (all arguments) kind(name string) (kind, bool) {
	for _, a := range all {
		if a.name == name {
			return a.kind, true
		}
	}
	return kind{}, false
}

// schema returns the schema of all arguments.
func (all arguments) schema(required []string) json.RawMessage {
	var properties []string
	for _, a := range all {
		properties = append(properties, `"`+a.name+`":`+a.kind.schema)
	}
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"additionalProperties":false`
	if len(required) > 0 {
		schema += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	return json.RawMessage(schema + "}")
}

// read decodes the arguments of a call, which have to fit the schema. An argument that is null
// counts as absent, because some clients always send every argument.
func (all arguments) read(call json.RawMessage, required []string, to any) error {
	given := map[string]any{}
	if len(call) > 0 {
		if err := json.Unmarshal(call, &given); err != nil {
			return refused("the arguments are not an object")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		switch kind, known := all.kind(name); {
		case !known:
			return refused("unknown argument: want %s", all)
		case value == nil:
			delete(given, name)
		case !kind.fits(value):
			return refused("%s: want %s", name, kind.want)
		}
	}
	for _, name := range required {
		if _, ok := given[name]; !ok {
			kind, _ := all.kind(name)
			return refused("%s is missing: want %s", name, kind.want)
		}
	}
	b, err := json.Marshal(given)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}

func refused(format string, args ...any) error {
	return fault.New(fault.Usage, fault.BadUsage, format, args...)
}
