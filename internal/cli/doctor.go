package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"githandoff/internal/app/workcopy"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

func newDoctor(a *app) *cobra.Command {
	d := &doctor{app: a}
	cmd := &cobra.Command{
		Use:   "doctor [HUB…] [--fix]",
		Short: "Look for what is wrong: set-up, locks, broken refs, hubs that refuse",
		Long: `Checks this repository, its settings, your key and each hub, and says of each
thing on one line whether it is well, and if not, what mends it. Hubs are asked
with a dry run: nothing is changed there. Coding agents are looked at where they
are set up: whether their hooks run, once, and their shell finds githandoff.

With aliases of hubs, it tries what each of them takes, by doing it: two throw-away
refs below refs/handoffs/doctor/ are made in one atomic push, read back, moved and
deleted. A hub that refuses is told with the setting that stands in the way.

--fix removes locks that a dead git left: 10 seconds old, and open in no process.
Where open files cannot be looked at (only Linux shows them), age alone decides. It
also puts the refspec that keeps git fetch --prune off the handoffs where it is
needed, and nowhere else.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return tryHubs(cmd.Context(), d, args)
			}
			return d.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&d.fix, "fix", false, "remove locks that a dead git left, and mend refspecs")
	return cmd
}

// finding is the object that --json prints for a check. Its members are stable.
type finding struct {
	Check   string `json:"check"`          // what was looked at
	Status  string `json:"status"`         // ok, fixed, problem
	Message string `json:"message"`        // one line for people
	Hint    string `json:"hint,omitempty"` // the first of the hints, as a line

	Hints []fault.Hint `json:"hints,omitempty"` // commands that mend it, as in an error
}

// doctor goes through the checks. None of them ends the others.
type doctor struct {
	*app
	fix      bool
	problems int
}

func (d *doctor) run(ctx context.Context) error {
	d.checkGit(ctx)
	repo, err := d.openRepo(ctx)
	if err != nil {
		d.problem("repository", err)
		return d.verdict()
	}
	d.checkRepository(repo)
	d.checkIdentity(ctx, repo)
	d.checkPublished(ctx)
	d.checkRemotes(ctx, repo)
	d.checkNotes(repo)
	d.checkHooks(ctx, repo)
	checkAgents(ctx, d, repo)
	d.checkLocks(repo)
	d.checkRefs(ctx, repo)
	d.checkLeftovers(repo)
	d.checkWaiting(ctx, repo)
	d.checkHubs(ctx, repo)
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.verdict()
}

func (d *doctor) verdict() error {
	if d.problems == 0 {
		return nil
	}
	return fault.New(fault.Other, fault.ProblemsFound, "%s found", fault.Count(d.problems, "problem"))
}

func (d *doctor) report(f finding) {
	d.Result(f, func(t *output.Lines) {
		t.Line("%-8s %-12s %s", f.Status, f.Check, f.Message)
		for _, h := range f.Hints {
			t.Line("%-8s %-12s hint: %s", "", "", h.String())
		}
	})
}

func (d *doctor) ok(check, format string, args ...any) {
	d.report(finding{Check: check, Status: "ok", Message: fmt.Sprintf(format, args...)})
}

func (d *doctor) problem(check string, err error) {
	d.problems++
	f := finding{Check: check, Status: "problem", Message: err.Error()}
	if e := fault.As(err); e != nil {
		f.Hints = d.Pasted(e.Hints)
		f.Hint = output.First(f.Hints)
	}
	d.report(f)
}

// wrong is a problem with the command that mends it.
func (d *doctor) wrong(check string, mends fault.Hint, format string, args ...any) {
	d.problem(check, fault.New(fault.Other, fault.Problem, format, args...).WithHints(mends))
}

func (d *doctor) checkLocks(repo *refs.Repo) {
	// A lock of an index is the user's, but where a checkout of ours was cut off.
	locks, err := repo.Locks.List(d.Now(), (&workcopy.Handler{Repo: repo}).Files()...)
	if err != nil {
		d.problem("locks", err)
		return
	}
	for _, l := range locks {
		d.lock(l)
	}
	if len(locks) == 0 {
		d.ok("locks", "none")
	}
}

func (d *doctor) lock(l refs.Lock) {
	age := output.Span(max(l.Age, time.Second))
	how := "no process has it open"
	if !l.Looked {
		how = "open files cannot be looked at here"
	}
	switch {
	case l.Holder != 0:
		d.ok("locks", "%s is held by process %d, for %s", l.Path, l.Holder, age)
	case l.Age < time.Second:
		d.ok("locks", "%s was taken just now", l.Path)
	case l.Foreign:
		d.wrong("locks", fault.Fact("its owner can remove it with githandoff doctor --fix"), "%s belongs to another user, for %s", l.Path, age)
	case !l.Dead():
		d.wrong("locks", fault.Run("githandoff", "doctor", "--fix").Because("removes it once it is 10 seconds old"), "%s is %s old: %s", l.Path, age, how)
	case !d.fix:
		d.wrong("locks", fault.Run("githandoff", "doctor", "--fix").Because("removes it"), "%s was left by a dead git %s ago: %s", l.Path, age, how)
	default:
		if err := l.Break(); err != nil {
			d.problem("locks", err)
			return
		}
		d.report(finding{Check: "locks", Status: "fixed", Message: fmt.Sprintf("removed %s, %s old: %s", l.Path, age, how)})
	}
}

func (d *doctor) checkRefs(ctx context.Context, repo *refs.Repo) {
	broken, err := refs.Broken(ctx, repo)
	if err != nil {
		d.problem("refs", err)
		return
	}
	for _, name := range broken {
		d.wrong("refs", fault.Fact("restore its object from a copy of the repository; if a hub has it, githandoff sync fetches it"),
			"%s points to a missing object (%s)", name, repo.CommonDir+"/"+name)
	}
	if len(broken) == 0 {
		d.ok("refs", "none is broken")
	}
}
