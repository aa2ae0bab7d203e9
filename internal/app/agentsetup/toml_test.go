package agentsetup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

// A server that the user configured in any form of TOML stays the only one.
func TestTOMLServerIsThere(t *testing.T) {
	for name, content := range map[string]string{
		"dotted":              "mcp_servers.githandoff.command = \"mine\"\n",
		"dotted and inline":   "mcp_servers.githandoff = { command = \"mine\" }\n",
		"in the table of all": "[mcp_servers]\nother = { command = \"y\" }\n\ngithandoff = { command = \"mine\" }\n",
		"inline":              "mcp_servers = { other = { command = \"y\" }, githandoff = { command = \"mine\" } }\n",
		"byte order mark":     "\uFEFF[mcp_servers.githandoff]\ncommand = \"mine\"\n",
		"in lines of its own": "[mcp_servers]\ngithandoff.command = \"mine\"\n",
		"escaped":             "[mcp_servers.\"git\\u0068andoff\"]\ncommand = \"mine\"\n",
		"inline and alone":    "mcp_servers = { githandoff = { command = \"mine\" } }\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := codexServer(t, content)
			before := snapshot(t, r.Home)[".codex/config.toml"]
			apply(t, r)
			assert.Equal(t, before, snapshot(t, r.Home)[".codex/config.toml"])
		})
	}
}

// Another table beside an inline one would make the configuration of Codex CLI invalid.
func TestTOMLInlineIsRefused(t *testing.T) {
	staysAsItIs(t, "mcp_servers is an inline table",
		"mcp_servers = { other = { command = \"y\" } }\n", "model = \"x\"\n\"mcp_servers\" = {}\n", "  mcp_servers={}")
	for _, content := range []string{
		"# mcp_servers = {}\n", "mcp_servers.other.command = \"y\"\n", "[mcp_servers]\nother = { command = \"y\" }\n[tui]\ngithandoff = 1\n",
	} {
		r := codexServer(t, content)
		before := snapshot(t, r.Home)
		apply(t, r)
		assert.Contains(t, snapshot(t, r.Home)[".codex/config.toml"], "[mcp_servers.githandoff]")
		takeAway(t, r)
		assert.Equal(t, before, snapshot(t, r.Home))
	}
}

// A configuration that Codex CLI cannot read is not changed: its user would look for the error in the part that
// setup wrote.
func TestBrokenTOMLIsRefused(t *testing.T) {
	staysAsItIs(t, "line 1, column ", "model = \"x\n", "[broken\n", "a = 1 2\n", "[mcp_servers.githandoff\n", "\xff\n")
}

// staysAsItIs requires that setup refuses each content for the given reason, and changes nothing.
func staysAsItIs(t *testing.T, why string, contents ...string) {
	t.Helper()
	for _, content := range contents {
		r := codexServer(t, content)
		before := snapshot(t, r.Home)
		_, err := r.Plan()
		assert.Equal(t, fault.Invalid, fault.CodeOf(err), content)
		assert.ErrorContains(t, err, "config.toml is not changed: "+why)
		assert.Equal(t, before, snapshot(t, r.Home))
	}
}

func codexServer(t *testing.T, content string) *Request {
	t.Helper()
	r := request(t, false, "codex")
	r.With = []string{MCP}
	write(t, filepath.Join(r.Home, ".codex/config.toml"), content)
	return r
}

// A file that is read-only is replaced if its directory permits that, and keeps its mode, at the setup and at
// the removal.
func TestReadOnlyFilesThereAndBack(t *testing.T) {
	for _, project := range []bool{false, true} {
		for _, client := range Clients() {
			file := sharedFile(client, project)
			if file == "" || client == "agents-md" && !project {
				continue
			}
			t.Run(client, func(t *testing.T) {
				r := request(t, project, client)
				path := filepath.Join(r.place(), file)
				write(t, path, "{}\n")
				require.NoError(t, os.Chmod(path, 0o400))
				before := snapshot(t, r.place())
				apply(t, r)
				info, err := os.Stat(path)
				require.NoError(t, err)
				assert.Equal(t, os.FileMode(0o400), info.Mode())
				assert.NotEqual(t, before, snapshot(t, r.place()))
				takeAway(t, r)
				assert.Equal(t, before, snapshot(t, r.place()))
			})
		}
	}
}
