package agenttest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agenttest"
)

// take is the name that Claude Code gives the plugin server's tool.
const take = "mcp__plugin_githandoff_githandoff__handoff_take"

// Claude Code starts the server that "setup --with mcp" configures, and its agent claims a handoff with the
// server's tool, without a shell.
func TestTakeOverMCP(t *testing.T) {
	for _, c := range agenttest.Clients() {
		if c.Name != "claude" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			w := newWorld(t, c)
			w.fix.Must(w.t, "setup", c.Name, "--with", "mcp")
			w.Args = append(w.Args, take) // continues the list of --allowedTools
			// On a busy machine the server takes longer to start than Claude Code waits by default.
			w.Env = append(w.Env, "MCP_TIMEOUT=120000", "MCP_CONNECT_TIMEOUT_MS=120000")
			id := w.lend("LIN-423")
			m := agenttest.NewModel(
				t,
				agenttest.Step{Tool: "^ToolSearch$", Input: map[string]any{"query": "select:" + take}}, // listed later
				agenttest.Step{Tool: "^" + take + "$"},
				agenttest.Step{Text: "I have it."},
				agenttest.Step{Text: "I know."}, // the answer to the reminder
			)
			out := c.Run(t, w.Session, m)
			turns := m.Turns()
			require.Len(t, turns, 4, out)
			assert.Contains(t, turns[2].Body, "Goal: Stop the 500 on login")
			var status struct {
				Held []struct{ ID, State string }
			}
			require.NoError(t, json.Unmarshal([]byte(w.fix.Must(w.t, "status", "--json")), &status))
			require.Len(t, status.Held, 1, out)
			assert.Equal(t, id, status.Held[0].ID)
			assert.Equal(t, "claimed", status.Held[0].State)
		})
	}
}
