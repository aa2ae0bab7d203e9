package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/cli"
	"githandoff/internal/gittest"
)

// The pages that "make docs" writes come from the tree of commands: docs/commands.md, and
// docs/man, which "make install" puts where man looks.
//
//	go test ./internal/cli -run TestPages -update
func TestPages(t *testing.T) {
	dir := t.TempDir()
	if *update {
		dir = filepath.Join("..", "..", "docs")
	}
	man := filepath.Join(dir, "man", "man1")
	require.NoError(t, os.MkdirAll(man, 0o755))
	writeCommandsPage(t, filepath.Join(dir, "commands.md"))
	writeManPages(t, man)

	for _, words := range cli.CommandPaths() {
		if words == "help" {
			continue // cobra leaves it out
		}
		name := strings.ReplaceAll(strings.TrimSpace("githandoff "+words), " ", "-") + ".1"
		page, err := os.ReadFile(filepath.Join(man, name))
		require.NoError(t, err)
		assert.Contains(t, string(page), ".SH NAME", name)
	}
	troff(t, man)
}

// writeCommandsPage writes the full help of every command.
func writeCommandsPage(t *testing.T, path string) {
	var b strings.Builder
	for _, words := range cli.CommandPaths() {
		fmt.Fprintf(&b, "## %s\n\n```text\n%s```\n\n", strings.TrimSpace("githandoff "+words), help(t, words))
	}
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o644))
}

func writeManPages(t *testing.T, dir string) {
	root := cli.Tree()
	root.Long = help(t, "")
	each := func(cmd *cobra.Command) {
		if cmd.Long != "" { // a paragraph that is indented is shown as it is
			cmd.Long = "\t" + strings.ReplaceAll(cmd.Long, "\n", "\n\t")
		}
		cmd.DisableAutoGenTag = true
	}
	visit(root, each)
	date := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	require.NoError(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "githandoff", Manual: "githandoff", Date: &date}, dir))
	// Topics have nothing to run, and cobra leaves them out.
	for _, c := range root.Commands() {
		if c.IsAdditionalHelpTopicCommand() {
			var page bytes.Buffer
			fmt.Fprintf(&page, ".TH GITHANDOFF-%s 1\n.SH NAME\ngithandoff-%s \\- %s\n.SH DESCRIPTION\n.nf\n", strings.ToUpper(c.Name()), c.Name(), c.Short)
			for line := range strings.Lines(help(t, c.Name())) {
				page.WriteString(`\&` + strings.ReplaceAll(line, `\`, `\e`))
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "githandoff-"+c.Name()+".1"), page.Bytes(), 0o644))
		}
	}
	// "git handoff --help" asks for this one.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "git-handoff.1"), []byte(".so man1/githandoff.1\n"), 0o644))
}

func visit(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		visit(c, f)
	}
}

// troff lets groff read each page.
func troff(t *testing.T, dir string) {
	gittest.Need(t, "groff")
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	require.NoError(t, err)
	for _, page := range pages {
		cmd := exec.Command("groff", "-Tutf8", "-man", "-ww", "-z", "-I", filepath.Dir(dir), page)
		cmd.Dir = filepath.Dir(dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", page, out)
		assert.NotContains(t, string(out), "error", page)
	}
}

// Completions come from the tree as well, and their shell reads them.
func TestCompletions(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text := output(t, "completion", shell)
		assert.Contains(t, text, "githandoff", shell)
		if _, err := exec.LookPath(shell); err != nil {
			continue // the script completion_shells says which must be here
		}
		cmd := exec.Command(shell, "-n")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s: %s", shell, out)
	}
}
