package prompt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

func render(text string, vars map[string]string) (*Prompt, error) {
	return Render("x.tmpl", text, Input{Vars: vars}, func(s string) (string, error) { return "--\n" + s + "\n--\n", nil })
}

// A template can neither produce a huge output nor run for long.
func TestRenderIsBounded(t *testing.T) {
	doubled := strings.Repeat(`{{$x = printf "%s%s" $x $x}}`, 40)
	big := map[string]string{"Big": strings.Repeat("x", maxOutput/2)}
	for name, text := range map[string]string{
		"a loop":             `{{range 300000000}}x{{end}}`,
		"a few too many":     `{{range 200000}}{{end}}`,
		"an empty loop":      `{{range 300000000}}{{end}}`,
		"loops in a loop":    `{{range 20000}}{{range 20000}}{{end}}{{end}}`,
		"a loop in a branch": `{{if true}}{{with 1}}{{range 300000000}}{{end}}{{end}}{{end}}`,
		"a loop otherwise":   `{{range 0}}{{else}}{{range 300000000}}{{end}}{{end}}`,
		"templates": `{{define "a"}}{{template "b"}}{{template "b"}}{{end}}{{define "b"}}{{range 50000}}{{template "c"}}{{end}}{{end}}` +
			`{{define "c"}}{{end}}{{template "a"}}{{template "a"}}`,
		"a width":              `{{printf "%900000000d" 1}}`,
		"a precision":          `{{printf "%.900000000f" 1.0}}`,
		"a width of arguments": `{{printf "%*d" 900000000 1}}`,
		"a numbered width":     `{{printf "%[1]900000000d" 1}}`,
		"doubling":             `{{$x := "x"}}` + doubled,
		"functions unseen":     `{{range 90000}}{{$x := printf "%s" $.Big}}{{end}}`,
		"a big value":          `{{.Big}}{{.Big}}{{.Big}}`,
		"a fence":              `{{fence .Big}}{{fence .Big}}`,
		"escapes":              `{{range 1000}}{{$x := html (js $.Big)}}{{end}}`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := render(text, big)
			require.Error(t, err)
			assert.True(t, fault.Is(err, "too_large"), "%v", err)
			assert.Equal(t, fault.Invalid, fault.CodeOf(err))
			assert.Less(t, time.Since(start), 20*time.Second)
		})
	}
}

// Ordinary prompts are within the limits.
func TestRenderWithinBounds(t *testing.T) {
	p, err := render(`{{range 1000}}{{printf "%4d|%-20s|%08.3f|%%|100%%" . "x" 1.5}}{{end}}{{define "t"}}y{{end}}{{template "t"}}`, nil)
	require.NoError(t, err)
	assert.Contains(t, p.Text, fmt.Sprintf("%4d|%-20s|%08.3f|%%|100%%", 999, "x", 1.5))
	assert.True(t, strings.HasSuffix(p.Text, "y"))
}
