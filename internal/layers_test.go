// Package internal_test checks the layer rule of ARCHITECTURE.md on the source itself.
package internal_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	module   = "githandoff/"
	maxLines = 450 // of a file that is no test
)

// layers lists packages from the top down. Each may import those of the lines below it.
var layers = [][]string{
	{"cmd/githandoff", "internal/manual"},
	{"internal/cli"},
	{
		"internal/app/agentdoctor", "internal/app/agenthook", "internal/app/agentwatch", "internal/app/agentsetup", "internal/app/audit", "internal/app/capture", "internal/app/checkpoint", "internal/app/document",
		"internal/app/decide", "internal/app/doctor", "internal/app/emit", "internal/app/export", "internal/app/finish", "internal/app/gc", "internal/app/githook", "internal/app/history",
		"internal/app/hold", "internal/app/hubsync", "internal/app/initrepo", "internal/app/inspect", "internal/app/join", "internal/app/logpage", "internal/app/move", "internal/app/pushcheck", "internal/app/render",
		"internal/app/hookinstall", "internal/app/hubguard", "internal/app/pin",
		"internal/app/survey", "internal/app/take",
	},
	{"internal/cli/output", "internal/cli/filter"},
	{"internal/receipt"},
	{"internal/annotate", "internal/audited", "internal/outbox", "internal/successor", "internal/team", "internal/teampolicy", "internal/workcopy"},
	{"internal/workspace"},
	{"internal/work"},
	{"internal/crossrepo", "internal/guard"},
	{"internal/lifecycle", "internal/snapshot", "internal/sshshare", "internal/gitconfig"},
	{"internal/refs", "internal/notes", "internal/sign", "internal/obo", "internal/invite"},
	{"internal/gitexec", "internal/private"},
	{"internal/record"},
	{"internal/handoff"},
	{"internal/fault", "internal/durable", "internal/gitobj"},
}

// besideUnder is the lowest package that may import those of beside.
const besideUnder = "internal/lifecycle"

// beside lists the packages outside the layers with all packages that they may import.
var beside = map[string][]string{
	"internal/agents":    {"internal/handoff", "internal/fault"},
	"internal/brief":     {"internal/dialect", "internal/handoff", "internal/untrusted"},
	"internal/board":     {},
	"internal/footprint": {},
	"internal/dialect":   {"internal/handoff", "internal/fault", "internal/screen"},
	"internal/mcp":       {"internal/fault", "internal/handoff"},
	"internal/policy":    {"internal/handoff", "internal/fault", "internal/screen"},
	"internal/prompt":    {"internal/handoff", "internal/fault", "internal/screen"},
	"internal/report":    {},
	"internal/screen":    {"internal/handoff", "internal/fault"},
	"internal/untrusted": {"internal/handoff"},
	"hooks":              {"internal/durable", "internal/fault"},
	"plugins":            {},
	"extensions":         {},
}

// forTests lists the packages that only tests import. They may import any package and start processes.
var forTests = []string{"internal/gittest", "internal/enginetest", "internal/bench", "internal/stress", "internal/attack", "internal/mutant", "internal/agenttest", "internal/vectors"}

// forbiddenCalls are go-git's functions that write a ref. They lose updates when git writes at the same time.
var forbiddenCalls = []string{"SetReference", "CheckAndSetReference", "RemoveReference"}

// breach returns why pkg must not import path; "" if it may.
func breach(pkg, path string) string {
	if slices.Contains(forTests, pkg) {
		return ""
	}
	if path == "os/exec" && pkg != "internal/gitexec" {
		return "only internal/gitexec starts processes"
	}
	target, ours := strings.CutPrefix(path, module)
	if !ours {
		return ""
	}
	if slices.Contains(forTests, target) {
		return "it is for tests only"
	}
	if allowed, ok := beside[pkg]; ok {
		if !slices.Contains(allowed, target) {
			return fmt.Sprintf("beside the layers it may import %v", allowed)
		}
		return ""
	}
	from, to := layerOf(pkg), layerOf(target)
	switch _, besides := beside[target]; {
	case from < 0:
		return "it is in no layer: give it one here and in ARCHITECTURE.md"
	case besides && from > layerOf(besideUnder):
		return "packages beside the layers are for " + besideUnder + " and above"
	case besides:
		return ""
	case to < 0:
		return target + " is in no layer: give it one here and in ARCHITECTURE.md"
	case from == to:
		return "packages of one layer do not import each other"
	case from > to:
		return "imports run downwards only"
	}
	return ""
}

func layerOf(pkg string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, pkg) })
}

func known(pkg string) bool {
	_, ok := beside[pkg]
	return ok || layerOf(pkg) >= 0 || slices.Contains(forTests, pkg)
}

// source is one Go file.
type source struct {
	name    string
	imports []string
	inits   int
	calls   []string // those of forbiddenCalls
	lines   int
}

func parse(name string, content any) (source, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{name: name, lines: files.File(f.FileStart).LineCount()}
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, path)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				s.inits++
			}
		case *ast.SelectorExpr:
			if slices.Contains(forbiddenCalls, n.Sel.Name) {
				s.calls = append(s.calls, n.Sel.Name)
			}
		}
		return true
	})
	return s, nil
}

// listed is a package in the output of go list. Files for other systems are in IgnoredGoFiles. The rules apply
// to them as well.
type listed struct {
	ImportPath, Dir                                              string
	GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
}

// These libraries of the program can start a process. Their source was read: none starts one by itself, as an
// earlier dependency did during its initialization.
func TestLibrariesThatStartProcesses(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", `{{if .Module}}{{if not .Module.Main}}{{.ImportPath}} {{.Imports}}{{end}}{{end}}`, "./cmd/githandoff")
	list.Dir = ".."
	out, err := list.Output()
	require.NoError(t, err)
	var found []string
	for line := range strings.Lines(string(out)) {
		name, imports, _ := strings.Cut(line, " ")
		if slices.Contains(strings.Fields(strings.Trim(imports, "[]\n")), "os/exec") {
			found = append(found, name)
		}
	}
	assert.ElementsMatch(t, []string{
		"charm.land/bubbletea/v2",                    // tea.ExecProcess, which the board does not use
		"github.com/charmbracelet/colorprofile",      // Detect asks tmux; the board sets its colours itself
		"github.com/modelcontextprotocol/go-sdk/mcp", // CommandTransport, for clients
	}, found)
}

func packages(t *testing.T) []listed {
	t.Helper()
	list := exec.Command("go", "list", "-e",
		"-json=ImportPath,Dir,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	list.Dir = ".."
	out, err := list.Output()
	require.NoError(t, err)
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := d.Decode(&p)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

func dirsOf(all []listed) []string {
	var dirs []string
	for _, p := range all {
		dirs = append(dirs, p.Dir)
	}
	return dirs
}

// goDirs finds the directories that contain Go files. It reads them in this process, so that the test cache
// notices new packages.
func goDirs(t *testing.T) []string {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	var dirs []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name == "testdata" || name == "node_modules" || strings.ContainsAny(name[:1], "._")):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go") && !slices.Contains(dirs, filepath.Dir(path)):
			dirs = append(dirs, filepath.Dir(path))
		}
		return nil
	}))
	require.NotEmpty(t, dirs)
	return dirs
}

func TestLayers(t *testing.T) {
	all := packages(t)
	require.Subset(t, dirsOf(all), goDirs(t), "go list passes over directories of this module")
	for _, p := range all {
		pkg := strings.TrimPrefix(p.ImportPath, module)
		t.Run(pkg, func(t *testing.T) {
			for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
				s, err := parse(filepath.Join(p.Dir, name), nil)
				require.NoError(t, err)
				assert.Zero(t, s.inits, "%s/%s has an init function", pkg, name)
				assert.Empty(t, s.calls, "%s/%s writes a ref through go-git", pkg, name)
				if strings.HasSuffix(name, "_test.go") {
					continue
				}
				assert.True(t, known(pkg), "package %s is in no layer: give it one here and in ARCHITECTURE.md", pkg)
				assert.LessOrEqual(t, s.lines, maxLines, "%s/%s has %d lines: cut it", pkg, name, s.lines)
				for _, path := range s.imports {
					assert.Empty(t, breach(pkg, path), "%s/%s imports %s", pkg, name, path)
				}
			}
		})
	}
}

// These imports are allowed or forbidden by the table itself.
func TestBreachOfALayer(t *testing.T) {
	for _, ok := range [][2]string{
		{"cmd/githandoff", "githandoff/internal/cli"},
		{"internal/cli", "githandoff/internal/fault"},
		{"internal/cli", "githandoff/hooks"},
		{"internal/lifecycle", "githandoff/internal/screen"},
		{"internal/refs", "githandoff/internal/gitexec"},
		{"internal/gitexec", "os/exec"},
		{"internal/gittest", "os/exec"},
		{"internal/dialect", "githandoff/internal/screen"},
		{"internal/fault", "fmt"},
	} {
		assert.Empty(t, breach(ok[0], ok[1]), "%s imports %s", ok[0], ok[1])
	}
	for _, bad := range [][2]string{
		{"internal/cli", "githandoff/cmd/githandoff"},
		{"internal/fault", "githandoff/internal/handoff"},
		{"internal/notes", "githandoff/internal/refs"},
		{"internal/notes", "githandoff/internal/screen"},
		{"internal/lifecycle", "githandoff/internal/crossrepo"},
		{"internal/crossrepo", "githandoff/internal/workspace"},
		{"internal/workspace", "githandoff/internal/app/take"},
		{"internal/app/hubsync", "githandoff/internal/app/finish"},
		{"internal/lifecycle", "githandoff/internal/gittest"},
		{"internal/lifecycle", "githandoff/internal/unheard"},
		{"internal/unheard", "githandoff/internal/fault"},
		{"internal/screen", "githandoff/internal/dialect"},
		{"internal/prompt", "githandoff/internal/policy"},
		{"hooks", "githandoff/internal/handoff"},
		{"hooks", "os/exec"},
		{"internal/refs", "os/exec"},
		{"internal/cli", "githandoff/internal/bench"},
	} {
		assert.NotEmpty(t, breach(bad[0], bad[1]), "%s imports %s", bad[0], bad[1])
	}
	assert.False(t, known("internal/unheard"))
}

func TestParseFindsWhatIsForbidden(t *testing.T) {
	s, err := parse("x.go", `package x

import exec "os/exec"

func init() { storage.SetReference(nil) }

type T struct{}

func (T) init() {}
`)
	require.NoError(t, err)
	assert.Equal(t, source{name: "x.go", imports: []string{"os/exec"}, inits: 1, calls: []string{"SetReference"}, lines: 9}, s)
}
