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

// Each listed guard is found in the source, and the code without it compiles. One guard of each file of a
// package is taken out at once, and they are taken out one by one only if that does not compile.
func TestListFits(t *testing.T) {
	t.Chdir("../..")
	require.NotEmpty(t, mutants)
	c := newChecker(t)
	packages := map[string]map[string][]mutant{} // by directory and file
	for _, m := range all() {
		dir := filepath.Dir(m.file)
		if packages[dir] == nil {
			packages[dir] = map[string][]mutant{}
		}
		packages[dir][m.file] = append(packages[dir][m.file], m)
	}
	for dir, files := range packages {
		for n := 0; ; n++ {
			var round []mutant
			changed := map[string]string{}
			for file, of := range files {
				if n >= len(of) {
					continue
				}
				round = append(round, of[n])
				text, err := of[n].mutate()
				if assert.NoError(t, err) {
					changed[file] = text
				}
			}
			if len(round) == 0 {
				break
			}
			if c.check(dir, changed) == nil {
				continue
			}
			for _, m := range round {
				assert.NoError(t, c.check(dir, map[string]string{m.file: changed[m.file]}), m.guard)
			}
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

// check returns the first error that the compiler would report for the package in a directory, in which some
// files have another text.
func (c *checker) check(dir string, changed map[string]string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	p := c.listed[abs]
	var files []*ast.File
	for _, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		f := c.parsed[path]
		if text, ok := changed[filepath.Join(dir, name)]; ok {
			f, err = parser.ParseFile(c.fset, path, text, parser.SkipObjectResolution)
		} else if f == nil {
			f, err = parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
			c.parsed[path] = f
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
