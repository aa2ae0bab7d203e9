package internal_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

var update = flag.Bool("update", false, "write docs/reasons.md anew")

// reason is one constant of internal/fault/reason.go.
type reason struct {
	name, word, checks, when string
	codes                    []string
}

type reasonGroup struct {
	title   string
	reasons []reason
}

var reasonComment = regexp.MustCompile(`^(\w+) \(([0-9, ]+), ([^)]+)\): (.+\.)\n$`)

// reasons reads the constants and their comments.
func reasons(t *testing.T) []reasonGroup {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fault/reason.go", nil, parser.ParseComments)
	require.NoError(t, err)
	var groups []reasonGroup
	for _, decl := range file.Decls {
		block, ok := decl.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		group := reasonGroup{title: strings.ReplaceAll(strings.TrimSpace(block.Doc.Text()), "\n", " ")}
		for _, spec := range block.Specs {
			v := spec.(*ast.ValueSpec)
			m := reasonComment.FindStringSubmatch(strings.ReplaceAll(strings.TrimSpace(v.Doc.Text()), "\n", " ") + "\n")
			require.NotNil(t, m, "comment of %s: %q", v.Names[0], v.Doc.Text())
			assert.Equal(t, v.Names[0].Name, m[1])
			word, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			group.reasons = append(group.reasons, reason{v.Names[0].Name, word, m[3], m[4], strings.Split(m[2], ", ")})
		}
		groups = append(groups, group)
	}
	return groups
}

// The page and the constants say the same.
//
//	make docs
func TestReasonsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Reasons

A refusal has a reason, one word that does not change, beside its exit code
("githandoff help exit-codes"). Programs branch on it: with --json it stands in
the member "reason" of the error. The lines below are those of
internal/fault/reason.go; "make docs" writes them here.
`)
	seen := map[string]bool{}
	for _, g := range reasons(t) {
		fmt.Fprintf(&b, "\n%s\n\n| reason | exit | check | when |\n|---|---|---|---|\n", g.title)
		for _, r := range g.reasons {
			assert.False(t, seen[r.word], "%s stands twice", r.word)
			seen[r.word] = true
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.word, strings.Join(r.codes, ", "), r.checks, r.when)
		}
	}
	const page = "../docs/reasons.md"
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, b.String(), string(got))
}

// The first group of reasons are the denials, in the order of the page.
func TestDenialsAreTheFirstReasons(t *testing.T) {
	var words []fault.Reason
	for _, r := range reasons(t)[0].reasons {
		words = append(words, fault.Reason(r.word))
	}
	assert.Equal(t, words, fault.Denials())
}
