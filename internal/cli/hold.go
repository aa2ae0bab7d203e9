package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/app/finish"
	"githandoff/internal/app/hold"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
)

// holdCommand is "hold".
type holdCommand struct {
	*app
	id    string
	argv  []string
	lease time.Duration
}

func newHold(a *app) command {
	c := &holdCommand{app: a}
	return command{
		use:   "hold [ID] [--lease D] -- CMD...",
		short: "Renew the lease of a claim while a command runs",
		long: `Runs a command, and renews the lease of the claim whenever half of it has passed.
Signals go to the command. The exit code is that of the command, or 5 if the command
succeeded but somebody else ended the claim meanwhile. If the hub is down, hold retries
until it is back.`,
		example: []string{
			"githandoff hold -- make integration-test",
			"githandoff hold --lease 2h 7k3m2q -- ./train.sh",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid, fault.Unavailable},
		runs:  true,
		args: func(cmd *cobra.Command, args []string) error {
			at := cmd.ArgsLenAtDash()
			if at < 0 && len(args) > 0 && ownFlags(cmd) == 0 && !slices.Contains(args, "") {
				ids := 0
				if _, err := handoff.ParseID(args[0]); err == nil || strings.HasPrefix(args[0], "…") { // as resume shortens one
					ids = 1
				}
				if rest := args[ids:]; len(rest) > 0 {
					meant := slices.Concat([]string{"githandoff", "hold"}, args[:ids], []string{"--"}, rest)
					return usage("put the command after --").WithHints(fault.Run(meant...), seeHelp(cmd))
				}
			}
			if at < 0 || at == len(args) || at > 1 {
				return usage("hold takes at most one ID, then -- and a command").WithHints(seeHelp(cmd))
			}
			c.argv = args[at:]
			return takesID(0, &c.id)(cmd, args[:at])
		},
		complete: completions{a}.heldIDs,
		flags: func(f *pflag.FlagSet) {
			leaseVar(f, &c.lease, 0, "hold the claim for `DURATION` from each renewal (as before)")
		},
		run: c.run,
	}
}

func (c *holdCommand) run(ctx context.Context) error {
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	h, err := ws.Work().Find(c.id)
	if err != nil {
		return err
	}
	if h == nil || h.Finished() {
		return fault.New(fault.NotFound, fault.NothingHeld, "%s does not hold %s in this worktree", ws.Agent, untrusted.Line(c.id)).
			WithHints(fault.Run("githandoff", "status").Because("lists held handoffs"))
	}
	steps, until := finish.New(ws), h.Lease
	renew := func(ctx context.Context) (time.Time, error) {
		ws.AskAgain() // with each renewal
		renewed, err := steps.Renew(ctx, h, c.lease)
		if err != nil {
			return time.Time{}, err
		}
		h = renewed
		return h.Lease, nil
	}
	if c.lease > 0 || !h.Held() || !c.Now().Before(h.Lease) {
		if until, err = renew(ctx); err != nil {
			return err
		}
	}
	c.patience.Stop()
	handler := &hold.Handler{Renew: renew, Now: c.Now, Wait: refs.Wait, Warn: c.Warn, Lost: c.Fail}
	code, lost, err := handler.Handle(context.WithoutCancel(ctx), until, func(ctx context.Context) (int, error) {
		return gitexec.Pipe(ctx, c.Dir, c.Vars, c.argv, c.Stdin, beneath(c.Stdout), c.Stderr) // the program may need the terminal itself
	})
	switch {
	case err != nil:
		c.Fail(fault.New(fault.Code(code), fault.NoSuchCommand, "%w", err))
		return exitStatus(code)
	case code == 0 && lost != nil: // the loss was reported when it was noticed
		return exitStatus(fault.CodeOf(lost))
	case code != 0:
		return exitStatus(code)
	}
	return nil
}
