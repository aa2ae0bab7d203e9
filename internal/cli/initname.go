package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/app/initrepo"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// name returns the person or agent to work in this worktree: the one named, else the one set up
// already, else an agent named after the worktree.
func (c *initCommand) name(repo *refs.Repo) (string, error) {
	switch {
	case c.person != "" && c.As != "":
		return "", usage("use either --as or --person, not both")
	case c.person != "" && c.everywhere:
		return "", usage("--all-worktrees is for agents: a person decides in a worktree of their own")
	case c.person != "" && !strings.Contains(c.person, "@"):
		return "", usage("--person %s: want a mail address", printable(c.person))
	case c.person != "":
		return c.person, nil
	}
	name, err := c.identity(repo)
	if !fault.Is(err, fault.NoIdentity) {
		return name, err
	}
	if repo.Worktree == "" {
		return "", fault.New(fault.Usage, fault.NoIdentity, "there is no work tree here to name an agent after").
			WithHints(fault.Run("githandoff", "init", "--as", initrepo.SuggestedName(repo)).Because("names it; the name is yours to choose"))
	}
	c.As = initrepo.FreeName(repo)
	return c.As, nil
}

// tellWhatComesNext says which commands come after init, in their order.
func tellWhatComesNext(a *app) {
	type step struct{ run, why string }
	steps := []step{
		{"githandoff setup", "lets the coding agents of this machine find their handoffs"},
		{"githandoff emit --help", "how to hand work over"},
		{"githandoff resume", "takes what waits for this agent"},
	}
	if len(crossrepo.Aliases{Repo: a.repo}.Names()) > 0 {
		steps = slices.Insert(steps, 1, step{"githandoff invite", "prints the line by which another machine joins"})
	}
	a.Say("next:")
	for _, s := range steps {
		a.Say("  %-22s  # %s", s.run, s.why)
	}
}

// needsPrefix tells a fresh clone of its hub's prefix, if it does not look there yet. Without the
// prefix no other clone would look for the key where it would be published.
func needsPrefix(ctx context.Context, a *app) bool {
	hub, prefix := initrepo.MissingPrefix(ctx, a.repo)
	if hub == nil {
		return false
	}
	a.Warn(fmt.Errorf("%s keeps handoffs below %s, where this clone does not look yet", hub.Name, prefix))
	a.Hint(fault.Run("githandoff", "repo", "add", hub.Name, hub.URL.Bare(), "--prefix", prefix).Because("looks there"),
		fault.Run("githandoff", "key", "export", "--to", hub.Name).Because("then publishes this agent's key there"))
	return true
}

// strangerInbox refuses the empty inbox of an unknown name on the command line: the name is
// probably misspelled.
func strangerInbox(a *app, ws *workspace.Workspace) error {
	known, near := sign.NearestAgent(ws.Engine.Keys.Trust, ws.Agent)
	if known || a.As == "" || slices.Contains(workspace.AgentsOfClone(ws.Repo), ws.Agent) || strings.Contains(ws.Agent, "@") {
		return nil
	}
	f := fault.New(fault.NotFound, fault.UnknownAgent, "no agent %s is known here, and no handoff waits for it", ws.Agent)
	if near != "" {
		return f.WithHints(fault.Instead(ws.Agent, near))
	}
	return f.WithHints(fault.Run("githandoff", "trust", "list").Because("lists the trusted names"))
}

// strangePerson refuses the inbox of an unknown person, or of the target of a handoff,
// fixer@origin, as lists show it.
func strangePerson(a *app, ws *workspace.Workspace) error {
	principal := "user:" + ws.Agent
	if slices.ContainsFunc(ws.Engine.Keys.Trust.Entries(), func(e sign.TrustEntry) bool { return slices.Contains(e.Principals, principal) }) {
		return nil
	}
	if _, err := a.keystore().Public(ws.Agent); err == nil {
		return nil
	}
	name, alias, _ := strings.Cut(ws.Agent, "@")
	if slices.Contains(ws.Aliases.Names(), alias) && handoff.CheckAgent(name) == nil {
		return fault.New(fault.NotFound, fault.UnknownAgent, "inbox takes an agent, not a target: %s", printable(ws.Agent)).
			WithHints(fault.Instead(ws.Agent, name))
	}
	f := fault.New(fault.NotFound, fault.UnknownAgent, "no person %s is known here", printable(ws.Agent))
	if known, _ := sign.NearestAgent(ws.Engine.Keys.Trust, name); known || slices.Contains(workspace.AgentsOfClone(ws.Repo), name) {
		return f.WithHints(fault.Instead(ws.Agent, name))
	}
	return f.WithHints(fault.Run("githandoff", "trust", "list").Because("lists the trusted names"))
}

// publishOwn publishes the key of this worktree at the hub of its branch, or says how to.
func publishOwn(ctx context.Context, a *app, first bool) {
	ws, err := a.workspace(ctx, signs)
	if err != nil {
		return
	}
	switch err := initrepo.Publish(ctx, ws, first); {
	case err != nil && first:
		a.Say("its public key is not published at %s; run: githandoff key export --to %s", ws.MainRemote(), ws.MainRemote())
	case err != nil:
		a.Say("its public key could not be brought up to date at %s; run: githandoff key export --to %s", ws.MainRemote(), ws.MainRemote())
	}
}
