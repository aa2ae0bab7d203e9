package cli_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/cli"
	"githandoff/internal/gittest"
)

// An interruption ends a command that waits for somebody to write to a named pipe.
func TestInterruptedWhileItOpens(t *testing.T) {
	dir := gittest.NewRepo(t, nil).Dir
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	for _, line := range []string{"emit --to fixer -f pipe", "validate pipe", "capture --from-log pipe", "render --template pipe"} {
		t.Run(line, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			interrupt()
			var stderr bytes.Buffer
			code := make(chan int, 1)
			go func() {
				code <- cli.Main(ctx, cli.Env{
					Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr, Now: time.Now, Random: rand.Reader, Version: "test",
					Getenv: func(string) string { return "" },
				}, append([]string{"-C", dir, "--as", "sender"}, strings.Fields(line)...))
			}()
			select {
			case got := <-code:
				assert.Equal(t, 130, got, stderr.String())
			case <-time.After(10 * time.Second):
				t.Fatal("it still waits for a writer")
			}
		})
	}
}

// An interruption ends a command that waits for standard input.
func TestInterruptedWhileItReads(t *testing.T) {
	dir := gittest.NewRepo(t, nil).Dir
	for _, line := range []string{
		"emit --to fixer -f -", "emit --to fixer -m @-", "validate", "convert - --to ho", "trust add -",
		"capture --from-log -", "capture --last-message - --to fixer",
	} {
		t.Run(line, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			stdin, open := io.Pipe()
			defer open.Close()
			var stderr bytes.Buffer
			code := make(chan int, 1)
			go func() {
				code <- cli.Main(ctx, cli.Env{
					Stdin: stdin, Stdout: io.Discard, Stderr: &stderr, Now: time.Now, Random: rand.Reader, Version: "test",
					Getenv: func(string) string { return "" },
				}, append([]string{"-C", dir, "--as", "sender"}, strings.Fields(line)...))
			}()
			_, err := open.Write([]byte("x")) // the command is reading
			assert.NoError(t, err)
			interrupt()
			select {
			case got := <-code:
				assert.Equal(t, 130, got, stderr.String())
				assert.Contains(t, stderr.String(), "githandoff: interrupted\n")
			case <-time.After(time.Minute):
				t.Fatal("it still waits for standard input")
			}
		})
	}
}
