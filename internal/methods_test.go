package internal_test

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxMethods is the most that a type has: whoever needs another one has found a
// second type.
const maxMethods = 25

// methodsOf counts the methods of each type of a package.
func methodsOf(files []*ast.File) map[string]int {
	count := map[string]int{}
	for _, f := range files {
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			of := fn.Recv.List[0].Type
			if pointer, ok := of.(*ast.StarExpr); ok {
				of = pointer.X
			}
			if generic, ok := of.(*ast.IndexExpr); ok {
				of = generic.X
			}
			count[of.(*ast.Ident).Name]++
		}
	}
	return count
}

// A command and its handler can be read without a hundred siblings.
func TestMethods(t *testing.T) {
	counted := 0
	for _, p := range checked(t) {
		if len(p.files) == 0 {
			continue // a package of tests alone
		}
		name := p.fset.Position(p.files[0].Pos()).Filename
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for typ, n := range methodsOf(p.files) {
			counted++
			assert.LessOrEqual(t, n, maxMethods, "type %s, beside %s, has %d methods", typ, name, n)
		}
	}
	require.Greater(t, counted, 50)
}
