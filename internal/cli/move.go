package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"githandoff/internal/app/move"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
	"githandoff/internal/receipt"
	"githandoff/internal/screen"
)

// rerouteCommand is "reroute".
type rerouteCommand struct {
	*app
	move.Request
	to    string
	scope []string
	snap  snapshotFlags
}

func newReroute(a *app) command {
	c := &rerouteCommand{app: a}
	return command{
		use:     "reroute [ID] --to TARGET",
		suggest: []string{"forward", "delegate", "reassign", "move", "mv"},
		short:   "Send a handoff on to another agent or repository",
		long: `Ends a handoff at its home and offers a child of it to TARGET. While nobody holds the
handoff, its source can reroute it; while it is held, its holder can. A child for
another repository leaves only when the receipt at the old home is in place.

A snapshot of the sender's work tree goes along unchanged; --snapshot replaces it with
the state of this work tree. Authority goes along if the holder reroutes, or a root key
of its principal.`,
		example:  []string{"githandoff reroute 7k3m2q --to reviewer@origin"},
		args:     takesID(0, &c.Arg),
		complete: completions{a}.openIDs,
		flags: func(f *pflag.FlagSet) {
			targetVar(f, &c.to, "send it to `TARGET`: agent, agent@alias or @alias")
			paragraphsVar(f, &c.Reason, "reason", "give the reason in `TEXT`")
			c.snap.registerCarried(f)
			f.StringArrayVar(&c.scope, "scope", nil, "pass on only `ACTION[:TARGET]` of its authority; repeatable (all)")
		},
		oneOf: [][]string{snapshotGroup()},
		run:   c.run,
	}
}

func (c *rerouteCommand) run(ctx context.Context) error {
	c.WithoutWork = c.snap.without
	if c.to == "" {
		word := noID(c.Arg)
		if _, _, err := handoff.ParseTarget(word); err != nil {
			word = ""
		}
		return needs(c.app, "reroute", "--to TARGET", word)
	}
	if err := screen.Text("reason", c.Reason); err != nil {
		return err
	}
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	target := &handoff.Envelope{}
	sender := senderOf(c.app, ws)
	home, err := sender.Address(ctx, c.to, false, target)
	if err != nil {
		return err
	}
	c.Agent, c.Home = target.Target.Agent, home
	if len(c.scope) > 0 {
		c.Authority = &lifecycle.Authority{Scope: c.scope}
	}
	for _, scope := range c.scope {
		if err := obo.Doubt(scope); err != nil {
			c.Warn(fmt.Errorf("--scope %w", err))
		}
	}
	if c.snap.take {
		c.Snapshot = c.snap.taker(ws)
	}
	done, err := move.New(ws).Reroute(ctx, c.Request)
	if c.Agent != nil && moved(done) {
		sender.AdviseReceiver(ctx, *c.Agent, ws.AliasOf(home))
	}
	return printMoved(c.app, done, err)
}

// moved reports whether the work goes on elsewhere.
func moved(done *receipt.Result) bool {
	return done != nil && done.State != nil && done.State.Receipt != nil
}

// printMoved prints where work goes on, also if it could not be delivered yet.
func printMoved(a *app, done *receipt.Result, err error) error {
	if moved(done) {
		r := rowOf(done.State.Receipt, string(done.State.Receipt.Event))
		r.Commit = done.State.LaneTip
		a.Row(r, "%s", done.Next)
	}
	return err
}

// revokeCommand is "revoke".
type revokeCommand struct {
	*app
	id, reason string
	force      bool
}

func newRevoke(a *app) command {
	c := &revokeCommand{app: a}
	return command{
		use:     "revoke ID",
		suggest: []string{"cancel", "withdraw", "undo", "delete", "rm"},
		short:   "Withdraw a handoff: its source while nobody holds it, a root key at any time",
		long: `Withdraws a handoff: its source while nobody holds it, a root key at any time. It asks the
hub, even for a handoff that still waits here for delivery, because a part of the push may
have arrived. If that hub never existed, such as after a typing error, the handoff waits
until it expires: "githandoff gc --expired" deletes it then, if no alias names that hub
any more ("githandoff repo remove ALIAS").`,
		example:  []string{"githandoff revoke 7k3m2q --reason 'not needed any more'"},
		args:     takesID(1, &c.id),
		complete: completions{a}.openIDs,
		flags: func(f *pflag.FlagSet) {
			paragraphsVar(f, &c.reason, "reason", "give the reason in `TEXT`; stays in the log")
			f.BoolVar(&c.force, "force", false, "revoke it although a key that is not trusted here holds it or logged its end")
		},
		run: c.run,
	}
}

func (c *revokeCommand) run(ctx context.Context) error {
	results := receipt.Results{}
	if c.reason != "" {
		results["error"] = c.reason
	}
	data, err := results.Screened()
	if err != nil {
		return err
	}
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	s, err := move.New(ws).Revoke(ctx, c.id, data, c.force)
	if err != nil {
		return err
	}
	r := row{ID: s.ID, State: "revoked"}
	if s.Receipt != nil {
		r = rowOf(s.Receipt, string(s.Receipt.Event))
		r.Commit = s.LaneTip
	}
	return c.Row(r, "revoked %s", s.ID)
}
