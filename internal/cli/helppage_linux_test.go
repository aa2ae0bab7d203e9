package cli_test

import (
	"io"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// At a terminal no line of help is broken within a word, except for command lines.
func TestHelp_fitsTheTerminal(t *testing.T) {
	binary, env := gittest.BuildBinary(t), gittest.Env(t)
	const columns = 80
	for _, args := range []string{"watch --help", "help emit", "help all", "help options", "help agents", "help environment"} {
		terminal := gittest.OpenTerminal(t, 20, columns)
		cmd := exec.CommandContext(t.Context(), binary, strings.Fields(args)...)
		cmd.Env, cmd.Dir = env, t.TempDir()
		require.NoError(t, terminal.Start(cmd))
		page, err := io.ReadAll(terminal)
		require.NoError(t, err)
		require.NoError(t, cmd.Wait())
		for line := range strings.Lines(string(page)) {
			line = strings.TrimRight(line, "\r\n")
			if command := strings.HasPrefix(line, "  githandoff "); !command {
				assert.LessOrEqual(t, utf8.RuneCountInString(line), columns, "%s: %s", args, line)
			}
		}
	}
}
