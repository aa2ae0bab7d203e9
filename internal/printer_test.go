package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asksForJSON lists the files of internal/cli that declare or read the output flags themselves.
var asksForJSON = []string{"cli.go", "filterflags.go", "history.go"}

// A command describes its result once, and the printer chooses between text and JSON. Otherwise --jq and
// --template would miss the output that a command prints by itself.
func TestOnlyThePrinterKnowsTheForm(t *testing.T) {
	files, err := filepath.Glob("cli/*.go")
	require.NoError(t, err)
	require.Greater(t, len(files), 50)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || slices.Contains(asksForJSON, filepath.Base(name)) {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "JSON" {
				assert.Fail(t, "a command asks for the form of its output", "%s: use output.Printer.Result", fset.Position(s.Pos()))
			}
			return true
		})
	}
}
