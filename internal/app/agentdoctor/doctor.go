package agentdoctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"githandoff/internal/agents"
	"githandoff/internal/fault"
)

// Request is the place to check.
type Request struct {
	Home, ConfigHome    string // absolute directories of this user
	Worktree, CommonDir string // top of the work tree; git's common directory
	Log                 string // path of the worktree's agent.log
	Binary              string // absolute path of this program
	Vars                []string
	Getenv              func(string) string
	Now                 time.Time

	// Wrote reports whether setup wrote a file, and so can remove it again.
	Wrote func(path string) bool
	// Run starts a program without standard streams, and returns its exit code.
	Run func(ctx context.Context, argv []string) (int, error)
}

// Look goes through the checks.
func (r *Request) Look(ctx context.Context) []agents.Finding {
	var all []agents.Finding
	for _, client := range []string{"claude", "codex", "gemini", "opencode", "copilot", "cursor"} {
		routes := r.routes(client)
		all = append(all, r.twice(client, routes)...)
		all = append(all, r.gone(client, routes)...)
		switch client {
		case "codex":
			if len(routes) > 0 {
				all = append(all, r.reviewed(routes)...)
				all = append(all, r.loginShell(ctx)...)
			}
		case "gemini":
			all = append(all, r.gitOfGemini(routes)...)
		}
	}
	return append(all, r.noted()...)
}

// route is a file by which a client gets hooks of githandoff.
type route struct {
	path    string
	project bool
	plugin  bool // path lists the plugin, and holds none of its hooks
	owner   string
}

// routes lists those of a client, the repository's first.
func (r *Request) routes(client string) []route {
	user := map[string][]string{
		"claude":   {"skills/githandoff/hooks/hooks.json", "settings.json"},
		"codex":    {"hooks.json"},
		"gemini":   {"extensions/githandoff/hooks/hooks.json", "settings.json"},
		"opencode": {"plugins/githandoff.js"},
		"copilot":  {"hooks/githandoff.json"},
		"cursor":   {"hooks.json"},
	}
	project := map[string][]string{
		"claude":   {".claude/settings.json", ".claude/settings.local.json"},
		"codex":    {".codex/hooks.json"},
		"gemini":   {".gemini/settings.json"},
		"opencode": {".opencode/plugins/githandoff.js"},
		"copilot":  {".github/hooks/githandoff.json"},
	}
	lists := map[string]string{"claude": "plugins/installed_plugins.json", "codex": "config.toml"}
	mark := "hook agent " + client
	if client == "opencode" {
		mark = "githandoff"
	}
	var all []route
	for _, name := range project[client] {
		all = append(all, route{path: filepath.Join(r.Worktree, name), project: true, owner: client})
	}
	for _, name := range user[client] {
		all = append(all, route{path: filepath.Join(r.dir(client), name), owner: client})
	}
	all = slices.DeleteFunc(all, func(o route) bool { return !bytes.Contains(read(o.path), []byte(mark)) })
	if list := filepath.Join(r.dir(client), lists[client]); lists[client] != "" && bytes.Contains(read(list), []byte("githandoff@")) {
		all = append(all, route{path: list, plugin: true, owner: client})
	}
	if both := filepath.Join(r.Worktree, ".claude", "settings.json"); client == "copilot" && len(all) > 0 &&
		bytes.Contains(read(both), []byte("hook agent claude")) {
		all = append(all, route{path: both, project: true, owner: "claude"}) // Copilot CLI runs Claude's hooks of a repository too
	}
	return once(all)
}

// once leaves out a route with the same file as an earlier one: a repository may be a home
// directory, and a file a link.
func once(all []route) []route {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(o route) bool {
		path := o.path
		if to, err := filepath.EvalSymlinks(path); err == nil {
			path = to
		}
		if seen[path] {
			return true
		}
		seen[path] = true
		return false
	})
}

// twice reports a client which gets the hooks by more than one route.
func (r *Request) twice(client string, routes []route) []agents.Finding {
	if len(routes) == 0 {
		return nil
	}
	var names []string
	for _, o := range routes {
		name := o.path
		if o.plugin {
			name = "a plugin (" + o.path + ")"
		}
		names = append(names, name)
	}
	if len(routes) == 1 {
		return []agents.Finding{{Client: client, OK: true, Text: "hooks come from " + names[0]}}
	}
	return []agents.Finding{{
		Client: client, Text: "each event is answered more than once: hooks come from " + strings.Join(names, " and "),
		Hint: r.oneLess(client, routes),
	}}
}

// program finds the path of githandoff in a user's hooks, as setup writes them: in a command within
// a string of JSON, quoted for the shell if need be, or in a script.
var program = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[ -x (.+?) \] \|\| exit 0; exec|const program = "(.+)"`)
})

// gone reports hooks of a program that no longer exists. Such hooks exit silently.
func (r *Request) gone(client string, routes []route) []agents.Finding {
	var all []agents.Finding
	for _, o := range routes {
		if o.project || o.plugin {
			continue // hooks of a project or a plugin name no path
		}
		found := program().FindSubmatch(read(o.path))
		if found == nil {
			continue
		}
		var path string
		if json.Unmarshal(slices.Concat([]byte(`"`), found[1], found[2], []byte(`"`)), &path) != nil {
			continue // setup did not write this text
		}
		path = strings.ReplaceAll(strings.Trim(path, "'"), `'\''`, "'")
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			all = append(all, agents.Finding{
				Client: client, Text: fmt.Sprintf("hooks of %s call %s, which does not exist: they do nothing", o.path, path),
				Hint: fault.Run("githandoff", "setup", client).Because("lets them call this program"),
			})
		}
	}
	return all
}

// oneLess removes one of the routes, with the command which made it.
func (r *Request) oneLess(client string, routes []route) fault.Hint {
	for _, o := range routes {
		switch {
		case o.plugin && client == "claude":
			return fault.Run("claude", "plugin", "uninstall", "githandoff").Because("leaves the hooks that setup wrote")
		case o.plugin || o.owner != client || !r.Wrote(o.path):
		case o.project:
			return fault.Run("githandoff", "setup", "--remove", client, "--project").Because("leaves those of this user")
		default:
			return fault.Run("githandoff", "setup", "--remove", client).Because("leaves those of the repository or the plugin")
		}
	}
	return fault.Fact("setup wrote none of these: remove the entries of githandoff from one of them")
}

// dir returns the directory with a client's files of this user.
func (r *Request) dir(client string) string {
	return agents.Dir(client, r.Home, r.ConfigHome, r.Getenv)
}

const maxFile = 4 << 20 // bytes of a client's file

// read returns the content of a file, nil if it is unreadable: the command which needs it reports
// why.
func read(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return b
}

// recent is for how long a failure of a hook is reported. No log says that its cause was mended.
const recent = 7 * 24 * time.Hour

// noted reports the failures recorded by agents' hooks. A hook itself is silent.
func (r *Request) noted() []agents.Finding {
	count, last := 0, ""
	for line := range strings.Lines(string(read(r.Log))) {
		at, text, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if t, err := time.Parse(time.RFC3339, at); !ok || err != nil || r.Now.Sub(t) > recent {
			continue
		}
		count, last = count+1, at+" "+text
	}
	if count == 0 {
		return nil
	}
	return []agents.Finding{{
		Text: fault.Count(count, "hook") + " of agents failed within a week, the last: " + last,
		Hint: fault.Run("rm", r.Log).Because("forgets them; fix the cause first"),
	}}
}
