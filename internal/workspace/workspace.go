// Package workspace is the place of one agent: this repository, its hubs, the handoffs the agent
// can name, and its claims.
package workspace

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/work"
)

// Workspace is the place of one agent: this repository, its hubs, and the claims of the agent. It
// serves one command.
type Workspace struct {
	Homes
	Claims work.Claims
	Agent  string // agent whose inbox is read
}

// Inboxes returns the inboxes of this agent, its own first.
func (w *Workspace) Inboxes() []string {
	var list []string
	for _, a := range append([]string{w.Agent}, w.Repo.Config.All("handoff.serves")...) {
		if handoff.CheckAgent(a) == nil && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// Source returns the sender's name of handoffs from here: the agent's or, for a person, the part
// before the "@", if it is a valid name.
func (w *Workspace) Source() string {
	if handoff.CheckAgent(w.Agent) == nil {
		return w.Agent
	}
	local, _, _ := strings.Cut(w.Agent, "@")
	name := strings.TrimLeft(handoff.AgentLetters(local), "._-")
	if handoff.CheckAgent(name) != nil {
		return "person"
	}
	return name
}

// maxPrincipal bounds a declared mail address, in bytes.
const maxPrincipal = 64

// Principal returns on whose behalf an agent works unless a token says so: declared,
// not proven. An address that no record can hold, such as one beyond ASCII, is left out.
func (w *Workspace) Principal() string {
	mail := w.Repo.Config.Get("user.email")
	plain := !strings.ContainsFunc(mail, func(r rune) bool { return r <= ' ' || r > '~' })
	if mail != "" && len(mail) <= maxPrincipal && plain {
		return "user:" + mail + " (declared)"
	}
	return ""
}

// Work returns the work held by the agent in this worktree.
func (w *Workspace) Work() *work.Held {
	return &work.Held{
		Agent: w.Agent, Claims: w.Claims, Verifier: w.Engine.Verifier, Workspace: w,
	}
}

// As returns the same workspace with another key: what a person signs at an agent's place
// of work. The agent stays the source.
func (w *Workspace) As(signer sign.Signer, actor string) *Workspace {
	other := *w
	other.Engine = w.Engine.As(signer, actor)
	return &other
}

// AgentOf returns the agent recorded by init for a worktree; "" before that.
func AgentOf(repo *refs.Repo) (string, error) {
	b, err := private.ReadState(repo.OwnWorktree("agent"))
	return string(bytes.TrimSpace(b)), err
}

// KeyOf returns the key that init recorded for an agent: the one of this worktree, or the one of all
// worktrees. "" is the key of the agent's name.
func KeyOf(repo *refs.Repo, agent string) string {
	if own, err := AgentOf(repo); err == nil && own == agent {
		if b, err := private.ReadState(repo.OwnWorktree("key")); err == nil && b != nil {
			return string(bytes.TrimSpace(b))
		}
	}
	if repo.Config.Get("handoff.agent") == agent {
		return repo.Config.Get("handoff.key")
	}
	return ""
}

// AgentsOfClone returns the agents of all worktrees of a clone.
func AgentsOfClone(repo *refs.Repo) []string {
	var names []string
	files, _ := filepath.Glob(filepath.Join(repo.CommonDir, "worktrees", "*", "githandoff", "agent"))
	for _, file := range append(files, repo.Own("agent")) {
		if b, err := os.ReadFile(file); err == nil {
			names = append(names, string(bytes.TrimSpace(b)))
		}
	}
	return names
}
