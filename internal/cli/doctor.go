package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/agentdoctor"
	"githandoff/internal/app/doctor"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
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
throw-away refs, which nobody takes for a handoff, and doctor reads them back, moves them
and deletes them. If a hub refuses, doctor names the setting that has to change.

--fix removes stale locks of a crashed git that are in the way of handoffs (those of their
refs, packed-refs, the notes, the configuration and unfinished worktrees, not of branches
or the index): at least 10 seconds old, and open in no process. On systems other than
Linux, doctor cannot see open files, and age alone decides. --fix also adds the refspec
that protects handoffs from "git fetch --prune" where it is needed, and removes it
everywhere else. From the hubs it fetches the objects that this clone lost, or whose files
a power cut left empty: those of handoffs, notes and published keys. For what no hub has,
doctor names the command that ends the failures.`,
		example: []string{
			"githandoff doctor",
			"githandoff doctor origin",
			"githandoff doctor --fix",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied},
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.fix, "fix", false, "remove stale locks of a crashed git, repair refspecs, fetch lost objects")
		},
		args: takesNames(&c.hubs),
		run:  c.run,
	}
}

// finding is the JSON object of a check. Its members are stable.
type finding struct {
	Check   string `json:"check"`          // what was checked
	Status  string `json:"status"`         // ok, fixed, problem
	Message string `json:"message"`        // one line for people
	Hint    string `json:"hint,omitempty"` // first of the hints, as a line

	Hints []fault.Hint `json:"hints,omitempty"` // how to solve the problem, as in an error
}

// doctorCommand is "doctor".
type doctorCommand struct {
	*app
	hubs []string
	fix  bool
}

func (c *doctorCommand) run(ctx context.Context) error {
	h := &doctor.Handler{
		Now: c.Now(), Random: c.Random, Vars: c.Vars, Dirs: c.ownDirs(), Open: c.openRepo, Agent: c.identity, Trust: c.loadTrust,
		Signer: func(ctx context.Context, repo *refs.Repo, agent string) (sign.Signer, error) {
			return sign.OpenSigner(ctx, c.signerOptions(ctx, repo, agent))
		},
		SetAside:  c.keystore().SetAside,
		Workspace: func(ctx context.Context) (*workspace.Workspace, error) { return c.workspace(ctx, reads) },
		Agents:    c.agents,
	}
	return h.Run(ctx, doctor.Request{Fix: c.fix, Hubs: c.hubs}, c.print)
}

func (c *doctorCommand) print(found doctor.Finding) {
	f := finding{Check: found.Check, Status: string(found.Status), Message: found.Message, Hints: c.Pasted(found.Hints)}
	f.Hint = output.First(f.Hints)
	c.Result(f, func(t *output.Lines) {
		text := output.Hang(fmt.Sprintf("%-8s %-12s ", f.Status, f.Check), untrusted.Line(f.Message), columnsOf(c.Stdout))
		for line := range strings.SplitSeq(text, "\n") {
			t.Line("%s", line)
		}
		for _, h := range f.Hints {
			t.Line("%-8s %-12s hint: %s", "", "", h.String())
		}
	})
}

// agents checks the coding agents of a worktree. Without any it finds nothing.
func (c *doctorCommand) agents(ctx context.Context, repo *refs.Repo) []doctor.Finding {
	if repo.Bare {
		return nil // no agent works in a bare repository
	}
	a := c.app
	setup, err := (&setupCommand{app: a}).request(ctx)
	switch f := fault.As(err); {
	case fault.Is(err, fault.NoHome):
		return nil // without a home directory, no agent is set up in one
	case f != nil:
		return []doctor.Finding{{Check: "agents", Status: doctor.Problem, Message: untrusted.Line(f.Message), Hints: f.Hints}}
	case err != nil:
		return nil
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
		found := doctor.Finding{Check: "agents", Status: doctor.OK, Message: untrusted.Line(f.Text)}
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
