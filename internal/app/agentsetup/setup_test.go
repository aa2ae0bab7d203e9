package agentsetup

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/agents"
	"githandoff/internal/fault"
)

func request(t *testing.T, project bool, clients ...string) *Request {
	t.Helper()
	top := t.TempDir()
	home, root := filepath.Join(top, "home"), filepath.Join(top, "project")
	require.NoError(t, os.Mkdir(home, 0o755))
	require.NoError(t, os.Mkdir(root, 0o755))
	r := &Request{
		Clients: clients, Project: project, Home: home,
		ConfigHome: filepath.Join(home, ".config"), StateHome: filepath.Join(top, "state"),
		Binary: "/opt/a b/githandoff", Getenv: func(string) string { return "" },
	}
	if project {
		r.Root = root
	}
	return r
}

// place returns the directory of the files of a request.
func (r *Request) place() string {
	if r.Project {
		return r.Root
	}
	return r.Home
}

// snapshot returns all files, directories and links below dir.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		content := ""
		switch {
		case d.Type()&fs.ModeSymlink != 0:
			content, err = os.Readlink(path)
		case !d.IsDir():
			var b []byte
			b, err = os.ReadFile(path)
			content = string(b)
		}
		require.NoError(t, err)
		rel, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		all[rel] = info.Mode().String() + " " + content
		return nil
	}))
	return all
}

func apply(t *testing.T, r *Request) []*Change {
	t.Helper()
	changes, err := r.Plan()
	require.NoError(t, err)
	require.NoError(t, r.Apply(changes))
	return changes
}

func takeAway(t *testing.T, r *Request) []*Change {
	t.Helper()
	changes, err := r.PlanRemoval()
	require.NoError(t, err)
	require.NoError(t, r.Remove(changes))
	return changes
}

func states(changes []*Change) map[State]int {
	n := map[State]int{}
	for _, c := range changes {
		n[c.State]++
	}
	return n
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644)) //nolint:gosec // the mode that a client uses
}

// sharedFile returns the file of a client that also has settings of the user, or "".
func sharedFile(client string, project bool) string {
	switch {
	case project && client == "claude":
		return ".claude/settings.json"
	case client == "codex":
		return ".codex/hooks.json"
	case project && client == "gemini":
		return ".gemini/settings.json"
	case !project && client == "cursor":
		return ".cursor/hooks.json"
	case client == "agents-md":
		return "AGENTS.md"
	}
	return ""
}

// homes returns possible contents of a client's file before setup.
func homes(client string) map[string]string {
	if client == "agents-md" {
		return map[string]string{"text": "# Rules\n\nBe brief.\n", "no line end": "Be brief.", "empty": ""}
	}
	return map[string]string{
		"empty":                 "",
		"blank":                 "\n",
		"empty object":          "{}",
		"foreign":               "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{ \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] }\n\t\t]\n\t}\n}\n",
		"one line":              `{"hooks":{"SessionStart":[]},"a":[1,2]}`,
		"comments":              "// mine\n{\n    /* keep */\n    \"hooks\": {\n        \"Stop\": [ 1, /* one */ ], // stop\n    },\n}\n",
		"no line end":           "{\n  \"z\": 1\n}",
		"DOS":                   "{\r\n  \"hooks\": {}\r\n}\r\n",
		"DOS comments":          "// mine\r\n{\r\n\t\"hooks\": { /* all */\r\n\t\t\"Stop\": [ 1, ], // one\r\n\t},\r\n}\r\n",
		"the same member twice": "{\n  \"hooks\": {\"Stop\": [1]},\n  \"hooks\": {\"Stop\": [2]}\n}\n",
		"not indented":          "{\n\"hooks\": {\n\"Stop\": [\n{}\n]\n}\n}\n\n\n",
		"a comment at the end without a line end": "{} // mine",
		"characters": "{\"ключ\": \"\\u2028 </script>\", \"hooks\": { }}",
	}
}

// After a setup, a second setup and a removal the files are the same as before, byte for byte.
func TestThereAndBack(t *testing.T) {
	for _, project := range []bool{false, true} {
		for _, client := range Clients() {
			if project == (client == "cursor") || !project && client == "agents-md" {
				continue
			}
			name := sharedFile(client, project)
			cases := map[string]string{"absent": ""}
			if name != "" {
				maps.Copy(cases, homes(client))
			}
			for kind, content := range cases {
				t.Run(filepath.Join(map[bool]string{false: "user", true: "project"}[project], client, kind), func(t *testing.T) {
					r := request(t, project, client)
					if kind != "absent" {
						write(t, filepath.Join(r.place(), name), content)
					}
					before := snapshot(t, r.place())

					first := apply(t, r)
					assert.Positive(t, states(first)[Write])
					for _, c := range first {
						assert.NotEmpty(t, c.Diff)
					}
					after := snapshot(t, r.place())
					assert.NotEqual(t, before, after)

					assert.Equal(t, map[State]int{Same: len(first)}, states(apply(t, r)))
					assert.Equal(t, after, snapshot(t, r.place()))

					takeAway(t, r)
					assert.Equal(t, before, snapshot(t, r.place()))
				})
			}
		}
	}
}

// extrasOf lists the extras of a client in a scope that a user can request.
func extrasOf(client string, project bool) []string {
	switch client {
	case "claude":
		return []string{MCP, Wake}
	case "codex":
		if project {
			return []string{Wake}
		}
		return []string{MCP, Approve, Wake}
	case "opencode":
		return []string{MCP, Wake}
	case "gemini":
		return []string{MCP, Approve}
	case "copilot":
		if project {
			return nil
		}
		return []string{MCP}
	case "cursor":
		return []string{MCP}
	}
	return nil
}

// The files are also restored after a setup with every extra, over files with other settings. A setup without an
// extra keeps an extra that was set up before.
func TestExtrasThereAndBack(t *testing.T) {
	const settings = "{\n  \"mcpServers\": {\n    \"other\": { \"command\": \"x\" }\n  }\n}\n"
	foreign := map[string]string{
		".mcp.json": settings, ".gemini/settings.json": "// mine\n{ \"a\": [1,], }\n", ".copilot/mcp-config.json": "{}",
		".cursor/mcp.json": settings, ".codex/config.toml": "model = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\"",
	}
	for _, project := range []bool{false, true} {
		for _, client := range Clients() {
			extras := extrasOf(client, project)
			if extras == nil || project && client == "cursor" {
				continue
			}
			for _, kind := range []string{"absent", "foreign"} {
				t.Run(filepath.Join(map[bool]string{false: "user", true: "project"}[project], client, kind), func(t *testing.T) {
					r := request(t, project, client)
					if kind == "foreign" {
						for name, content := range foreign {
							write(t, filepath.Join(r.place(), name), content)
						}
					}
					before := snapshot(t, r.place())
					r.With = extras
					first := apply(t, r)
					after := snapshot(t, r.place())
					said := ""
					for _, content := range after {
						said += content
					}
					if slices.Contains(extras, MCP) {
						assert.Regexp(t, `"mcp"|const mcp = true`, said)
					}
					if slices.Contains(extras, Wake) {
						assert.Regexp(t, `watch --wake |const wake = true`, said)
					}
					if slices.Contains(extras, Approve) && (client == "codex" || project) {
						assert.Regexp(t, `default_tools_approval_mode = "approve"|"trust": true`, said)
					}
					assert.Equal(t, map[State]int{Same: len(first)}, states(apply(t, r)))
					r.With = nil
					assert.Equal(t, map[State]int{Same: len(first)}, states(apply(t, r)), "it stays")
					assert.Equal(t, after, snapshot(t, r.place()))
					takeAway(t, r)
					assert.Equal(t, before, snapshot(t, r.place()))
				})
			}
		}
	}
}

// A server that the user configured is not added again: TOML allows each table only once.
func TestServerOfTheUserStays(t *testing.T) {
	r := request(t, false, "codex")
	r.With = []string{MCP}
	path := filepath.Join(r.Home, ".codex/config.toml")
	write(t, path, "[mcp_servers.githandoff]\ncommand = \"mine\"\n")
	apply(t, r)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "[mcp_servers.githandoff]\ncommand = \"mine\"\n", string(b))
}

func TestNoSuchExtra(t *testing.T) {
	r := request(t, false, "gemini")
	r.With = []string{Wake}
	_, err := r.Plan()
	assert.Equal(t, fault.Usage, fault.CodeOf(err))
}

// Settings that the user adds to a shared file after the setup stay when githandoff's entries are removed.
func TestRemoveLeavesWhatCameLater(t *testing.T) {
	r := request(t, true, "claude")
	path := filepath.Join(r.Root, ".claude/settings.json")
	write(t, path, "{\n  \"hooks\": {}\n}\n")
	apply(t, r)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	write(t, path, strings.Replace(string(b), "{\n", "{\n  \"model\": \"x\",\n", 1))
	takeAway(t, r)
	b, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"model\": \"x\",\n  \"hooks\": {}\n}\n", string(b))
}

func TestEditedIsLeft(t *testing.T) {
	for name, edit := range map[string]func(t *testing.T, r *Request) string{
		"our own file": func(t *testing.T, r *Request) string {
			path := filepath.Join(r.Home, ".claude/skills/githandoff/skills/handoff/SKILL.md")
			write(t, path, "mine now\n")
			return path
		},
		"our entries": func(t *testing.T, r *Request) string {
			path := filepath.Join(r.Home, ".codex/hooks.json")
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			write(t, path, strings.ReplaceAll(string(b), `"timeout": 5`, `"timeout": 9`))
			return path
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, false, "claude", "codex")
			apply(t, r)
			path := edit(t, r)
			edited, err := os.ReadFile(path)
			require.NoError(t, err)

			changes := apply(t, r)
			assert.Equal(t, 1, states(changes)[Edited])
			err = Left(changes)
			require.Error(t, err)
			assert.Equal(t, fault.Conflict, fault.CodeOf(err))
			assert.ErrorContains(t, err, path)

			assert.Equal(t, 1, states(takeAway(t, r))[Edited])
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(edited), string(b))
		})
	}
}

// A file with the name of one of githandoff's files that the user made is not replaced.
func TestForeignFileIsLeft(t *testing.T) {
	r := request(t, false, "opencode")
	path := filepath.Join(r.ConfigHome, "opencode/plugins/githandoff.js")
	write(t, path, "export const Mine = 1\n")
	changes := apply(t, r)
	require.Error(t, Left(changes))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "export const Mine = 1\n", string(b))
}

func TestNewerVersionReplacesOlderOne(t *testing.T) {
	r := request(t, false, "opencode")
	r.Binary = "/old/githandoff"
	apply(t, r)
	r.Binary = "/new/githandoff"
	assert.Equal(t, 1, states(apply(t, r))[Write])
	b, err := os.ReadFile(filepath.Join(r.ConfigHome, "opencode/plugins/githandoff.js"))
	require.NoError(t, err)
	assert.Contains(t, string(b), `const program = "/new/githandoff"`)
}

// A newer version also replaces older entries in shared files: a hook with the old path would no longer work.
func TestNewerVersionReplacesOlderEntries(t *testing.T) {
	for name, content := range map[string]string{
		"no file":    "",
		"empty":      "\n",
		"with hooks": "{\n  \"hooks\": {\"Stop\": [{\"hooks\": []}], \"SessionStart\": []}\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, false, "codex", "cursor")
			r.With = []string{MCP}
			files := map[string]string{".codex/hooks.json": content, ".cursor/hooks.json": content, ".cursor/mcp.json": content, ".codex/config.toml": "\n"}
			for file, content := range files {
				if content != "" {
					write(t, filepath.Join(r.Home, file), content)
				}
			}
			before := snapshot(t, r.Home)
			r.Binary = "/old/githandoff"
			apply(t, r)
			old := snapshot(t, r.Home)
			r.Binary, r.With = "/new/githandoff", []string{Approve}
			apply(t, r)
			now := snapshot(t, r.Home)
			for file := range files {
				assert.Contains(t, old[file], "/old/githandoff", file)
				assert.Contains(t, now[file], "/new/githandoff", file)
				assert.NotContains(t, now[file], "/old/githandoff", file)
			}
			assert.Contains(t, now[".codex/config.toml"], "approve")
			assert.Zero(t, states(apply(t, r))[Write])
			takeAway(t, r)
			assert.Equal(t, before, snapshot(t, r.Home))
		})
	}
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// Entries that the user removed, or a whole removed file, are written again by the next setup and can be removed
// again.
func TestRemovedByHandComesBack(t *testing.T) {
	r := request(t, false, "codex")
	path := filepath.Join(r.Home, ".codex/hooks.json")
	write(t, path, "{}\n")
	before := snapshot(t, r.Home)
	apply(t, r)
	ours := textOf(t, path)
	write(t, path, "{\"hooks\": {}}\n")
	assert.Equal(t, 1, states(apply(t, r))[Write])
	require.NoError(t, os.Remove(path))
	assert.Equal(t, 1, states(apply(t, r))[Write])
	assert.Equal(t, ours, textOf(t, path))

	cut := regexp.MustCompile(`(?s),\s*"Stop": \[.*?\n    \]`)
	require.Regexp(t, cut, ours)
	write(t, path, cut.ReplaceAllString(ours, ""))
	assert.Equal(t, 1, states(apply(t, r))[Write])
	assert.Zero(t, states(apply(t, r))[Write])
	takeAway(t, r)
	assert.Equal(t, before, snapshot(t, r.Home))
}

// New files get the modes that the umask allows.
func TestUmask(t *testing.T) {
	before := syscall.Umask(0o077)
	t.Cleanup(func() { syscall.Umask(before) })
	r := request(t, false, "codex")
	apply(t, r)
	for path, said := range snapshot(t, r.Home) {
		assert.Regexp(t, "^[d-]rw[x-]------ ", said, path)
	}
}

// An entry that the user moved is not written again.
func TestEntriesInAnotherOrderAreTheSame(t *testing.T) {
	r := request(t, true, "codex")
	path := filepath.Join(r.Root, ".codex/hooks.json")
	write(t, path, "{\"hooks\": {\"Stop\": [{\"hooks\": []}]}}\n")
	apply(t, r)
	ours := textOf(t, path)
	moved := strings.Replace(ours, "}],\n", "},{ \"hooks\": [] /* mine */ }],\n", 1)
	require.NotEqual(t, ours, moved)
	write(t, path, moved)
	assert.Equal(t, 2, states(apply(t, r))[Same])
	takeAway(t, r)
	assert.Equal(t, "{\"hooks\": {\"Stop\": [{\"hooks\": []},{ \"hooks\": [] /* mine */ }]}}\n", textOf(t, path))
}

func TestInvalidIsNotTouched(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON": "{ hooks: ", "an array": "[]", "a mark of order": "\ufeff{}\n", "a torn comment": "{} /* mine", "two documents": "{}\n{}\n", "hooks is a list": `{"hooks":[]}`, "an event is an object": `{"hooks":{"Stop":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, true, "codex")
			write(t, filepath.Join(r.Root, ".codex/hooks.json"), content)
			before := snapshot(t, r.Root)
			_, err := r.Plan()
			require.Error(t, err)
			assert.Equal(t, fault.Invalid, fault.CodeOf(err))
			assert.Equal(t, before, snapshot(t, r.Root))
		})
	}
}

// A link to another file, for example in a user's dotfiles, stays a link, and the file keeps its mode.
func TestLinkIsFollowed(t *testing.T) {
	r := request(t, false, "codex")
	real := filepath.Join(filepath.Dir(r.Home), "dotfiles", "hooks.json")
	write(t, real, "{}\n")
	require.NoError(t, os.Chmod(real, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(r.Home, ".codex"), 0o755))
	require.NoError(t, os.Symlink("../../dotfiles/hooks.json", filepath.Join(r.Home, ".codex/hooks.json")))
	before := snapshot(t, filepath.Dir(r.Home))
	apply(t, r)
	info, err := os.Lstat(filepath.Join(r.Home, ".codex/hooks.json"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&fs.ModeSymlink)
	info, err = os.Stat(real)
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm())
	takeAway(t, r)
	after := snapshot(t, filepath.Dir(r.Home))
	delete(after, "state")
	delete(after, "state/githandoff")
	delete(after, "state/githandoff/setup.json")
	delete(after, "state/githandoff/setup.lock")
	assert.Equal(t, before, after)
}

// Several setups may run at once. Each file is recorded, so each can be removed.
func TestSetupsAtOnce(t *testing.T) {
	r := request(t, false)
	before := snapshot(t, r.Home)
	var all sync.WaitGroup
	for _, client := range []string{"claude", "codex", "gemini", "opencode", "copilot", "cursor"} {
		one := *r
		one.Clients = []string{client}
		all.Go(func() {
			changes, err := one.Plan()
			assert.NoError(t, err)
			assert.NoError(t, one.Apply(changes))
		})
	}
	all.Wait()
	takeAway(t, r)
	assert.Equal(t, before, snapshot(t, r.Home))
}

// A directory that is a link, for example into a user's dotfiles, stays a link, for every client.
func TestLinkedDirectories(t *testing.T) {
	for _, client := range []string{"claude", "codex", "gemini", "opencode", "copilot", "cursor"} {
		t.Run(client, func(t *testing.T) {
			r := request(t, false, client)
			top := filepath.Dir(r.Home)
			for _, name := range []string{".claude", ".codex", ".gemini", ".config/opencode", ".copilot", ".cursor", ".agents"} {
				real := filepath.Join(top, "dotfiles", name)
				require.NoError(t, os.MkdirAll(real, 0o755))
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(r.Home, name)), 0o755))
				require.NoError(t, os.Symlink(real, filepath.Join(r.Home, name)))
			}
			home, files := snapshot(t, r.Home), snapshot(t, filepath.Join(top, "dotfiles"))
			first := apply(t, r)
			assert.Equal(t, home, snapshot(t, r.Home), "links stay links")
			assert.NotEqual(t, files, snapshot(t, filepath.Join(top, "dotfiles")))
			assert.Equal(t, map[State]int{Same: len(first)}, states(apply(t, r)))
			takeAway(t, r)
			assert.Equal(t, home, snapshot(t, r.Home))
			assert.Equal(t, files, snapshot(t, filepath.Join(top, "dotfiles")))
		})
	}
}

// The table is added at the end of any content, unless the user has that table already.
func TestTOMLThereAndBack(t *testing.T) {
	for name, content := range map[string]string{
		"comments":            "# mine\nmodel = \"x\" # best\n\n[tui] # a table\ntheme = 'dark'\n# the end",
		"DOS":                 "model = \"x\"\r\n[mcp_servers.other]\r\ncommand = \"y\"\r\n",
		"no line end":         "model = \"x\"",
		"only a comment":      "# [mcp_servers.githandoff] comes later\n",
		"a table of a friend": "[mcp_servers.githandoff-other]\ncommand = \"y\"\n",
		"blank":               "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, false, "codex")
			r.With = []string{MCP}
			path := filepath.Join(r.Home, ".codex/config.toml")
			write(t, path, content)
			before := snapshot(t, r.Home)
			apply(t, r)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(string(b), content))
			assert.Contains(t, string(b), "\n[mcp_servers.githandoff]\ncommand = ")
			assert.Positive(t, states(apply(t, r))[Same])
			takeAway(t, r)
			assert.Equal(t, before, snapshot(t, r.Home))
		})
	}
	for _, table := range []string{"[mcp_servers.githandoff]", "[ mcp_servers . githandoff ]", `[mcp_servers."githandoff"]`, "[mcp_servers.'githandoff']", "  [mcp_servers.githandoff.env]"} {
		t.Run(table, func(t *testing.T) {
			r := request(t, false, "codex")
			r.With = []string{MCP}
			path := filepath.Join(r.Home, ".codex/config.toml")
			write(t, path, "model = \"x\"\n"+table+"\nA = \"b\"\n")
			apply(t, r)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "model = \"x\"\n"+table+"\nA = \"b\"\n", string(b))
		})
	}
}

func TestReadOnlyIsSaid(t *testing.T) {
	if os.Geteuid() == 0 {
		r := request(t, false, "codex")
		require.NoError(t, os.WriteFile(filepath.Join(r.Home, ".codex"), nil, 0o400)) // a file in place of the directory
		changes, err := r.Plan()
		if err == nil {
			err = r.Apply(changes)
		}
		require.Error(t, err)
		assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
		return
	}
	r := request(t, false, "codex")
	require.NoError(t, os.Chmod(r.Home, 0o500)) //nolint:gosec // a directory
	changes, err := r.Plan()
	require.NoError(t, err)
	err = r.Apply(changes)
	require.Error(t, err)
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
}

// Only directories go. A link in the place of one, into somebody's dotfiles, stays, also where it leads to nothing.
func TestLinkInPlaceOfADirectoryStays(t *testing.T) {
	r := request(t, false, "claude")
	link := filepath.Join(r.Home, ".claude")
	require.NoError(t, os.Symlink("nowhere", link))
	before := snapshot(t, r.Home)
	changes, err := r.Plan()
	require.NoError(t, err)
	require.Error(t, r.Apply(changes))
	assert.Equal(t, before, snapshot(t, r.Home))

	require.NoError(t, os.Remove(link))
	apply(t, r)
	require.NoError(t, os.Rename(link, filepath.Join(r.Home, "dotfiles")))
	require.NoError(t, os.Symlink("dotfiles", link))
	takeAway(t, r)
	to, err := os.Readlink(link)
	require.NoError(t, err)
	assert.Equal(t, "dotfiles", to)
}

// If a file or its record cannot be written, the file is taken back with its directories: nothing would ever remove
// them.
func TestUnrecordedIsTakenBack(t *testing.T) {
	if os.Getenv("SMALL_FILES") == "" {
		other := exec.Command(os.Args[0], "-test.run=^TestUnrecordedIsTakenBack$")
		other.Env = append(os.Environ(), "SMALL_FILES=1")
		out, err := other.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	r := request(t, false, "claude")
	before := snapshot(t, r.Home)
	changes, err := r.Plan()
	require.NoError(t, err)
	signal.Ignore(syscall.SIGXFSZ) // a write fails instead
	for limit, path := range map[int]string{
		1:                     changes[0].Path,
		len(changes[0].after): r.recordPath(), // the record of the file is larger than the file
	} {
		var l syscall.Rlimit
		require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l))
		setNumber(&l.Cur, limit)
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &l))
		err = r.Apply(changes)
		require.ErrorIs(t, err, syscall.EFBIG)
		assert.Equal(t, "write "+path+": file too large", err.Error())
		assert.Equal(t, before, snapshot(t, r.Home))
	}
}

// setNumber sets a number whose type differs between systems.
func setNumber[N int64 | uint64](to *N, n int) { *to = N(n) }

// A removal that stopped at one file leaves no directory behind when it is run again.
func TestRemovalGoesOn(t *testing.T) {
	r := request(t, false, "claude")
	before := snapshot(t, r.Home)
	apply(t, r)
	changes, err := r.PlanRemoval()
	require.NoError(t, err)
	last := changes[len(changes)-1].Path
	require.NoError(t, os.Remove(last))
	write(t, filepath.Join(last, "file"), "in the way")
	require.Error(t, r.Remove(changes))

	require.NoError(t, os.RemoveAll(last))
	takeAway(t, r)
	assert.Equal(t, before, snapshot(t, r.Home))
	changes, err = r.PlanRemoval()
	require.NoError(t, err)
	assert.Empty(t, changes)
}

// A file that several clients read stays until the last of them is removed.
func TestSharedSkillStays(t *testing.T) {
	for _, project := range []bool{false, true} {
		r := request(t, project)
		before := snapshot(t, r.place())
		skill := filepath.Join(r.place(), ".agents/skills/handoff/SKILL.md")
		for _, client := range []string{"codex", "opencode", "copilot"} {
			r.Clients = []string{client}
			apply(t, r)
		}
		for _, client := range []string{"codex", "copilot"} {
			r.Clients = []string{client}
			takeAway(t, r)
			assert.FileExists(t, skill, client)
		}
		r.Clients = []string{"opencode"}
		findings, err := r.Check()
		require.NoError(t, err)
		for _, f := range findings {
			assert.True(t, f.OK, f.Text)
		}
		takeAway(t, r)
		assert.Equal(t, before, snapshot(t, r.place()))
	}
}

func TestWithoutAndUnknown(t *testing.T) {
	r := request(t, false, "claude")
	r.Without = []string{Hooks}
	for _, c := range apply(t, r) {
		assert.Contains(t, c.Path, "SKILL.md")
	}
	for _, bad := range [][]string{{"vim"}, {"agents-md"}} {
		r := request(t, false, bad...)
		_, err := r.Plan()
		assert.Equal(t, fault.Usage, fault.CodeOf(err))
	}
}

// Copilot CLI also runs Claude's project hooks, so a second set of hooks would run twice.
func TestCopilotBesideClaude(t *testing.T) {
	r := request(t, true, "claude", "copilot")
	apply(t, r)
	_, err := os.Stat(filepath.Join(r.Root, ".github/hooks/githandoff.json"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// The result is the same whether one command sets both clients up, or two commands do.
func TestCopilotAfterClaude(t *testing.T) {
	r := request(t, true, "claude")
	apply(t, r)
	r.Clients = []string{"copilot"}
	apply(t, r)
	assert.NoFileExists(t, filepath.Join(r.Root, ".github/hooks/githandoff.json"))
	assert.FileExists(t, filepath.Join(r.Root, ".agents/skills/handoff/SKILL.md"))
	findings, err := r.Check()
	require.NoError(t, err)
	for _, f := range findings {
		assert.True(t, f.OK, f.Text)
	}
}

func TestCopilotBeforeClaude(t *testing.T) {
	r := request(t, true, "copilot")
	apply(t, r)
	r.Clients = []string{"claude"}
	apply(t, r)
	r.Clients = []string{"copilot"}
	findings, err := r.Check()
	require.NoError(t, err)
	assert.Contains(t, findings, agents.Finding{
		Client: "copilot", Text: "its hooks also come from " + filepath.Join(r.Root, ".claude/settings.json") + ": each event is answered twice",
		Hint: fault.Run("githandoff", "setup", "--remove", "copilot", "--project").Because("leaves those of Claude Code, which Copilot CLI runs as well"),
	})
}

// A user's files start the program by its path, and a project's files by its name.
func TestPrograms(t *testing.T) {
	for _, project := range []bool{false, true} {
		r := request(t, project, "claude", "codex", "gemini", "opencode", "copilot")
		apply(t, r)
		for name, content := range snapshot(t, r.place()) {
			if !strings.Contains(content, "hook agent ") && !strings.HasSuffix(name, ".js") {
				continue
			}
			assert.Equal(t, !project, strings.Contains(content, "/opt/a b/githandoff"), name)
			assert.Equal(t, project && !strings.HasSuffix(name, ".js"), strings.Contains(content, "command -v githandoff"), name)
		}
	}
}
