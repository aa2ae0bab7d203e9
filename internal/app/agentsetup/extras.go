package agentsetup

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/extensions"
	"githandoff/internal/fault"
)

// with lists the extras of a client: the requested ones, and those requested in an earlier run.
// Another setup removes nothing.
func (r *Request) with(client string) []string {
	all := slices.Clone(r.With)
	if slices.Contains(all, Approve) {
		all = append(all, MCP)
	}
	if rec, err := r.record(); err == nil {
		for _, w := range rec.Files {
			if w.Client == client && r.holds(w) {
				all = append(all, w.With...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// extras lists the files of the requested extras, and changes the files of list whose text depends on
// them.
func extras(r *Request, client string, list []wanted) ([]wanted, error) {
	var all []wanted
	with := r.with(client)
	if slices.Contains(with, MCP) {
		w, err := server(r, client, slices.Contains(with, Approve), list)
		if err != nil {
			return nil, err
		}
		all = append(all, w...)
	}
	if slices.Contains(with, Wake) {
		w, err := wake(r, client, list)
		if err != nil {
			return nil, err
		}
		all = append(all, w...)
	}
	return all, nil
}

// server lists the files with the entry of the MCP server, in the form of each client.
func server(r *Request, client string, approve bool, list []wanted) ([]wanted, error) {
	entryOf := func(path string, more map[string]any) []wanted {
		value := map[string]any{"command": program(r), "args": []string{"mcp"}}
		maps.Copy(value, more)
		return []wanted{{client: client, part: MCP, path: path, fresh: []byte("{}\n"), entries: []entry{
			{list: []string{"mcpServers", "githandoff"}, value: value, member: true},
		}}}
	}
	switch {
	case client == "claude" && r.Project:
		return entryOf(filepath.Join(r.Root, ".mcp.json"), nil), nil
	case client == "claude":
		b, err := extensions.Files.ReadFile("claude/mcp.json")
		b = bytes.Replace(b, []byte(`"command": "githandoff"`), []byte(`"command": `+quoted(program(r))), 1)
		return []wanted{{client: client, part: MCP, path: filepath.Join(claudePlugin(r), ".mcp.json"), own: b}}, err
	case client == "codex" && !r.Project:
		return []wanted{{
			client: client, part: MCP, path: filepath.Join(r.home(client), "config.toml"),
			block: codexTable(r, approve), toml: true,
		}}, nil
	case client == "gemini" && r.Project:
		more := map[string]any{}
		if approve {
			more["trust"] = true
		}
		return entryOf(filepath.Join(r.Root, ".gemini", "settings.json"), more), nil
	case client == "gemini":
		return nil, edit(list, "gemini-extension.json", func(b []byte) ([]byte, error) {
			out, _, err := put(b, []string{"mcpServers", "githandoff"}, map[string]any{"command": program(r), "args": []string{"mcp"}}, false)
			return out, err
		})
	case client == "opencode":
		return nil, edit(list, "githandoff.js", flag("mcp"))
	case client == "copilot" && !r.Project:
		return entryOf(filepath.Join(r.home(client), "mcp-config.json"), map[string]any{"type": "local", "tools": []string{"*"}}), nil
	case client == "cursor":
		return entryOf(filepath.Join(r.home(client), "mcp.json"), nil), nil
	case client == "codex", client == "copilot":
		return nil, fault.New(fault.Usage, fault.BadUsage, "%s does not support servers of a project", client).
			WithHints(fault.Run("githandoff", "setup", client, "--with", MCP).Because("adds it for this user"))
	}
	return nil, noExtra(client, MCP)
}

// wake lists the files by which a session is woken.
func wake(r *Request, client string, list []wanted) ([]wanted, error) {
	start := func(how string) string { return r.start() + "watch --wake " + how }
	switch {
	case client == "claude" && !r.Project:
		b, err := extensions.Files.ReadFile("claude/monitors.json")
		return []wanted{{client: client, part: Wake, path: filepath.Join(claudePlugin(r), "monitors", "monitors.json"), own: r.named(b)}}, err
	case client == "claude":
		background(client, list, ".claude/settings.json", start("exit"), map[string]any{"asyncRewake": true})
		return nil, nil
	case client == "codex":
		background(client, list, "hooks.json", start("queue"), nil)
		return nil, nil
	case client == "opencode":
		return nil, edit(list, "githandoff.js", flag("wake"))
	}
	return nil, noExtra(client, Wake)
}

// background adds a hook to a shared file, to run beside the session from its start, for as long
// as a day.
func background(client string, list []wanted, name, command string, more map[string]any) {
	hook := map[string]any{"type": "command", "command": command, "async": true, "timeout": 86400}
	maps.Copy(hook, more)
	for i := range list {
		if list[i].client == client && strings.HasSuffix(filepath.ToSlash(list[i].path), name) {
			list[i].entries = append(list[i].entries, entry{
				list: []string{"hooks", "SessionStart"}, value: map[string]any{"hooks": []any{hook}}, mark: " watch --wake ",
			})
		}
	}
}

// edit changes our own files of a name.
func edit(list []wanted, name string, change func([]byte) ([]byte, error)) error {
	for i := range list {
		if filepath.Base(list[i].path) != name {
			continue
		}
		b, err := change(list[i].own)
		if err != nil {
			return err
		}
		list[i].own = b
	}
	return nil
}

// flag returns a change that sets a constant of a script.
func flag(name string) func([]byte) ([]byte, error) {
	return func(b []byte) ([]byte, error) {
		return bytes.Replace(b, []byte("const "+name+" = false"), []byte("const "+name+" = true"), 1), nil
	}
}

// claudePlugin returns the directory of our plugin for Claude Code.
func claudePlugin(r *Request) string { return filepath.Join(r.home("claude"), "skills", "githandoff") }

// program returns the command for a client to start: a path for this user, a name for everybody.
func program(r *Request) string {
	if r.Project || r.Binary == "" {
		return "githandoff"
	}
	return r.Binary
}

// codexTable returns the server in the configuration of Codex CLI, between its marks. A table
// may stand at the end of any TOML document.
func codexTable(r *Request, approve bool) string {
	s := "# githandoff: written by githandoff setup\n[mcp_servers.githandoff]\ncommand = " + quoted(program(r)) + "\nargs = [\"mcp\"]\n"
	if approve {
		s += "default_tools_approval_mode = \"approve\"\n"
	}
	return s + "# githandoff: end\n"
}

func noExtra(client, extra string) error {
	return fault.New(fault.Usage, fault.BadUsage, "%s cannot be set up with %s", client, extra).
		WithHints(fault.See("setup").Because("says which agents have it"))
}
