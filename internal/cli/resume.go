package cli

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"githandoff/internal/app/export"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/join"
	"githandoff/internal/app/take"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/work"
	"githandoff/internal/workcopy"
	"githandoff/internal/workspace"
)

type resumeCommand struct {
	*app

	id                 string
	format             string
	lease, wait        time.Duration
	peek, ack, expired bool
	next               bool
	part               partFlags
	copyFlags
	restore *workcopy.Restoring
}

func newResume(a *app) command {
	c := &resumeCommand{app: a}
	return command{
		use:     "resume [ID]",
		suggest: []string{"take", "claim", "next", "accept"},
		short:   "Take a handoff waiting for this agent, exactly once",
		long: `Claims a handoff for this agent and prints it as a prompt. The claim is a lease: work,
then run "githandoff ack" or "githandoff fail". A handoff that cannot be printed as
asked, in --format or with --data KEY, is not claimed.

Without an ID, resume shows again the handoff that this worktree holds, and renews its
lease if it ran out and may still be renewed. If nothing is held, or with --next
or --ack, it takes the oldest one, or one of the oldest if others take from the same
inbox. It looks in this repository and at the aliases in handoff.pull (origin, or the
only remote). It also looks at each hub where a handoff that this clone sent has no
receipt yet, or where one waited for this agent at the last look.

If the handoff has a snapshot, --worktree makes a linked worktree beside this one, or at
--worktree=DIR, on the new branch handoff/<end of the id> at the sender's HEAD, with the
sender's index and changes. The claim belongs to that worktree: work and acknowledge
there. --here does the same in this work tree, if it is clean and no file in it would be
lost.`,
		example: []string{
			"githandoff resume",
			"githandoff resume --wait 10m",
			"githandoff resume 7k3m2q --worktree",
		},
		brief:    []string{"wait", "next", "peek", "lease"},
		args:     takesID(0, &c.id),
		complete: completions{a}.openIDs,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.format, "format", promptFormat, "print it in this `FORMAT`: prompt, or one of \"githandoff help formats\"")
			leaseVar(f, &c.lease, lifecycle.DefaultLease, "hold the claim for `DURATION`, at most 24h")
			f.BoolVar(&c.peek, "peek", false, "show it without claiming it")
			spanVar(f, &c.wait, "wait", 0, "wait up to `DURATION` for a handoff")
			f.BoolVar(&c.next, "next", false, "take a handoff other than the held one")
			f.BoolVar(&c.ack, "ack", false, "acknowledge it at once")
			f.BoolVar(&c.expired, "allow-expired", false, "take it although it has expired")
			c.part.register(f)
			c.copyFlags.register(f)
		},
		oneOf: [][]string{partGroup(), {"peek", "ack", "worktree", "here"}},
		run:   c.run,
	}
}

func (c *resumeCommand) run(ctx context.Context) error {
	if c.next && c.id != "" {
		return usage("--next takes no ID")
	}
	if err := c.copyFlags.check(c.id); err != nil {
		return err
	}
	if c.format != promptFormat {
		if err := checkFormat(c.format, promptFormat); err != nil {
			return err
		}
	}
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	if c.restore, err = c.copyFlags.begin(ws, c.Dir); err != nil {
		return err
	}
	defer c.restore.Close(ctx)
	g, err := take.New(ws).Await(ctx, take.Request{
		Arg: c.id, Next: c.next || c.ack, Lease: c.lease, Peek: c.peek, AllowExpired: c.expired,
		Fits:  func(v *lifecycle.Verified) error { return c.fits(ctx, v) },
		Again: func(refusal error) bool { return c.senderJoined(ctx, ws, refusal) },
	}, c.Now().Add(c.wait))
	if err != nil {
		return err
	}
	if g.Again && c.id == "" {
		another := commandFor(c.app, "resume", "--next")
		if another != "" {
			another += " takes another one"
		}
		c.Say("githandoff: this worktree holds it already%s", inBrackets(another))
	}
	made, claims, err := c.restore.Restore(ctx, g.Verified)
	if err == nil {
		err = c.print(ws, g, made)
	}
	if err != nil {
		g.Abandon()
		return err
	}
	if err := g.Printed(ctx, claims); err != nil {
		return err
	}
	if made != nil {
		if err := c.restore.Forget(); err != nil {
			return err
		}
	}
	if c.ack {
		_, err = finish.New(ws).Take(ctx, g.Claim, work.Step{
			Event: record.Acknowledged, Nonce: g.Claim.Nonce, At: c.Now().UTC(),
		})
	}
	return err
}

// senderJoined pins, after the refusal of a handoff, the keys of those who have accepted invitations of this clone:
// its sender may be one of them. It reports whether there are any.
func (c *resumeCommand) senderJoined(ctx context.Context, ws *workspace.Workspace, refusal error) (joined bool) {
	if !fault.Is(refusal, fault.Refused) && !fault.Is(refusal, fault.UntrustedKey) {
		return false
	}
	if err := join.New(ws).Finish(ctx, nil, func(one join.Joined, listed bool) {
		c.joined(one, listed)
		joined = true
	}); err != nil {
		ws.Warn(err)
	}
	return joined
}

const promptFormat = "prompt" // format of resume if none is named

// fits refuses a handoff which cannot be printed or checked out as asked, before it is claimed.
func (c *resumeCommand) fits(ctx context.Context, v *lifecycle.Verified) (err error) {
	switch {
	case c.part.data != "":
		_, err = c.part.value(v)
	case c.part.given(), c.format == promptFormat:
	default:
		_, _, err = export.Document(c.format, v)
	}
	if err != nil {
		return err
	}
	return c.restore.Prepare(ctx, v)
}

// print prints a handoff, and where its work copy is, if one was made.
func (c *resumeCommand) print(ws *workspace.Workspace, g *take.Result, made *workcopy.Copy) error {
	v := g.Verified
	if c.part.given() {
		return printPart(c.app, &c.part, v)
	}
	return c.Print(func() (any, error) {
		r := verifiedRow(v, g.Home)
		if made != nil {
			r.Worktree, r.Branch = made.Dir, made.Branch
		}
		return r, nil
	}, func(t *output.Lines) error {
		out, err := c.text(ws, g, made)
		_, _ = t.Write(out) // Write of Lines never fails
		return err
	})
}

// text returns a whole handoff for its reader. The commands in a prompt act where the work goes on.
func (c *resumeCommand) text(ws *workspace.Workspace, g *take.Result, made *workcopy.Copy) ([]byte, error) {
	switch {
	case c.format != promptFormat:
		return exported(c.app, c.format, g.Verified)
	case made == nil:
		return promptOf(c.app, ws, g, c.ack)
	}
	there := c.app
	if !made.Here {
		there = c.in(made.Dir)
	}
	out, err := promptOf(there, ws, g, c.ack)
	return append(out, copyLine(made)...), err
}

func verifiedRow(v *lifecycle.Verified, home lifecycle.Home) row {
	s := v.State()
	rec := *v.Offer()
	if s.Claim != nil {
		rec.Actor, rec.Lease, rec.At = s.Claim.Actor, s.Lease, s.Claim.At
	}
	r := rowOf(&rec, string(s.Phase()))
	r.To, r.Commit, r.Envelope = s.To, s.Tip, v.Bytes()
	r.Ref = home.Namespace().Inbox(s.Agent, s.ID)
	if t := v.Token(); t != nil {
		r.Scope, r.Until = t.Scope(), handoff.FormatTime(t.Expires())
	}
	if f := fault.As(v.Lapse()); f != nil {
		r.Lapsed = string(f.Reason)
	}
	return r
}
