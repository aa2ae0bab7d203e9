package gittest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// PathWithout returns $PATH without the programs of these names, so that tests do not use an installed
// githandoff. A directory that contains one of them is replaced by one with links to all its other files.
func PathWithout(t testing.TB, programs ...string) string {
	t.Helper()
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if hasOneOf(dir, programs) {
			dir = linksWithout(t, dir, programs)
		}
		dirs = append(dirs, dir)
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

func hasOneOf(dir string, programs []string) bool {
	for _, p := range programs {
		if _, err := os.Lstat(filepath.Join(dir, p)); err == nil {
			return true
		}
	}
	return false
}

func linksWithout(t testing.TB, dir string, programs []string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	abs, err := filepath.Abs(dir)
	require.NoError(t, err)
	links := t.TempDir()
	for _, e := range entries {
		if !slices.Contains(programs, e.Name()) {
			require.NoError(t, os.Symlink(filepath.Join(abs, e.Name()), filepath.Join(links, e.Name())))
		}
	}
	return links
}
