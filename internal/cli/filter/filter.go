// Package filter lets a caller choose what is printed of JSON: with an expression of jq,
// or with a Go template, as the gh program does.
package filter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// Filter prints the selected parts of one object. An endless expression ends with the context.
// An error has what it quotes of the object between quotation marks, or between backquotes.
type Filter func(ctx context.Context, w io.Writer, object any) error

// JQ runs an expression of jq over each object. A string is printed as it is, a value of
// any other kind as JSON; each on a line of its own.
func JQ(expression string) (Filter, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, fmt.Errorf("read the expression: %w", err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("read the expression: %w", err)
	}
	return func(ctx context.Context, w io.Writer, object any) error {
		value, err := plain(object)
		if err != nil {
			return err
		}
		for results := code.RunWithContext(ctx, value); ; {
			v, ok := results.Next()
			if !ok {
				return nil
			}
			if err, failed := v.(error); failed {
				if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
					return nil
				}
				if raised, ok := errors.AsType[gojq.ValueError](err); ok {
					return fmt.Errorf("run the expression: error: %q", fmt.Sprint(raised.Value()))
				}
				return fmt.Errorf("run the expression: %w", err)
			}
			if err := write(w, v); err != nil {
				return err
			}
		}
	}, nil
}

func write(w io.Writer, v any) error {
	if s, ok := v.(string); ok {
		_, err := fmt.Fprintln(w, s)
		return err
	}
	b, err := gojq.Marshal(v)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", b)
	}
	return err
}

// Template runs a Go template over each object. Besides Go's own functions it has join,
// json, pluck, timeago and truncate.
func Template(text string, now func() time.Time) (Filter, error) {
	t, err := template.New("--template").Funcs(functions(now)).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read the template: %w", err)
	}
	return func(ctx context.Context, w io.Writer, object any) error {
		value, err := plain(object)
		if err != nil {
			return err
		}
		return execute(ctx, t, w, value)
	}, nil
}

// execute ends with its context. Go cannot end a template that prints nothing, so it is left
// alone then: it only reads its value, and the process ends soon.
func execute(ctx context.Context, t *template.Template, w io.Writer, value any) error {
	out, in := io.Pipe()
	defer func() { _ = out.Close() }() // a template that still prints fails at its next write
	defer context.AfterFunc(ctx, func() { _ = in.CloseWithError(ctx.Err()) })()
	go func() { _ = in.CloseWithError(t.Execute(in, value)) }()
	_, err := io.Copy(w, out)
	return err
}

func functions(now func() time.Time) template.FuncMap {
	return template.FuncMap{
		"join": func(separator string, list []any) string {
			var words []string
			for _, v := range list {
				words = append(words, fmt.Sprint(v))
			}
			return strings.Join(words, separator)
		},
		"json": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return string(b), err
		},
		"pluck": func(name string, list []any) []any {
			var values []any
			for _, v := range list {
				if m, ok := v.(map[string]any); ok {
					values = append(values, m[name])
				}
			}
			return values
		},
		"timeago": func(text string) (string, error) {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return "", err
			}
			return now().Sub(at).Truncate(time.Second).String() + " ago", nil
		},
		"truncate": func(n int, text string) string {
			if utf8.RuneCountInString(text) <= n || n < 1 {
				return text
			}
			return string([]rune(text)[:n-1]) + "…"
		},
	}
}

// plain returns an object as JSON has it.
func plain(object any) (value any, err error) {
	b, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return value, json.Unmarshal(b, &value)
}
