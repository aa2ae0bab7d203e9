package gittest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Template is a directory in memory, with its files by path. Tests copy it if a program would take longer to
// make the directory anew.
type Template map[string]templateFile

type templateFile struct {
	mode    fs.FileMode
	content []byte
}

// ReadTemplate reads a directory, without git's sample hooks.
func ReadTemplate(dir string) (Template, error) {
	files := Template{}
	return files, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".sample") {
			return err
		}
		info, err := d.Info()
		if err != nil || !d.IsDir() && !d.Type().IsRegular() { // gpg leaves sockets behind
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		file := templateFile{mode: info.Mode()}
		if !d.IsDir() {
			file.content, err = os.ReadFile(path)
		}
		files[name] = file
		return err
	})
}

// Write copies the template to dir, which may be an empty directory.
func (files Template) Write(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, files.write(dir, strings.NewReplacer()))
}

// write is Write, with other paths in the contents. Objects of git name none.
func (files Template) write(dir string, paths *strings.Replacer) error {
	for _, name := range slices.Sorted(maps.Keys(files)) { // in sorted order, a directory comes before its files
		path, file := filepath.Join(dir, name), files[name]
		if file.mode.IsDir() {
			if err := os.MkdirAll(path, file.mode.Perm()); err != nil {
				return err
			}
			continue
		}
		content := file.content
		if !strings.Contains(name, "/objects/") {
			content = []byte(paths.Replace(string(content)))
		}
		if err := os.WriteFile(path, content, file.mode.Perm()); err != nil {
			return err
		}
	}
	return nil
}

// Copies has the files of directories that were filled once in this process.
type Copies struct {
	mu    sync.Mutex
	dirs  []string // the first ones
	files []Template
}

// Fill has fill make the files of some directories. The next calls copy these files into other directories, and
// replace the paths of the first ones: nothing else in the files may depend on a path.
func (c *Copies) Fill(fill func() error, dirs ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files != nil {
		var paths []string
		for i, dir := range dirs {
			paths = append(paths, c.dirs[i], dir)
		}
		for i, dir := range dirs {
			if err := c.files[i].write(dir, strings.NewReplacer(paths...)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := fill(); err != nil {
		return err
	}
	var files []Template
	for _, dir := range dirs {
		made, err := ReadTemplate(dir)
		if err != nil {
			return err
		}
		files = append(files, made)
	}
	c.dirs, c.files = dirs, files
	return nil
}

// templates has the repositories that git made once in this process.
type templates struct{ plain, bare, hub Template }

var templatesOnce = sync.OnceValues(makeTemplates)

func makeTemplates() (*templates, error) {
	dir, err := os.MkdirTemp("", "githandoff-test-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := filepath.Join(dir, "gitconfig")
	if err := os.WriteFile(config, []byte(GitConfig("Agent", "agent@example.com")), 0o600); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "work", "README"), []byte("one\n"), 0o600); err != nil {
		return nil, err
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + config, DefaultObjects()}
	all := &templates{}
	for _, args := range [][]string{
		{"init", "--quiet", "plain"},
		{"init", "--quiet", "--bare", "bare"},
		{"init", "--quiet", "--bare", "hub"},
		{"init", "--quiet", "work"},
		{"-C", "work", "add", "README"},
		{"-C", "work", "commit", "--quiet", "-m", "first"},
		{"-C", "work", "push", "--quiet", "../hub", "main"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	for name, t := range map[string]*Template{"plain": &all.plain, "bare": &all.bare, "hub": &all.hub} {
		if *t, err = ReadTemplate(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// repositories returns the templates of this process.
func repositories(t testing.TB) *templates {
	t.Helper()
	all, err := templatesOnce()
	require.NoError(t, err)
	return all
}
