package agentsetup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Finding is the result of one check.
type Finding struct {
	Client string
	OK     bool
	Text   string // one line for people
}

// Present lists the clients run here by this user: each makes a directory in the home directory
// when it starts.
func (r *Request) Present() []string {
	dirs := map[string]string{
		"claude": r.dir("CLAUDE_CONFIG_DIR", ".claude"), "codex": r.dir("CODEX_HOME", ".codex"),
		"gemini": filepath.Join(r.Home, ".gemini"), "opencode": filepath.Join(r.ConfigHome, "opencode"),
		"copilot": filepath.Join(r.Home, ".copilot"), "cursor": filepath.Join(r.Home, ".cursor"),
	}
	var present []string
	for _, c := range Clients() {
		if info, err := os.Stat(dirs[c]); dirs[c] != "" && err == nil && info.IsDir() {
			present = append(present, c)
		}
	}
	return present
}

// Check looks at what is set up for the clients of the request: whether each file is
// as it should be, and whether the same hooks come a second way.
func (r *Request) Check() ([]Finding, error) {
	var all []Finding
	for _, client := range r.Clients {
		one := *r
		one.Clients = []string{client}
		changes, err := one.Plan()
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			all = append(all, c.finding())
		}
		for _, other := range r.otherRoutes(client) {
			all = append(all, Finding{client, false, "its hooks also come from " + other + ": each event is answered twice"})
		}
		if client == "codex" && !slices.Contains(r.Without, Hooks) {
			all = append(all, Finding{client, true, "Codex CLI runs a hook only after its user reviewed it: /hooks"})
		}
	}
	return all, nil
}

func (c *Change) finding() Finding {
	f := Finding{Client: c.Client, OK: c.State == Same, Text: c.Path}
	switch c.State {
	case Write:
		f.Text += " is missing or older than this program"
		if c.existed && len(c.inserted) > 0 {
			f.Text = c.Path + " lacks entries of this githandoff"
		}
	case Edited:
		f.Text += ": " + c.Why
	case Same, Delete:
	}
	return f
}

// otherRoutes lists the ways beside this one by which a client gets our hooks: the
// other scope, a plugin from a marketplace, and for Copilot CLI the hooks of Claude Code.
func (r *Request) otherRoutes(client string) []string {
	var routes []string
	if rec, err := r.record(); err == nil {
		for _, w := range rec.Files {
			switch {
			case w.Client != client || filepath.Base(w.Path) == "SKILL.md":
			case !r.holds(w):
				routes = append(routes, w.Path)
			case client == "copilot" && r.Project && r.claudeHooks() != "":
				routes = append(routes, r.claudeHooks())
			}
		}
	}
	plugins := map[string]string{
		"claude": filepath.Join(r.dir("CLAUDE_CONFIG_DIR", ".claude"), "plugins", "installed_plugins.json"),
		"codex":  filepath.Join(r.dir("CODEX_HOME", ".codex"), "config.toml"),
	}
	if b, err := os.ReadFile(plugins[client]); err == nil && bytes.Contains(b, []byte("githandoff@")) {
		routes = append(routes, fmt.Sprintf("a plugin (%s)", plugins[client]))
	}
	slices.Sort(routes)
	return slices.Compact(routes)
}
