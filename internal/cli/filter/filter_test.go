package filter_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/cli/filter"
)

type row struct {
	ID    string   `json:"id"`
	At    string   `json:"at"`
	Count int      `json:"count"`
	Names []string `json:"names"`
}

var one = row{"ho_1", "2026-11-22T11:58:30Z", 3, []string{"ann", "bob"}}

func now() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

func TestJQ(t *testing.T) {
	for expression, want := range map[string]string{
		".id": "ho_1\n", ".count+1": "4\n", ".names[]": "ann\nbob\n", "{id}": `{"id":"ho_1"}` + "\n", "select(.count>3)": "", ".names": `["ann","bob"]` + "\n", "halt": "",
	} {
		f, err := filter.JQ(expression)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, f(t.Context(), &b, one))
		assert.Equal(t, want, b.String(), expression)
	}
	for _, bad := range []string{"", ".[", "$x", "nosuch"} {
		_, err := filter.JQ(bad)
		if bad != "" {
			assert.Error(t, err, bad)
		}
	}
	f, err := filter.JQ(".id + 1")
	require.NoError(t, err)
	assert.Error(t, f(t.Context(), &strings.Builder{}, one))
}

// An expression that never ends is ended by an interruption.
func TestJQEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f, err := filter.JQ("repeat(.)")
	require.NoError(t, err)
	out, in := io.Pipe()
	require.NoError(t, out.Close()) // whoever writes is told
	assert.ErrorIs(t, f(ctx, in, one), context.Canceled)
}

// An expression reads its input, and nothing of the machine.
func TestJQ_readsNothingElse(t *testing.T) {
	t.Setenv("SECRET_OF_A_TEST", "x")
	for _, expression := range []string{"env | length", "$ENV | length", "try input catch \"none\"", "try input_filename catch null"} {
		f, err := filter.JQ(expression)
		if err != nil {
			continue
		}
		var b strings.Builder
		require.NoError(t, f(t.Context(), &b, one))
		assert.Contains(t, []string{"0\n", "none\n", "null\n"}, b.String(), expression)
	}
}

func TestTemplate(t *testing.T) {
	for text, want := range map[string]string{
		`{{.id}} {{.count}}`: "ho_1 3", `{{join "," .names}}`: "ann,bob", `{{timeago .at}}`: "1m30s ago", `{{json .names}}`: `["ann","bob"]`,
		`{{truncate 3 "abcdef"}}`: "ab…", `{{truncate 9 "abc"}}`: "abc", `{{range .names}}{{.}};{{end}}`: "ann;bob;",
	} {
		f, err := filter.Template(text, now)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, f(t.Context(), &b, one))
		assert.Equal(t, want, b.String(), text)
	}
	f, err := filter.Template(`{{join "+" (pluck "name" .)}}`, now)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, f(t.Context(), &b, []map[string]string{{"name": "ann"}, {"name": "bob"}}))
	assert.Equal(t, "ann+bob", b.String())
	_, err = filter.Template("{{", now)
	assert.Error(t, err)
	f, err = filter.Template("{{timeago .id}}", now)
	require.NoError(t, err)
	assert.Error(t, f(t.Context(), &strings.Builder{}, one))
}

// writing is a writer that a function stands for.
type writing func(b []byte) (int, error)

func (f writing) Write(b []byte) (int, error) { return f(b) }

// A template that loops is ended by an interruption, also while it prints nothing.
func TestTemplateEndsWithItsContext(t *testing.T) {
	for _, text := range []string{"begun{{range 100000000}}.{{end}}", "begun{{range 100000000}}{{end}}"} {
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		f, err := filter.Template(text, now)
		require.NoError(t, err)
		out := writing(func(b []byte) (int, error) {
			interrupt()
			return len(b), nil
		})
		assert.ErrorIs(t, f(ctx, out, one), context.Canceled, text)
	}
}

// What cannot be written ends a template.
func TestTemplateEndsWithItsOutput(t *testing.T) {
	f, err := filter.Template("{{range 100000000}}.{{end}}", now)
	require.NoError(t, err)
	full := errors.New("no space")
	assert.ErrorIs(t, f(t.Context(), writing(func([]byte) (int, error) { return 0, full }), one), full)
}
