package cli

import (
	"context"

	"github.com/spf13/pflag"

	"githandoff/internal/app/agentdoctor"
	"githandoff/internal/app/doctor"
	"githandoff/internal/app/workcopy"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/team"
)

func newDoctor(a *app) command {
	c := &doctorCommand{app: a}
	return command{
		use:   "doctor [HUB…] [--fix]",
		short: "Look for problems: set-up, locks, broken refs, hubs that refuse",
		long: `Checks this repository, its settings, your key and each hub. It prints one line per
check, and a hint for each problem. It asks hubs with a dry run, which changes nothing
there. It also checks the coding agents that are set up: whether their hooks run, once
each, and whether their shell finds githandoff.

If you name hubs, it tests what each of them accepts: one atomic push makes two
throw-away refs below refs/handoffs/doctor/, and doctor reads them back, moves them and
deletes them. If a hub refuses, doctor names the setting that has to change.

--fix removes stale locks of a crashed git: at least 10 seconds old, and open in no
process. On systems other than Linux, doctor cannot see open files, and age alone
decides. --fix also adds the refspec that protects handoffs from "git fetch --prune"
where it is needed, and removes it everywhere else.`,
		example: []string{
			"githandoff doctor",
			"githandoff doctor origin",
			"githandoff doctor --fix",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied},
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.fix, "fix", false, "remove stale locks of a crashed git, and repair refspecs")
		},
		args: takesAny(&c.hubs),
		run:  c.run,
	}
}

// finding is the object that --json prints for a check. Its members are stable.
type finding struct {
	Check   string `json:"check"`          // what was looked at
	Status  string `json:"status"`         // ok, fixed, problem
	Message string `json:"message"`        // one line for people
	Hint    string `json:"hint,omitempty"` // the first of the hints, as a line

	Hints []fault.Hint `json:"hints,omitempty"` // commands that mend it, as in an error
}

// doctorCommand is "doctor".
type doctorCommand struct {
	*app
	hubs []string
	fix  bool
}

func (c *doctorCommand) run(ctx context.Context) error {
	h := &doctor.Handler{Setup: doctorSetup{c.app}, Now: c.Now(), Random: c.Random}
	return h.Run(ctx, doctor.Request{Fix: c.fix, Hubs: c.hubs}, c.print)
}

func (c *doctorCommand) print(found doctor.Finding) {
	f := finding{Check: found.Check, Status: string(found.Status), Message: found.Message, Hints: c.Pasted(found.Hints)}
	if len(f.Hints) > 0 {
		f.Hint = output.First(f.Hints)
	}
	c.Result(f, func(t *output.Lines) {
		t.Line("%-8s %-12s %s", f.Status, f.Check, f.Message)
		for _, h := range f.Hints {
			t.Line("%-8s %-12s hint: %s", "", "", h.String())
		}
	})
}

// doctorSetup implements doctor.Setup.
type doctorSetup struct{ app *app }

// Repo implements doctor.Setup.
func (s doctorSetup) Repo(ctx context.Context) (*refs.Repo, error) { return s.app.openRepo(ctx) }

// GitVersion implements doctor.Setup.
func (s doctorSetup) GitVersion(ctx context.Context) (string, error) {
	return gitexec.Installed(ctx, s.app.Vars)
}

// Agent implements doctor.Setup.
func (s doctorSetup) Agent(repo *refs.Repo) (string, error) { return s.app.identity(repo) }

// Trust implements doctor.Setup.
func (s doctorSetup) Trust(repo *refs.Repo) (*sign.Trust, error) { return s.app.loadTrust(repo) }

// Signer implements doctor.Setup.
func (s doctorSetup) Signer(ctx context.Context, repo *refs.Repo, agent string) (sign.Signer, error) {
	return sign.OpenSigner(ctx, s.app.signerOptions(repo, agent))
}

// Unpinned implements doctor.Setup.
func (s doctorSetup) Unpinned(ctx context.Context) ([]sign.PublicKey, error) {
	d, err := s.app.desk(ctx, reads)
	if err != nil {
		return nil, nil //nolint:nilerr // another check reports it
	}
	return team.New(d).Unpinned(ctx)
}

// TempFiles implements doctor.Setup.
func (s doctorSetup) TempFiles(ctx context.Context, repo *refs.Repo) ([]string, error) {
	return leftovers(ctx, s.app, repo)
}

// Copies implements doctor.Setup.
func (s doctorSetup) Copies(repo *refs.Repo) doctor.Copies { return &workcopy.Handler{Repo: repo} }

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
