package agenttest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agenttest"
)

// The last message of the agent is found in the output of each client and handed over: it is the detail, and its
// first paragraph is the summary.
func TestLastMessage(t *testing.T) {
	for _, c := range agenttest.Clients() {
		t.Run(c.Name, func(t *testing.T) {
			w := newWorld(t, c)
			m := agenttest.NewModel(t, c.Command("echo hello"), agenttest.Step{Text: "The session is nil.\n\nSee \"auth.go\":142."})
			stdout, stderr := c.Apart(t, w.Session, m)
			require.Len(t, m.Turns(), 2, stdout+stderr)
			path := filepath.Join(w.Home, "printed")
			require.NoError(t, os.WriteFile(path, []byte(stdout), 0o600))
			id := w.fix.Must(w.t, "capture", "--quiet", "--last-message", path, "--to", "fixer")
			shown := w.fix.Must(w.t, "show", "--json", id)
			assert.Contains(t, shown, `"summary":"The session is nil."`)
			assert.Contains(t, shown, `"detail":"The session is nil.\n\nSee \"auth.go\":142."`)
		})
	}
}
