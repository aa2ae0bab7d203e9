package internal_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/printer"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const textsDir = "testdata/texts"

// Users read each text that the program can print: errors, hints, warnings, lines of results. It must change
// only on purpose. There is one file for each package, so that a change of wording can be reviewed as one diff.
// Help has files of its own, see TestHelp.
func TestTextsPage(t *testing.T) {
	want := map[string]string{}
	for _, p := range checked(t) {
		name := strings.TrimPrefix(p.path, "githandoff/")
		if slices.Contains(forTests, name) {
			continue
		}
		if page := textsOf(p); page != "" {
			want[strings.ReplaceAll(name, "/", "_")+".txt"] = page
		}
	}
	files, err := filepath.Glob(textsDir + "/*.txt")
	require.NoError(t, err)
	require.Greater(t, len(want), 40, "packages with texts")
	for _, path := range files {
		if _, ok := want[filepath.Base(path)]; ok {
			continue
		}
		if *update {
			require.NoError(t, os.Remove(path))
			continue
		}
		assert.Fail(t, "a file of no package", path)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		path := filepath.Join(textsDir, name)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(want[name]), 0o644))
		}
		got, err := os.ReadFile(path)
		require.NoError(t, err, "run: go test ./internal -run TestTextsPage -update")
		assert.Equal(t, want[name], string(got), "%s; if that is meant, run: go test ./internal -run TestTextsPage -update", path)
	}
}

var (
	verbs   = regexp.MustCompile(`%[-+#0-9.*\[\]]*[a-zA-Z]|‹[^›]*›`)
	hasWord = regexp.MustCompile(`[a-zA-Z]{2}`)
)

// textsOf lists the texts of a package, sorted: refusals with exit code and reason,
// hints as their command and its reason, and the formats of all other calls that print
// or make an error. Values of the program stand in ‹›.
func textsOf(p checkedPackage) string {
	seen := map[string]bool{}
	inner := map[ast.Node]bool{}
	for _, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || inner[call] {
				return true
			}
			if line := textOf(p, call, inner); line != "" {
				seen[line] = true
			}
			return true
		})
	}
	if len(seen) == 0 {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), "\n") + "\n"
}

// textOf returns the text of one call. inner collects the nested calls whose text is part of it.
func textOf(p checkedPackage, call *ast.CallExpr, inner map[ast.Node]bool) string {
	fn, ok := callee(p, call)
	if !ok {
		return ""
	}
	if strings.HasPrefix(fn.FullName(), "githandoff/internal/fault.") || fn.FullName() == "(githandoff/internal/fault.Hint).Because" {
		return faultText(p, call, fn.Name(), inner)
	}
	at, ok := formatArg(fn)
	if !ok || at >= len(call.Args) {
		return ""
	}
	text := value(p, call.Args[at])
	if !hasWord.MatchString(verbs.ReplaceAllString(text, "")) {
		return "" // the text is only the form of a value, such as "%s: %d"
	}
	return fmt.Sprintf("%s: %s", fn.Name(), text)
}

// faultText returns the text of a call of package fault.
func faultText(p checkedPackage, call *ast.CallExpr, name string, inner map[ast.Node]bool) string {
	args := func(list []ast.Expr) string {
		var words []string
		for _, a := range list {
			words = append(words, value(p, a))
		}
		return strings.Join(words, " ")
	}
	switch name {
	case "New":
		return fmt.Sprintf("error: %s, %s: %s", value(p, call.Args[0]), value(p, call.Args[1]), value(p, call.Args[2]))
	case "Because":
		of := call.Fun.(*ast.SelectorExpr).X
		inner[of] = true
		command := value(p, of)
		if run, ok := of.(*ast.CallExpr); ok {
			if fn, ok := callee(p, run); ok {
				command = strings.TrimPrefix(faultText(p, run, fn.Name(), inner), "hint: ")
			}
		}
		return fmt.Sprintf("hint: %s  # %s", command, value(p, call.Args[0]))
	case "Run":
		return "hint: " + args(call.Args)
	case "See":
		return "hint: githandoff " + args(call.Args) + " --help"
	case "SeeAll":
		return "hint: githandoff help " + args(call.Args)
	case "Fact":
		return "hint: # " + args(call.Args[:1])
	}
	return ""
}

func callee(p checkedPackage, call *ast.CallExpr) (*types.Func, bool) {
	var id *ast.Ident
	switch fun := call.Fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil, false
	}
	fn, ok := p.info.Uses[id].(*types.Func)
	return fn, ok
}

// formatArg returns the index of the format among the arguments of a function such as fmt.Errorf, or of the text
// of errors.New.
func formatArg(fn *types.Func) (int, bool) {
	if fn.FullName() == "errors.New" {
		return 0, true
	}
	sig := fn.Signature()
	params := sig.Params()
	n := params.Len()
	if !sig.Variadic() || n < 2 {
		return 0, false
	}
	last, ok := params.At(n - 1).Type().(*types.Slice)
	if !ok {
		return 0, false
	}
	if i, ok := last.Elem().Underlying().(*types.Interface); !ok || !i.Empty() {
		return 0, false
	}
	s, ok := params.At(n - 2).Type().(*types.Basic)
	return n - 2, ok && s.Kind() == types.String
}

// value returns an argument as the page shows it: the value of a constant string, the name of a constant of
// another package, and any other expression in ‹›.
func value(p checkedPackage, e ast.Expr) string {
	if tv, ok := p.info.Types[e]; ok && tv.Value != nil && tv.Value.Kind() == constant.String {
		return strings.ReplaceAll(constant.StringVal(tv.Value), "\n", `\n`)
	}
	if sel, ok := e.(*ast.SelectorExpr); ok {
		if tv := p.info.Types[e]; tv.Value != nil {
			return sel.Sel.Name
		}
	}
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return value(p, sum.X) + value(p, sum.Y)
	}
	var b strings.Builder
	_ = printer.Fprint(&b, p.fset, e) // a strings.Builder never returns an error
	return "‹" + strings.Join(strings.Fields(b.String()), " ") + "›"
}
