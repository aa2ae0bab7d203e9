package internal_test

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/fault"
)

// given lists helpers that make a refusal with one exit code. at is the index of the reason among their
// arguments.
var given = map[string]struct {
	code fault.Code
	at   int
}{
	"denied": {fault.Denied, 0}, "deny": {fault.Denied, 0}, "noAuthority": {fault.Policy, 0},
	"invalid": {fault.Invalid, 1}, "refuse": {fault.Invalid, 1},
}

// No reason is written as a literal, and each is used with exactly the exit codes of its documentation.
func TestReasonsInTheCode(t *testing.T) {
	documented := map[string]reason{}
	for _, g := range reasons(t) {
		for _, r := range g.reasons {
			documented[r.name] = r
		}
	}
	used := map[string]bool{}
	for _, p := range checked(t) {
		for _, file := range p.files {
			if strings.HasSuffix(p.fset.Position(file.Pos()).Filename, "internal/fault/reason.go") {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if e, ok := n.(ast.Expr); ok {
					noLiteral(t, p, e)
				}
				if s, ok := n.(*ast.SelectorExpr); ok {
					used[s.Sel.Name] = true
				}
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if code, name := refusal(call); name != "" {
					r, ok := documented[name]
					assert.True(t, ok, "%s: %s", p.fset.Position(call.Pos()), name)
					assert.Contains(t, r.codes, strconv.Itoa(int(code)), "%s gives %s", p.fset.Position(call.Pos()), name)
				}
				return true
			})
		}
	}
	for name := range documented {
		assert.True(t, used[name], "%s is given nowhere", name)
	}
}

func noLiteral(t *testing.T, p checkedPackage, e ast.Expr) {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return
	}
	tv := p.info.Types[lit]
	named, ok := types.Unalias(tv.Type).(*types.Named)
	if ok && named.Obj().Name() == "Reason" && constant.StringVal(tv.Value) != "" {
		assert.Fail(t, "a reason is a constant of internal/fault", "%s: %s", p.fset.Position(lit.Pos()), lit.Value)
	}
}

// refusal returns the code and the reason of a call that makes a refusal; "" if they are not constants of the
// call.
func refusal(call *ast.CallExpr) (fault.Code, string) {
	switch fun := call.Fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok && x.Name == "fault" && fun.Sel.Name == "New" {
			code, ok := call.Args[0].(*ast.SelectorExpr)
			if !ok {
				return 0, ""
			}
			return codeNamed(code.Sel.Name), reasonArg(call, 1)
		}
		if fun.Sel.Name == "refuse" {
			return fault.Invalid, reasonArg(call, 1)
		}
	case *ast.Ident:
		if g, ok := given[fun.Name]; ok {
			return g.code, reasonArg(call, g.at)
		}
	}
	return 0, ""
}

func reasonArg(call *ast.CallExpr, at int) string {
	if at >= len(call.Args) {
		return ""
	}
	s, ok := call.Args[at].(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := s.X.(*ast.Ident); !ok || x.Name != "fault" {
		return ""
	}
	return s.Sel.Name
}

func codeNamed(name string) fault.Code {
	return map[string]fault.Code{
		"Other": fault.Other, "Usage": fault.Usage, "NotFound": fault.NotFound, "Denied": fault.Denied, "Conflict": fault.Conflict,
		"Invalid": fault.Invalid, "Policy": fault.Policy, "Unavailable": fault.Unavailable, "Bug": fault.Bug, "Interrupted": fault.Interrupted,
	}[name]
}
