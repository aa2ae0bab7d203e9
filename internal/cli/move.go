package cli

import (
	"context"

	"github.com/spf13/cobra"

	"githandoff/internal/app/move"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/screen"
)

// rerouteCommand is "reroute".
type rerouteCommand struct {
	*app
}

func newReroute(a *app) *cobra.Command {
	c := &rerouteCommand{app: a}
	var to, reason string
	var scope []string
	var snap snapshotFlags
	cmd := &cobra.Command{
		Use:   "reroute ID --to TARGET",
		Short: "Send a handoff on to another agent or repository",
		Long: `Ends a handoff where it is and offers a child of it to TARGET: by its source
while nobody holds it, by its holder while it is held. To another repository the
child leaves only when the receipt at the old home is in place.

A snapshot of the sender's work tree goes along as it is; --snapshot sends the state of
this one in its place. Authority goes along, from its holder or from a root key of its
principal.`,
		Args: exactArgs(1, "an ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), move.Request{Arg: args[0], Reason: reason, WithoutWork: snap.without}, to, scope, &snap)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`TARGET`: agent, agent@alias or @alias")
	cmd.Flags().StringVar(&reason, "reason", "", "why, `TEXT`")
	snap.registerCarried(cmd.Flags(), "the snapshot that came along")
	cmd.Flags().StringArrayVar(&scope, "scope", nil, "the part of its authority that goes along, `ACTION[:TARGET]`; repeatable (all)")
	return cmd
}

func (c *rerouteCommand) run(ctx context.Context, request move.Request, to string, scope []string, snap *snapshotFlags) error {
	if err := snap.check(); err != nil {
		return err
	}
	if to == "" {
		return usage("a handoff names the agent that takes it").WithHints(fault.See("reroute").Because("--to names an agent, here or at an alias"))
	}
	if err := screen.Text("reason", request.Reason); err != nil {
		return err
	}
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	target := &handoff.Envelope{}
	home, err := senderOf(c.app, d).Address(ctx, to, target)
	if err != nil {
		return err
	}
	request.Agent, request.Home = target.Target.Agent, home
	if len(scope) > 0 {
		request.Authority = &lifecycle.Authority{Scope: scope}
	}
	if snap.take {
		request.Snapshot = snap.taker(c.app, d)
	}
	if request.Agent != nil {
		adviseTarget(c.app, d, *request.Agent)
	}
	done, err := move.New(d).Reroute(ctx, request)
	return printMoved(c.app, done, err)
}

// printMoved prints where work goes on, also if it could not be delivered yet.
func printMoved(a *app, done *receipt.Result, err error) error {
	if done != nil && done.State != nil && done.State.Receipt != nil {
		r := rowOf(done.State.Receipt, string(done.State.Receipt.Event))
		r.Commit = done.State.LaneTip
		a.Row(r, "%s", done.Next)
	}
	return err
}

// revokeCommand is "revoke".
type revokeCommand struct {
	*app
}

func newRevoke(a *app) *cobra.Command {
	c := &revokeCommand{app: a}
	var reason string
	var force bool
	cmd := &cobra.Command{
		Use:   "revoke ID",
		Short: "Withdraw a handoff: its source while nobody holds it, a root key always",
		Args:  exactArgs(1, "an ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.run(cmd.Context(), args[0], reason, force)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, `TEXT`; stays in the log")
	cmd.Flags().BoolVar(&force, "force", false, "although a key that is not trusted here says that it ended")
	return cmd
}

func (c *revokeCommand) run(ctx context.Context, arg, reason string, force bool) error {
	results := receipt.Results{}
	if reason != "" {
		results["error"] = reason
	}
	if err := screen.Map("result", results); err != nil {
		return err
	}
	data, err := results.Encode()
	if err != nil {
		return err
	}
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	s, err := move.New(d).Revoke(ctx, arg, data, force)
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
