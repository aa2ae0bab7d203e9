package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/app/emit"
	"githandoff/internal/app/finish"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

type finishCommand struct {
	*app

	id                       string
	summary, reason, message string
	results, deliverables    []string
	lease                    time.Duration
	force                    bool
	snap                     snapshotFlags
}

func newAck(a *app) command {
	c := &finishCommand{app: a}
	return command{
		use:     "ack [ID]",
		suggest: []string{"done", "complete", "finish", "close"},
		short:   "Acknowledge a handoff: the work is done, its content is deleted",
		long: `Writes the receipt and deletes the handoff at its home, in one transaction. Only the
holder can. The result "commit" is HEAD by default. Running it again with the ID succeeds
and says so. If the hub is down, the step is queued (exit 8) and "githandoff sync" sends it.

With --snapshot, the sender first gets a handoff of its own with the state of this work
tree, at the same home. The result "follow_up" of the receipt is the id of that handoff.`,
		example:  []string{"githandoff ack --summary 'sessions are renewed' --result pr=17"},
		brief:    []string{"summary", "result", "snapshot"},
		args:     takesIDNotWords(&c.id),
		complete: completions{a}.heldIDs,
		flags: func(f *pflag.FlagSet) {
			paragraphsVar(f, &c.summary, "summary", "say in `TEXT` what was done; stays in the log")
			f.StringArrayVar(&c.results, "result", nil, "add the result `K=V`; stays in the log; repeatable")
			f.StringArrayVar(&c.deliverables, "deliverable", nil, "name in `TEXT` what was delivered; repeatable")
			f.BoolVar(&c.snap.take, "snapshot", false, "send the state of this work tree to the sender")
			f.StringArrayVar(&c.snap.allow, "allow-path", nil, "include `PATH` in the snapshot although the content policy refuses it; repeatable")
		},
		run: func(ctx context.Context) error { return c.run(ctx, record.Acknowledged) },
	}
}

func newFail(a *app) command {
	c := &finishCommand{app: a}
	return command{
		use:     "fail [ID] --reason TEXT",
		suggest: []string{"abort", "reject"},
		short:   "End a handoff without success, and return it to the agent named by its sender",
		long: `Writes the receipt "failed". If the sender named an agent for this case
(rollback.on_failure), that agent is offered a return handoff with the reason and the
checkpoint, in the same transaction. Without a claim, the command rejects the offer. A
snapshot goes back with the return handoff; --snapshot replaces it with the state of
this work tree.`,
		example:  []string{"githandoff fail --reason 'the database is read-only here'"},
		args:     takesIDNotWords(&c.id),
		complete: completions{a}.heldIDs,
		flags: func(f *pflag.FlagSet) {
			paragraphsVar(f, &c.reason, "reason", "give the reason in `TEXT`; stays in the log")
			f.StringArrayVar(&c.results, "result", nil, "add the result `K=V`; stays in the log; repeatable")
			c.snap.registerCarried(f)
		},
		oneOf: [][]string{snapshotGroup()},
		run:   func(ctx context.Context) error { return c.run(ctx, record.Failed) },
	}
}

func newProgress(a *app) command {
	c := &finishCommand{app: a}
	return command{
		use:      "progress [ID] [-m TEXT]",
		short:    "Renew the lease of a claim, and report progress",
		example:  []string{"githandoff progress -m 'the test fails as it should'"},
		args:     takesIDNotWords(&c.id),
		complete: completions{a}.heldIDs,
		flags: func(f *pflag.FlagSet) {
			paragraphsVar(f, &c.message, "message", "say in `TEXT` how far the work is; stays in the log")
			leaseVar(f, &c.lease, 0, "hold the claim for `DURATION` from now (as before)")
		},
		run: func(ctx context.Context) error { return c.run(ctx, record.Progressed) },
	}
}

func newRelease(a *app) command {
	c := &finishCommand{app: a}
	return command{
		use:     "release [ID]",
		suggest: []string{"abort", "drop", "return"},
		short:   "Give a claim back, so that another agent can take the handoff",
		example: []string{
			"githandoff release",
			"githandoff release --force 7k3m2q",
		},
		args:     takesID(0, &c.id),
		complete: completions{a}.heldIDs,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.force, "force", false, "break the claim of another agent; for the source and root keys")
		},
		run: func(ctx context.Context) error {
			if c.force {
				return c.breakClaim(ctx)
			}
			return c.run(ctx, record.Released)
		},
	}
}

// run takes one step of a holder.
func (c *finishCommand) run(ctx context.Context, event record.Event) error {
	if err := c.checkID(event); err != nil {
		return err
	}
	data, reason, err := c.data(event)
	if err != nil {
		return err
	}
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	h := finish.New(ws)
	switch {
	case c.snap.take && event == record.Acknowledged:
		h.Reply = c.reply(ws)
	case c.snap.take:
		h.Snapshot = c.snap.taker(ws)
	}
	done, err := h.Handle(ctx, finish.Request{
		Arg: c.id, Summary: c.summary, Step: work.Step{Event: event, Data: data, Reason: reason, Lease: c.lease, WithoutWork: c.snap.without},
	})
	if err != nil {
		return err
	}
	return c.print(done, event)
}

// takesIDNotWords binds an id. Words that a shell split stay together, for checkID.
func takesIDNotWords(to *string) cobra.PositionalArgs {
	one := takesID(0, to)
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 && handoff.CheckSuffix(handoff.Typed(args[0])) != nil {
			args = []string{strings.Join(args, " ")}
		}
		return one(cmd, args)
	}
}

// checkID refuses words in the place of an id, with the command that takes them.
func (c *finishCommand) checkID(event record.Event) error {
	err := handoff.CheckSuffix(c.id)
	if err == nil || c.id == "" {
		return nil
	}
	f := fault.New(fault.Usage, fault.InvalidID, "%w", err)
	words := strings.ContainsRune(c.id, ' ')
	switch {
	case event == record.Progressed && c.message == "":
		return f.WithHints(fault.Run("githandoff", "progress", "-m", c.id).Because("reports progress"))
	case event == record.Acknowledged && words && c.summary == "":
		return f.WithHints(fault.Run("githandoff", "ack", "--summary", c.id).Because("ends the held handoff, done"))
	case event == record.Failed && words && c.reason == "":
		return f.WithHints(fault.Run("githandoff", "fail", "--reason", c.id).Because("ends the held handoff, not done"))
	}
	return nil
}

// reply sends the state of this work tree. If its hub is down the handoff is queued, as the
// receipt will be.
func (c *finishCommand) reply(ws *workspace.Workspace) func(context.Context, *finish.Reply) error {
	send := senderOf(c.app, ws)
	send.Snapshot = c.snap.taker(ws)
	return func(ctx context.Context, r *finish.Reply) error {
		done, err := send.Send(ctx, r.Draft, &emit.Options{
			To: r.To, Here: true, ID: r.ID, Parent: string(r.Parent), Seal: r.Seal, Wanted: emit.Wanted{None: true},
		})
		if done != nil && fault.CodeOf(err) == fault.Unavailable {
			c.Warn(err)
			return nil
		}
		return err
	}
}

func (c *finishCommand) print(done *receipt.Result, event record.Event) error {
	s := done.State
	r := rowOf(s.Last(), string(s.Phase()))
	if s.Receipt != nil {
		r.State = string(s.Receipt.Event)
		r.Results = receipt.DecodeResults(s.Receipt.Data)
	}
	r.Commit, r.Next = s.LaneTip, done.Next
	switch {
	case done.Repeated && s.Receipt != nil:
		return c.Row(r, "%s already %s at %s", s.ID, event, handoff.FormatTime(s.Receipt.At))
	case done.Next != "":
		return c.Row(r, "%s %s; %s goes back", event, s.ID, done.Next)
	case event == record.Progressed:
		return c.Row(r, "%s %s, held until %s", event, s.ID, handoff.FormatTime(s.Lease))
	}
	return c.Row(r, "%s %s", event, s.ID)
}

// data collects the values of Handoff-Data and screens them like an envelope.
func (c *finishCommand) data(event record.Event) (data, reason string, err error) {
	r := receipt.Results{}
	for _, kv := range c.results {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return "", "", usage("%s %s: want K=V", flagFor(c.app, "result"), untrusted.Line(kv))
		}
		if _, twice := r[k]; twice {
			return "", "", usage("%s %s: given twice", flagFor(c.app, "result"), untrusted.Line(k))
		}
		if event == record.Acknowledged && k == "commit" && v == "HEAD" {
			continue // the receipt names the commit by its object id anyway
		}
		r[k] = v
	}
	if len(c.deliverables) > 0 {
		r["deliverables"] = strings.Join(c.deliverables, "; ")
	}
	for key, flag := range map[string]string{"summary": c.summary, "error": c.reason, "progress": c.message} {
		if flag == "" {
			continue
		}
		if _, twice := r[key]; twice {
			return "", "", usage("%s %s: another flag sets it", flagFor(c.app, "result"), key)
		}
		r[key] = flag
	}
	if event == record.Failed && r["error"] == "" {
		return "", "", needs(c.app, "fail", "--reason TEXT", noID(c.id))
	}
	data, err = r.Screened()
	return data, r["error"], err
}

func (c *finishCommand) breakClaim(ctx context.Context) error {
	if c.id == "" {
		return usage("release --force needs an ID")
	}
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	done, err := finish.New(ws).Break(ctx, c.id)
	if err != nil {
		return err
	}
	return c.print(done, record.Released)
}
