package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rowStruct is a struct of internal/cli in the source.
type rowStruct struct {
	doc    string
	fields []*ast.Field
}

// rowStructs reads the structs of internal/cli that have JSON members.
func rowStructs(t *testing.T) (map[string]rowStruct, *token.FileSet) {
	t.Helper()
	files, err := filepath.Glob("cli/*.go")
	require.NoError(t, err)
	files = append(files, "cli/output/printer.go")
	fset := token.NewFileSet()
	structs := map[string]rowStruct{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			block, ok := decl.(*ast.GenDecl)
			if !ok || block.Tok != token.TYPE {
				continue
			}
			spec := block.Specs[0].(*ast.TypeSpec)
			if s, ok := spec.Type.(*ast.StructType); ok && hasJSON(s) {
				structs[spec.Name.Name] = rowStruct{block.Doc.Text(), s.Fields.List}
			}
		}
	}
	return structs, fset
}

func hasJSON(s *ast.StructType) bool {
	return slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return f.Tag != nil && strings.Contains(f.Tag.Value, `json:`) })
}

// docs/json.md lists every member of every object that a command prints. It is made
// from the structs and their comments.
//
//	make docs
func TestJSONPage(t *testing.T) {
	structs, fset := rowStructs(t)
	var b strings.Builder
	b.WriteString(`# What --json prints

One object per line, on standard output; a failure is one object on standard error.
Members are added, and do not change. "make docs" makes this page from the structs
in internal/cli and their comments. "?" marks a member that is left out where it is
empty. Times are RFC 3339 in UTC.

Warnings stay lines of text on standard error; --quiet leaves them out. "convert" prints
a document, "work diff" and "work export" to standard output what they print without
--json, and so do "completion" and "help".
`)
	for _, name := range slices.Sorted(keysOf(structs)) {
		s := structs[name]
		doc := strings.ReplaceAll(strings.TrimSpace(s.doc), "\n", " ")
		doc, ok := strings.CutPrefix(doc, name+" is ")
		assert.True(t, ok, "the comment of %s says what it is: %q", name, doc)
		fmt.Fprintf(&b, "\n## %s\n\n%s%s\n\n| member | type | meaning |\n|---|---|---|\n", name, strings.ToUpper(doc[:1]), doc[1:])
		for _, f := range s.fields {
			b.WriteString(member(t, fset, name, f))
		}
	}
	const page = "../docs/json.md"
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Equal(t, b.String(), string(got))
}

func keysOf(m map[string]rowStruct) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func member(t *testing.T, fset *token.FileSet, row string, f *ast.Field) string {
	if len(f.Names) == 0 {
		return fmt.Sprintf("| all of [%s](#%[1]s) | | |\n", strings.ToLower(f.Type.(*ast.Ident).Name))
	}
	if f.Tag == nil {
		return ""
	}
	name, options, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
	if options == "omitempty" {
		name += "?"
	}
	meaning := strings.TrimSpace(f.Comment.Text())
	assert.NotEmpty(t, meaning, "%s: member %s has no comment", fset.Position(f.Pos()), name)
	return fmt.Sprintf("| `%s` | %s | %s |\n", name, jsonType(f.Type), meaning)
}

// jsonType returns the name of a type for readers of JSON.
func jsonType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.ArrayType:
		return "list of " + jsonType(e.Elt)
	case *ast.MapType:
		return "object of " + jsonType(e.Value)
	case *ast.StarExpr:
		return jsonType(e.X)
	case *ast.SelectorExpr:
		return map[string]string{
			"ID": "string", "KID": "string", "Reason": "string", "Event": "string", "RawMessage": "object",
			"Hint": "object", "Claims": "object", "Question": "object",
		}[e.Sel.Name]
	case *ast.Ident:
		switch e.Name {
		case "string":
			return "string"
		case "bool":
			return "true or false"
		case "int", "int64":
			return "number"
		}
		return "[" + e.Name + "](#" + strings.ToLower(e.Name) + ")"
	}
	return ""
}

// Each object that a command prints is one of these structs.
func TestOnlyDocumentedObjects(t *testing.T) {
	structs, _ := rowStructs(t)
	calls := 0
	for _, p := range checked(t) {
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				arg := printed(p.info, call)
				if arg == nil || !strings.Contains(p.fset.Position(call.Pos()).Filename, "internal/cli/") {
					return true
				}
				of := p.info.Types[arg].Type
				if pointer, ok := of.(*types.Pointer); ok {
					of = pointer.Elem()
				}
				named, ok := of.(*types.Named)
				if types.IsInterface(of) {
					return true // internal/cli/output passes its argument on
				}
				calls++
				if assert.True(t, ok, "%s prints a %s", p.fset.Position(call.Pos()), of) {
					_, listed := structs[named.Obj().Name()]
					assert.True(t, listed, "%s prints a %s", p.fset.Position(call.Pos()), of)
				}
				return true
			})
		}
	}
	assert.Greater(t, calls, 30)
}

// printed returns the argument that a call prints as an object; nil if it prints none.
func printed(info *types.Info, call *ast.CallExpr) ast.Expr {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	if f := info.Uses[fun.Sel]; f == nil || f.Pkg() == nil || f.Pkg().Path() != module+"internal/cli/output" {
		return nil
	}
	switch fun.Sel.Name {
	case "Object", "Row", "Columns", "Result":
		return call.Args[0]
	case "Print", "Render":
		return returned(call.Args[0])
	case "Encode":
		return call.Args[len(call.Args)-1]
	}
	return nil
}

// returned returns the first result of the last return of a function literal; nil for other expressions.
func returned(e ast.Expr) ast.Expr {
	fn, ok := e.(*ast.FuncLit)
	if !ok {
		return nil
	}
	last, ok := fn.Body.List[len(fn.Body.List)-1].(*ast.ReturnStmt)
	if !ok || len(last.Results) == 0 {
		return nil
	}
	return last.Results[0]
}
