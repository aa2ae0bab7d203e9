package cli

import (
	"context"

	"github.com/spf13/pflag"

	"githandoff/internal/app/pushcheck"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/work"
)

type oboCheckCommand struct {
	*app

	pushcheck.Query
	push bool
}

func newOBOCheck(a *app) command {
	c := &oboCheckCommand{app: a}
	return command{
		use:   "check [ID] --scope S...",
		short: "Check whether a held token allows something: exit code 0 or 7",
		long: `Checks whether the token of a held handoff allows every scope that is named: for an
agent's own tools, and for hooks. If it does, nothing is printed. The check uses the
claim, the token and its revocations as this clone knows them; it asks no hub. The exit
code is 7 unless one valid claim allows all of them.

With --push, the scopes are those that a push needs: repo.push of each ref, and
repo.write of each path that its new commits change, under the old name and the new
one. Standard input is then the input that git gives a pre-push hook. This is local
advice; the hub's own hook enforces it (githandoff hook install --server).`,
		example: []string{"githandoff obo check --scope repo.write:go.mod"},
		exits:   []fault.Code{fault.Denied, fault.Invalid, fault.Policy, fault.Unavailable},
		args:    takesID(0, &c.Arg),
		flags: func(f *pflag.FlagSet) {
			f.StringArrayVar(&c.Scopes, "scope", nil, "`ACTION[:TARGET]` to check, such as repo.write:src/a.go")
			f.BoolVar(&c.IfHeld, "if-held", false, "allow everything if no held handoff carries authority")
			f.BoolVar(&c.push, "push", false, "check the push on standard input")
		},
		run: c.run,
	}
}

func (c *oboCheckCommand) run(ctx context.Context) error {
	if len(c.Scopes) == 0 && !c.push {
		return needs(c.app, "obo check", "--scope ACTION[:TARGET] or --push", noID(c.Arg))
	}
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	if c.push {
		c.Push = c.input
	}
	live, scopes, err := c.Ask(ctx, repo, c.live)
	if err != nil || live == nil {
		return err
	}
	row := allowedRow{live.Claim.ID, live.Token.JTI(), scopes, handoff.FormatTime(live.Claim.Lease), handoff.FormatTime(live.Token.Expires())}
	return c.Result(row, func(*output.Lines) {}) // the exit code is the answer
}

func (c *oboCheckCommand) live(ctx context.Context, arg string) (*work.Live, error) {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return nil, err
	}
	return ws.Work().Live(ctx, arg)
}
