package cli

import (
	"context"

	"githandoff/internal/app/agentdoctor"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// checkAgents looks at the coding agents that are set up here, and is silent without one.
func checkAgents(ctx context.Context, d *doctor, repo *refs.Repo) {
	if repo.Bare {
		return // no agent works there
	}
	setup, err := (&setupCommand{app: d.app}).request(ctx, nil)
	if err != nil {
		return // there is no home directory, so no agent of it
	}
	r := &agentdoctor.Request{
		Home: setup.Home, ConfigHome: setup.ConfigHome, Worktree: repo.Worktree, CommonDir: repo.CommonDir,
		Log: repo.OwnWorktree("agent.log"), Binary: setup.Binary, Vars: d.Vars, Getenv: d.Getenv, Now: d.Now(),
		Wrote: setup.Wrote,
		Run: func(ctx context.Context, argv []string) (int, error) {
			return gitexec.Pipe(ctx, setup.Home, d.Vars, argv, nil, nil, nil)
		},
	}
	for _, f := range r.Look(ctx) {
		check := "agents"
		if f.Client != "" {
			check = "agent " + f.Client
		}
		if f.OK {
			d.ok(check, "%s", printable(f.Text))
			continue
		}
		d.problem(check, fault.New(fault.Other, fault.Problem, "%s", printable(f.Text)).WithHints(f.Hint))
	}
}
