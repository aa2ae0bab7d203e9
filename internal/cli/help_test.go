package cli_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/cli"
)

// output runs a command in this process.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, diag bytes.Buffer
	code := cli.Main(t.Context(), cli.Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &diag,
		Getenv: os.Getenv, Vars: os.Environ(), Now: time.Now, Random: rand.Reader, Version: "test",
	}, args)
	require.Zero(t, code, "%s: %s", args, diag.String())
	return out.String()
}

func goldenName(words string) string {
	if words == "" {
		return "githandoff.txt"
	}
	return strings.ReplaceAll(words, " ", "_") + ".txt"
}

// Help is part of what users rely on: it changes on purpose only.
//
//	go test ./internal/cli -run TestHelp -update
func TestHelp(t *testing.T) {
	const dir = "testdata/help"
	want := map[string]bool{}
	for _, words := range cli.CommandPaths() {
		name := goldenName(words)
		want[name] = true
		t.Run(words, func(t *testing.T) {
			got := output(t, append(strings.Fields(words), "--help")...)
			for line := range strings.Lines(got) {
				assert.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"), "space at the end of a line")
			}
			path := filepath.Join(dir, name)
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			golden, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(golden), got)
		})
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		assert.True(t, want[f.Name()], "%s/%s is the help of no command", dir, f.Name())
	}
}

// A command tells how it can end, and "help exit-codes" has it too.
func TestHelp_exitCodes(t *testing.T) {
	all := output(t, "help", "exit-codes")
	for _, words := range cli.CommandPaths() {
		help := output(t, append(strings.Fields(words), "--help")...)
		_, list, ok := strings.Cut(help, "\nExit codes:\n")
		if strings.Contains(help, "\nUsage:\n") {
			assert.True(t, ok, "%q does not say its exit codes", words)
		}
		for line := range strings.Lines(list) {
			assert.Contains(t, all, line)
		}
	}
}
