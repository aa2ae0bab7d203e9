package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each listed guard is found in the source, and the code without it compiles.
func TestListFits(t *testing.T) {
	t.Chdir("../..")
	require.NotEmpty(t, mutants)
	c := newChecker(t)
	for _, m := range all() {
		text, err := m.mutate()
		if assert.NoError(t, err) {
			assert.NoError(t, c.check(m.file, text), m.guard)
		}
	}
}

// checker checks the types of one package at a time. It reads those of the other packages from the compiler's
// export data.
type checker struct {
	fset    *token.FileSet
	imports types.Importer
	listed  map[string]listed // by directory
	parsed  map[string]*ast.File
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	c := &checker{fset: token.NewFileSet(), listed: map[string]listed{}, parsed: map[string]*ast.File{}}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		c.listed[p.Dir], exports[p.ImportPath] = p, p.Export
	}
	c.imports = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// check returns the first error that the compiler would report for a package in which one file has another text.
func (c *checker) check(file, text string) error {
	changed, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	p := c.listed[filepath.Dir(changed)]
	var files []*ast.File
	for _, name := range p.GoFiles {
		name = filepath.Join(p.Dir, name)
		f := c.parsed[name]
		if name == changed {
			f, err = parser.ParseFile(c.fset, name, text, parser.SkipObjectResolution)
		} else if f == nil {
			f, err = parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
			c.parsed[name] = f
		}
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: c.imports}
	_, err = conf.Check(p.ImportPath, c.fset, files, nil)
	return err
}
