package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/app/initrepo"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/team"
	"githandoff/internal/workspace"
)

// name is who is to work in this worktree: the person or agent that was named, or
// the one that works there already, or else an agent named after the worktree.
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
	if !fault.Is(err, fault.NoIdentity) || repo.Worktree == "" {
		return name, err
	}
	base := initrepo.SuggestedName(repo)
	if handoff.CheckAgent(base) != nil {
		return "", err
	}
	others := workspace.AgentsOfClone(repo)
	for name, n := base, 2; ; n++ {
		if !slices.Contains(others, name) {
			c.As = name
			return name, nil
		}
		name = fmt.Sprint(base, "-", n)
	}
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

// needsPrefix tells a fresh clone of its hub's prefix, if the hub keeps handoffs below branches,
// which came with the clone. Without the prefix no other clone would look for the key where it
// would be published.
func needsPrefix(ctx context.Context, a *app) bool {
	aliases := crossrepo.Aliases{Repo: a.repo}
	for _, name := range aliases.Names() {
		al, _, err := aliases.Look(name)
		if err != nil || al.Prefix != "" {
			continue
		}
		homes, err := aliases.CopiedHomes(ctx, name)
		if err != nil || len(homes) == 0 {
			continue
		}
		a.Warn(fmt.Errorf("%s keeps handoffs below %s, where this clone does not look yet", name, homes[0]))
		for _, hint := range a.Pasted(prefixHints(al, homes[0])) {
			a.Hint(hint)
		}
		return true
	}
	return false
}

func prefixHints(hub *crossrepo.Alias, prefix string) []fault.Hint {
	return []fault.Hint{
		fault.Run("githandoff", "repo", "add", hub.Name, hub.URL, "--prefix", prefix).Because("looks there"),
		fault.Run("githandoff", "key", "export", "--to", hub.Name).Because("then publishes this agent's key there"),
	}
}

// strangerInbox refuses an empty inbox of a name that the command line gives and that
// nobody here has: it is more likely misspelled than empty.
func strangerInbox(a *app, d *workspace.Workspace) error {
	known, near := sign.NearestAgent(d.Engine.Keys.Trust, d.Agent)
	if known || a.As == "" || slices.Contains(workspace.AgentsOfClone(d.Repo), d.Agent) || strings.Contains(d.Agent, "@") {
		return nil
	}
	f := fault.New(fault.NotFound, fault.UnknownAgent, "no agent %s is known here, and no handoff waits for it", d.Agent)
	if near != "" {
		return f.WithHints(fault.Instead(d.Agent, near))
	}
	return f.WithHints(fault.Run("githandoff", "trust", "list").Because("lists the trusted names"))
}

// publishTime bounds how long init waits for a hub that it does not need.
const publishTime = 10 * time.Second

// publishOwn puts the key of this worktree at the hub that its branch follows, for
// "trust review" and for advice there. A hub that cannot be reached, or that does not take
// it, is as good: the invitation brings the key as well.
func publishOwn(ctx context.Context, a *app) {
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	d, err := a.desk(ctx, signs)
	if err != nil || d.MainRemote() == "" || d.Repo.Config.Get("handoff.publish") == "false" {
		return
	}
	hub, err := d.Hub(ctx, d.MainRemote())
	if err == nil {
		err = team.New(d).PublishOwn(ctx, hub, d.Engine.Author.Signer.Public())
	}
	if err != nil {
		a.Say("its public key is not published at %s; run: githandoff key export --to %s", d.MainRemote(), d.MainRemote())
	}
}
