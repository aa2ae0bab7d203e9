package internal_test

import (
	"go/ast"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxMethods is the largest number of methods that a type may have. A type that needs more should be two types.
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

// No type has so many methods that a reader cannot survey them.
func TestMethods(t *testing.T) {
	counted := 0
	for _, p := range checked(t) {
		if len(p.files) == 0 {
			continue // the package has only tests
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
