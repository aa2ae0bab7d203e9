package prompt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/prompt"
)

func investigation() *prompt.Dependency {
	return &prompt.Dependency{
		Handoff: &prompt.Handoff{
			Summary: "null pointer in auth.go:142", Detail: new("the middleware skips validation"),
			Data: map[string]string{"root_cause_file": "pkg/auth/auth.go", "empty": ""},
		},
		Results: map[string]string{"branch": "fix/lin-423"},
		Outputs: []string{"one", "two"},
	}
}

// fences returns a function that numbers the fences instead of drawing random marks.
func fences() func(string) (string, error) {
	n := 0
	return func(s string) (string, error) {
		n++
		return fmt.Sprintf("--- begin %d\n%s\n--- end %d\n", n, s, n), nil
	}
}

func render(t *testing.T, text string, in prompt.Input) (string, error) {
	t.Helper()
	p, err := prompt.Render("t", text, in, fences())
	if err != nil {
		return "", err
	}
	return p.Text, nil
}

// These are the examples of the two Kelos proposals, unchanged.
func TestRender_proposals(t *testing.T) {
	fix := &prompt.Dependency{Handoff: &prompt.Handoff{Summary: "fixed"}, Results: map[string]string{"branch": "fix/lin-423"}}
	pipeline := prompt.Input{Deps: map[string]*prompt.Dependency{"investigate": investigation(), "fix": fix}}
	item := map[string]string{"Kind": "Issue", "Number": "42", "Title": "500 on login", "Body": "It fails."}
	history := prompt.History(pasts(t), nil)
	worker := prompt.Input{Vars: item, History: history}
	for name, tc := range map[string]struct {
		in   prompt.Input
		want string
	}{
		"fields": {pipeline, `## Investigation Summary
null pointer in auth.go:142

## Detailed Findings
the middleware skips validation

## Specific Data
Root cause file: pkg/auth/auth.go

Fix the issue described above on branch fix/lin-423.
`},
		"fix": {pipeline, `## Investigation Summary
null pointer in auth.go:142

## Detailed Findings
the middleware skips validation

Fix the issue described above. Write tests that cover the failure case.
Commit and push your changes.
`},
		"open-pr": {pipeline, "The fix for LIN-423 is ready on branch fix/lin-423.\n\nInvestigation context:\nnull pointer in auth.go:142\n\n" +
			"Review the diff and open a pull request with `gh pr create`.\nReference LIN-423 in the PR description.\n"},
		"strategist": {worker, "You are a strategic analyst for this codebase.\nIdentify ONE new improvement opportunity and create a GitHub issue.\n" +
			"## What you've already proposed (do NOT duplicate):\n" + history + "\nFocus on areas not covered by prior proposals.\n"},
		"worker": {worker, "Issue #42: 500 on login\nIt fails.\n## Previous failed attempts on related work:\n" + history +
			"\nLearn from these failures — try a different approach.\n"},
		"reviewer": {worker, "Review PR #42: 500 on login\nIt fails.\n## Patterns from recent reviews (for consistency):\n" + history + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render(t, read(t, name), tc.in)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
	for _, name := range []string{"worker", "reviewer"} {
		t.Run(name+" without a history", func(t *testing.T) {
			got, err := render(t, read(t, name), prompt.Input{Vars: item})
			require.NoError(t, err)
			assert.Contains(t, got, "#42: 500 on login\nIt fails.\n")
			assert.NotContains(t, got, "##")
		})
	}
	t.Run("investigate has nothing to fill in", func(t *testing.T) {
		got, err := render(t, read(t, "investigate"), prompt.Input{})
		require.NoError(t, err)
		assert.Equal(t, read(t, "investigate"), got)
	})
	t.Run("triage", func(t *testing.T) {
		got, err := render(t, read(t, "triage"), prompt.Input{Vars: item})
		require.NoError(t, err)
		assert.Equal(t, strings.ReplaceAll(read(t, "triage"), "{{.Body}}", "It fails."), got)
	})
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".tmpl"))
	require.NoError(t, err)
	return string(b)
}

func TestRender(t *testing.T) {
	in := prompt.Input{
		Deps: map[string]*prompt.Dependency{
			"x": investigation(), "open-pr": investigation(), "none": nil,
			"log":    {Results: map[string]string{"pr": "17"}},
			"quoted": {Handoff: &prompt.Handoff{Summary: "s", Data: map[string]string{"k": "v"}}},
		},
		Vars: map[string]string{"Title": "T", "Empty": ""},
	}
	for _, tc := range []struct{ text, want string }{
		{`{{.Deps.x.Handoff.Summary}}`, "null pointer in auth.go:142"},
		{`{{index .Deps "x" "Handoff" "Summary"}}`, "null pointer in auth.go:142"},
		{`{{.Deps.x.Handoff.Data.root_cause_file}}`, "pkg/auth/auth.go"},
		{`{{index .Deps.x.Handoff.Data "root_cause_file"}}`, "pkg/auth/auth.go"},
		{`{{.Deps.x.Handoff.Version}} {{.Deps.x.Name}}`, "1 x"},
		{`{{index .Deps "open-pr" "Results" "branch"}}`, "fix/lin-423"},
		{`{{range .Deps.x.Outputs}}<{{.}}>{{end}}{{index .Deps.x.Outputs 1}}`, "<one><two>two"},
		{`{{range $k, $v := .Deps.x.Results}}{{$k}}={{$v}}{{end}}`, "branch=fix/lin-423"},
		{`{{with .Deps.x.Handoff}}{{.Detail}}{{end}}`, "the middleware skips validation"},
		{`[{{.Empty}}{{.Deps.x.Handoff.Data.empty}}]`, "[]"},
		{`[{{.History}}]`, "[]"},
		// A missing value can be tested and compared.
		{`{{if .Body}}body{{else}}no{{end}}`, "no"},
		{`{{if .Deps.x.Handoff.Data.severity}}yes{{else}}no{{end}}`, "no"},
		{`{{if eq (index .Deps "x" "Handoff" "Data" "severity") "critical"}}yes{{else}}no{{end}}`, "no"},
		{`{{with .Deps.unheard}}{{.Name}}{{else}}no{{end}}`, "no"},
		{`{{$b := .Body}}{{if $b}}{{$b}}{{end}}{{or .Body "nobody"}}`, "nobody"},
		{`{{if .Deps.quoted.Handoff.Detail}}yes{{else}}no{{end}}`, "no"},
		// All members of a missing dependency are empty.
		{`[{{index .Deps "none" "Handoff" "Data" "k"}}{{.Deps.none.Handoff.Summary}}{{.Deps.none.Results.branch}}{{.Deps.none.Outputs}}]{{.Deps.none.Name}}`, "[]none"},
		{`{{if .Deps.none.Handoff}}yes{{else}}no{{end}}{{range .Deps.none.Outputs}}!{{end}}{{range .Deps.none.Handoff.Data}}!{{end}}`, "no"},
		{`[{{.Deps.none.Handoff.Summary | printf "%s"}}{{print .Deps.none.Handoff.Detail}}{{fence .Deps.none.Handoff.Detail}}{{.Deps.none.Handoff.Summary | html}}]`, "[]"},
		{`[{{.Deps.log.Handoff.Summary}}]{{.Deps.log.Results.pr}}`, "[]17"},
		{`{{define "t2"}}{{.Title}}{{end}}{{template "t2" .}}`, "T"},
		{`{{.Title | fence}} {{fence .Deps.x.Handoff.Summary}}`, "--- begin 1\nT\n--- end 1 --- begin 2\nnull pointer in auth.go:142\n--- end 2"},
		{`{{printf "%s-%d" .Title 7}}{{println .Title}}{{html "<"}}{{js "'"}}{{urlquery "a b"}}`, "T-7T\n&lt;\\'a+b"},
		{`<no value> {{"<no value>"}}`, "<no value> <no value>"},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := render(t, tc.text, in)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
	for _, tc := range []struct{ text, reason, want string }{
		{"a\n  {{.Body}}", "no_value", `template t:2:4: {{.Body}} has no value`},
		{`{{.Deps.x.Handoff.Data.severity}}`, "no_value", `{{.Deps.x.Handoff.Data.severity}} has no value`},
		{`{{index .Deps "x" "Handoff" "Data" "severity"}}`, "no_value", `{{index .Deps "x" "Handoff" "Data" "severity"}} has no value`},
		{`{{index .Deps "x" "Results" "commit"}}`, "no_value", `{{index .Deps "x" "Results" "commit"}} has no value`},
		{`{{.Deps.quoted.Handoff.Detail}}`, "no_value", `{{.Deps.quoted.Handoff.Detail}} has no value`},
		{`{{.Deps.unheard.Handoff.Summary}}`, "no_value", `template t:1:7: {{.Deps.unheard.Handoff.Summary}} looks into a value that is missing`},
		{`{{index .Deps "unheard" "Handoff" "Summary"}}`, "no_value", `{{index .Deps "unheard" "Handoff" "Summary"}} looks into a value that is missing`},
		{`{{if true}}{{.Body}}{{end}}`, "no_value", `{{.Body}} has no value`},
		{`{{range .Deps.x.Outputs}}{{$.Body}}{{end}}`, "no_value", `{{$.Body}} has no value`},
		{`{{with .Title}}{{$.Body}}{{end}}`, "no_value", `{{$.Body}} has no value`},
		{`{{define "sub"}}{{.Body}}{{end}}{{template "sub" .}}`, "no_value", `{{.Body}} has no value`},
		{`{{block "sub" .}}{{.Body}}{{end}}`, "no_value", `{{.Body}} has no value`},
		{`{{.Body | printf "%v"}}`, "no_value", `argument 1 of printf has no value`},
		{`{{print .Title .Body}}`, "no_value", `argument 2 of print has no value`},
		{`{{println .Body}}{{html .Body}}`, "no_value", `println has no value`},
		{`{{html .Body}}`, "no_value", `html has no value`},
		{`{{js .Body}}`, "no_value", `js has no value`},
		{`{{urlquery .Body}}`, "no_value", `urlquery has no value`},
		{`{{fence .Body}}`, "no_value", `the text to fence has no value`},
		{`{{.Title.Name}}`, "no_value", `.Title.Name`},
		{`{{index .Deps.x.Outputs 7}}`, "no_value", `template t:1:2: executing "t" at <index .Deps.x.Outputs 7>: error calling index`},
		{`{{.Title`, "malformed", `template t:1: unclosed action`},
		{`{{unheard .Title}}`, "malformed", `function "unheard" not defined`},
	} {
		t.Run(tc.text, func(t *testing.T) {
			got, err := render(t, tc.text, in)
			require.Error(t, err)
			assert.Empty(t, got)
			assert.ErrorContains(t, err, tc.want)
			assert.Equal(t, fault.Invalid, fault.CodeOf(err))
			assert.True(t, fault.Is(err, fault.Reason(tc.reason)), "%v", fault.As(err))
		})
	}
}

// A template is UTF-8, with or without a byte order mark. A template in another encoding is refused, since it
// would be printed unchanged.
func TestRender_encoding(t *testing.T) {
	in := prompt.Input{Vars: map[string]string{"Title": "x"}}
	got, err := render(t, "\ufeff{{.Title}}", in)
	require.NoError(t, err)
	assert.Equal(t, "x", got)
	for _, text := range []string{"\xff\xfe{\x00{\x00", "{\x00{\x00.\x00", "caf\xe9"} {
		_, err := render(t, text, in)
		assert.EqualError(t, err, "template t: it is not UTF-8")
		assert.True(t, fault.Is(err, fault.Malformed))
	}
}

func TestCheckVar(t *testing.T) {
	for _, name := range []string{"Kind", "a", "_b2"} {
		assert.NoError(t, prompt.CheckVar(name))
	}
	for _, name := range []string{"", "2a", "a-b", "a.b", "ä", "Deps", "History"} {
		assert.Equal(t, fault.Usage, fault.CodeOf(prompt.CheckVar(name)), name)
	}
}

func TestCut(t *testing.T) {
	long := strings.Repeat("a line of some length\n", 40)
	p, err := prompt.Render("t", "first\n{{fence .Body}}\nlast\n", prompt.Input{Vars: map[string]string{"Body": long}}, fences())
	require.NoError(t, err)

	whole, err := p.Cut(len(p.Text), "x")
	require.NoError(t, err)
	assert.Equal(t, p.Text, whole)

	for limit := 100; limit < len(p.Text); limit += 7 {
		got, err := p.Cut(limit, "githandoff show ho_1 --detail")
		require.NoError(t, err)
		assert.LessOrEqual(t, len(got), limit)
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		assert.Equal(t, fmt.Sprintf("[cut at %d of %d bytes; the rest: githandoff show ho_1 --detail]", limit, len(p.Text)), lines[len(lines)-1])
		assert.Equal(t, strings.Count(got, "--- begin 1"), strings.Count(got, "--- end 1"), "an open fence:\n%s", got)
		for _, l := range lines[:len(lines)-1] {
			assert.Contains(t, []string{"first", "--- begin 1", "a line of some length", "--- end 1", "", "last"}, l)
		}
		assert.Greater(t, len(got), limit-50, "cut too early")
	}
	_, err = p.Cut(60, "githandoff show ho_1 --detail")
	assert.Equal(t, fault.Usage, fault.CodeOf(err))
}

// Every template gives a prompt without a placeholder for a missing value, or a refusal.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{
		`{{.Body}}`, `{{index .Deps "x" "Handoff" "Data" "severity"}}`, `{{.Deps.none.Handoff.Summary}}`,
		`{{print .Deps.x.Handoff}}`, `{{with .History}}{{.}}{{end}}`, `{{fence .Title}}`, `{{.Title | len | printf "%d"}}`,
		`{{slice .Title 0 1}}{{and .Body .Title}}{{not .Body}}`, `{{define "a"}}{{.}}{{end}}{{template "a"}}`, `{{_value "x" .Body}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "range") || strings.Contains(text, "template") && strings.Contains(text, "define") {
			return // the template may loop for ever
		}
		in := prompt.Input{Deps: map[string]*prompt.Dependency{"x": investigation(), "none": nil}, Vars: map[string]string{"Title": "T"}}
		p, err := prompt.Render("t", text, in, fences())
		if err != nil {
			assert.Equal(t, fault.Invalid, fault.CodeOf(err))
			return
		}
		if !strings.Contains(text, "no value") && !strings.Contains(text, "x6e") {
			assert.NotContains(t, p.Text, "<no value>")
		}
		cut, err := p.Cut(200, "x")
		if err == nil {
			assert.LessOrEqual(t, len(cut), 200)
		}
	})
}
