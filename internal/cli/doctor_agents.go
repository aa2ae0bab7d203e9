package cli

import (
	"context"

	"githandoff/internal/app/agentdoctor"
	"githandoff/internal/app/doctor"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// Agents implements doctor.Setup: it finds nothing where no agent is set up.
func (s doctorSetup) Agents(ctx context.Context, repo *refs.Repo) []doctor.Finding {
	if repo.Bare {
		return nil // no agent works there
	}
	a := s.app
	setup, err := (&setupCommand{app: a}).request(ctx)
	if err != nil {
		return nil // there is no home directory, so no agent of it
	}
	r := &agentdoctor.Request{
		Home: setup.Home, ConfigHome: setup.ConfigHome, Worktree: repo.Worktree, CommonDir: repo.CommonDir,
		Log: repo.OwnWorktree("agent.log"), Binary: setup.Binary, Vars: a.Vars, Getenv: a.Getenv, Now: a.Now(),
		Wrote: setup.Wrote,
		Run: func(ctx context.Context, argv []string) (int, error) {
			return gitexec.Pipe(ctx, setup.Home, a.Vars, argv, nil, nil, nil)
		},
	}
	var all []doctor.Finding
	for _, f := range r.Look(ctx) {
		found := doctor.Finding{Check: "agents", Status: doctor.OK, Message: printable(f.Text)}
		if f.Client != "" {
			found.Check = "agent " + f.Client
		}
		if !f.OK {
			found.Status, found.Hints = doctor.Problem, []fault.Hint{f.Hint}
		}
		all = append(all, found)
	}
	return all
}
