package agentsetup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/agents"
	"githandoff/internal/fault"
)

// Present lists the clients run here by this user that can be set up in the scope of the request: each
// makes a directory in the home directory when it starts.
func (r *Request) Present() []string {
	return slices.DeleteFunc(Clients(), func(client string) bool {
		info, err := os.Stat(r.home(client))
		return client == "agents-md" || client == "cursor" && r.Project || err != nil || !info.IsDir()
	})
}

// Known lists the clients that run here, and those that setup wrote files for.
func Known(r *Request) ([]string, error) {
	rec, err := r.record()
	if err != nil {
		return nil, err
	}
	known := append(r.Present(), rec.clients(r)...)
	return slices.DeleteFunc(Clients(), func(client string) bool { return !slices.Contains(known, client) }), nil
}

// Hooked lists the known clients other than those of the request that run our hooks: the scope of the request lacks
// none of them, or the user has them. A request that names no client means all of them, so there is no other.
func Hooked(r *Request) ([]string, error) {
	known, err := Known(r)
	if err != nil || len(r.Clients) == 0 {
		return nil, err
	}
	rec, err := r.record()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(known, func(client string) bool {
		one := *r
		one.Clients, one.Without, one.With = []string{client}, []string{Skill}, nil
		changes, err := one.Plan()
		missing := err != nil || slices.ContainsFunc(changes, func(c *Change) bool { return c.State == Write })
		return slices.Contains(r.Clients, client) || missing && !slices.ContainsFunc(rec.Files, func(w *written) bool {
			return w.Root == "" && w.Client == client && hasHooks(w.Path, client)
		})
	}), nil
}

// Check looks at what is set up for the clients of the request: whether each file is
// as it should be, and whether the same hooks come a second way.
func (r *Request) Check() ([]agents.Finding, error) {
	var all []agents.Finding
	again := Command(r.Project, r.Clients...).Because("writes what is missing")
	for _, client := range r.Clients {
		one := *r
		one.Clients = []string{client}
		changes, err := one.Plan()
		if err != nil {
			return nil, err
		}
		for _, c := range changes {
			all = append(all, c.finding(again))
		}
		all = append(all, r.otherRoutes(client, changes)...)
		for _, text := range Advice(r, client) {
			all = append(all, agents.Finding{Client: client, OK: true, Text: text})
		}
	}
	return all, nil
}

// Advice says what the user of a client has to do before its agent can take a handoff.
func Advice(r *Request, client string) []string {
	if client != "codex" {
		return nil
	}
	var all []string
	if !slices.Contains(r.Without, Hooks) {
		all = append(all, "Codex CLI runs a hook only after its user reviewed it: /hooks")
	}
	if !r.Project && !slices.Contains(r.with(client), MCP) {
		all = append(all, "the sandbox of Codex CLI keeps .git read-only; the tools of --with mcp take and finish handoffs outside of it")
	}
	return all
}

func (c *Change) finding(again fault.Hint) agents.Finding {
	f := agents.Finding{Client: c.Client, OK: c.State == Same, Text: c.Path}
	switch c.State {
	case Write:
		f.Text += " is missing or older than this program"
		if c.existed && len(c.inserted) > 0 {
			f.Text = c.Path + " lacks entries of this githandoff"
		}
		f.Hint = again
	case Edited:
		f.Text += ": " + c.Why
		f.Hint = fault.Fact("setup leaves what was changed by hand: take it out, then run setup again")
	case Same, Delete:
	}
	return f
}

// Command returns a hint to run setup in a scope.
func Command(project bool, args ...string) fault.Hint {
	argv := append([]string{"githandoff", "setup"}, args...)
	if project {
		argv = append(argv, "--project")
	}
	return fault.Run(argv...)
}

// otherRoutes lists the ways beside this one by which a client gets our hooks: the other scope, a
// plugin from a marketplace, and for Copilot CLI the hooks of Claude Code. Hooks of another project
// run only there. changes are those that the check of the client found.
func (r *Request) otherRoutes(client string, changes []*Change) []agents.Finding {
	var all []agents.Finding
	here := slices.ContainsFunc(changes, func(c *Change) bool { return hasHooks(c.Path, client) })
	add := func(from string, less fault.Hint) {
		f := agents.Finding{Client: client, Text: "its hooks also come from " + from + ": each event is answered twice", Hint: less}
		if !slices.ContainsFunc(all, func(o agents.Finding) bool { return o.Text == f.Text }) {
			all = append(all, f)
		}
	}
	ours := Command(r.Project, "--remove", client)
	if rec, err := r.record(); err == nil {
		for _, w := range rec.Files {
			switch {
			case w.Client != client || !hasHooks(w.Path, client):
			case r.holds(w):
				here = true
				if claude := r.claudeHooks(); claude != "" && client == "copilot" && r.Project {
					add(claude, ours.Because("leaves those of Claude Code, which Copilot CLI runs as well"))
				}
			case w.Root == "":
				add(w.Path, ours.Because("leaves those of this user"))
			case !r.Project:
				add(w.Path, fault.Run("githandoff", "-C", w.Root, "setup", "--remove", client, "--project").Because("leaves those of this user"))
			}
		}
	}
	plugins := map[string]string{
		"claude": filepath.Join(r.home("claude"), "plugins", "installed_plugins.json"),
		"codex":  filepath.Join(r.home("codex"), "config.toml"),
	}
	if b, err := os.ReadFile(plugins[client]); err == nil && bytes.Contains(b, []byte("githandoff@")) {
		add(fmt.Sprintf("a plugin (%s)", plugins[client]), ours.Because("leaves those of the plugin"))
	}
	if !here {
		return nil // without hooks in the checked scope, no other route is a second one
	}
	slices.SortFunc(all, func(a, b agents.Finding) int { return strings.Compare(a.Text, b.Text) })
	return all
}

// hasHooks reports whether a file gives a client our hooks. One that setup recorded may be gone, or
// be a skill.
func hasHooks(path, client string) bool {
	mark := " hook agent " + client + " "
	if client == "opencode" {
		mark = "const program = "
	}
	b, _, err := read(path)
	return err == nil && bytes.Contains(b, []byte(mark))
}
