package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/cli"
	"githandoff/internal/gittest"
)

// Each command and each topic has a page, which groff reads without a complaint.
func TestPages(t *testing.T) {
	gittest.Need(t, "groff")
	man := filepath.Join(t.TempDir(), "man1")
	require.NoError(t, write(man))
	for _, name := range names(cli.Tree()) {
		assert.FileExists(t, filepath.Join(man, name))
	}
	pages, err := filepath.Glob(filepath.Join(man, "*.1"))
	require.NoError(t, err)
	for _, page := range pages {
		cmd := exec.Command("groff", "-Kutf8", "-Tutf8", "-P-cbou", "-man", "-ww", "-I", "..", page)
		cmd.Dir = man
		var diag strings.Builder
		cmd.Stderr = &diag
		text, err := cmd.Output()
		require.NoError(t, err, page)
		assert.Empty(t, diag.String(), page)
		assert.Contains(t, string(text), "NAME", page)
	}
}

// names lists the pages of a command and of those below it.
func names(c *cobra.Command) (list []string) {
	if c.Name() != "help" { // cobra leaves it out
		list = append(list, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
	}
	for _, below := range c.Commands() {
		list = append(list, names(below)...)
	}
	return list
}
