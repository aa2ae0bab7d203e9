package prompt

import (
	"fmt"
	"text/template"
)

// valueFunc names the function guard appends to each printed pipeline.
const valueFunc = "_value"

// printers returns the functions of templates for turning values into text. Those of the template
// package itself print "<no value>" or "<nil>" for a missing value.
func printers() template.FuncMap {
	return template.FuncMap{
		valueFunc: func(what string, v any) (any, error) {
			v, there := shown(v)
			if !there {
				return nil, noValue("%s has no value", what)
			}
			return v, nil
		},
		"print":   printer("print", fmt.Sprint),
		"println": printer("println", fmt.Sprintln),
		"printf": func(format string, args ...any) (string, error) {
			return printer("printf", func(args ...any) string { return fmt.Sprintf(format, args...) })(args...)
		},
		"html":     printer("html", template.HTMLEscaper),
		"js":       printer("js", template.JSEscaper),
		"urlquery": printer("urlquery", template.URLQueryEscaper),
	}
}

func printer(name string, print func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		for i, v := range args {
			v, there := shown(v)
			if !there {
				return "", fmt.Errorf("argument %d of %s has no value", i+1, name)
			}
			args[i] = v
		}
		return print(args...), nil
	}
}

// shown returns a value as it is printed, none as nothing. It reports false for a missing one.
func shown(v any) (any, bool) {
	if _, empty := v.(none); empty {
		return "", true
	}
	return v, v != nil
}
