package attack

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every promise of the threat model names tests, and these exist.
func TestThreatModel(t *testing.T) {
	text, err := os.ReadFile("../../docs/threat-model.md")
	require.NoError(t, err)
	_, promises, ok := strings.Cut(string(text), "## What is promised\n")
	require.True(t, ok)
	promises, _, ok = strings.Cut(promises, "\n## ")
	require.True(t, ok)
	row := regexp.MustCompile(`(?m)^\| ([^|]+) \| ([^|]+) \|$`)
	named := regexp.MustCompile("`([^`]+)`")
	rows := 0
	for _, m := range row.FindAllStringSubmatch(promises, -1) {
		if m[2] == "shown by" {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(m[2], -1)
		assert.NotEmpty(t, tests, "nothing shows: %s", m[1])
		for _, test := range tests {
			assert.True(t, shown(t, test[1]), "%s, named for: %s", test[1], m[1])
		}
	}
	assert.Greater(t, rows, 20)
}

// shown looks for package.Test in the sources, and for a script by its name.
func shown(t *testing.T, name string) bool {
	t.Helper()
	pkg, test, ok := strings.Cut(name, ".")
	if !ok {
		_, err := os.Stat(filepath.Join("../cli/testdata/script", name+".txtar"))
		return err == nil
	}
	files, err := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(string(src), "\nfunc "+test+"(") {
			return true
		}
	}
	return false
}
