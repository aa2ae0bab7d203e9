package gitexec

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The output of a process with Bulk is complete, its end is noticed, and the process can be killed.
func TestBulk(t *testing.T) {
	r := &Runner{Dir: t.TempDir()}
	p, err := r.Start(t.Context(), Cmd{Name: "sh", Args: []string{"-c", "cat; echo end"}, Bulk: true})
	require.NoError(t, err)
	text := strings.Repeat("0123456789abcdef", 1<<16)
	go func() {
		_, _ = io.WriteString(p.In, text)
		_ = p.In.Close()
	}()
	out, err := io.ReadAll(p.Out)
	require.NoError(t, err)
	assert.True(t, text+"end\n" == string(out), "%d bytes", len(out))
	require.NoError(t, p.Close())

	p, err = r.Start(t.Context(), Cmd{Name: "sh", Args: []string{"-c", "echo a; exec cat"}, Bulk: true})
	require.NoError(t, err)
	p.Kill()

	p, err = r.Start(t.Context(), Cmd{Name: "sh", Args: []string{"-c", "exit 3"}, Bulk: true})
	require.NoError(t, err)
	assert.Equal(t, 3, ExitCode(p.Close()))

	_, err = r.Start(t.Context(), Cmd{Name: "/nowhere/at-all", Bulk: true})
	require.Error(t, err)
}
