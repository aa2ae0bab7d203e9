package cli

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"githandoff/internal/cli/output"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

type resumeOptions struct {
	format             string
	lease, wait        time.Duration
	peek, ack, expired bool
	next               bool
	part               partFlags
}

func newResume(a *app) *cobra.Command {
	var o resumeOptions
	cmd := &cobra.Command{
		Use:        "resume [ID]",
		SuggestFor: []string{"take", "claim", "next"},
		Short:      "Take a handoff that waits for this agent, exactly once",
		Long: `Claims a handoff for this agent and prints it as a prompt. The claim is a lease;
the holder works, then runs "githandoff ack" or "githandoff fail". One that cannot
be printed as asked, in --format or with --data KEY, is not taken.

Without an ID, what this worktree holds is shown again, and a lease that ran out is
renewed if it still may be. If nothing is held, or with --next or --ack, one of the
oldest is taken: from this repository, from the aliases in handoff.pull (origin, or
the only remote), and from wherever something was sent to.`,
		Args: atMostArgs(1, "at most one ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runResume(cmd.Context(), &o, firstArg(args))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", promptFormat, "prompt, or a format of \"githandoff help formats\"")
	spanVar(f, &o.lease, "lease", lifecycle.DefaultLease, "how long the claim holds, at most 24h")
	f.BoolVar(&o.peek, "peek", false, "show it without claiming it")
	spanVar(f, &o.wait, "wait", 0, "wait up to this long for one")
	f.BoolVar(&o.next, "next", false, "take another one than this worktree holds")
	f.BoolVar(&o.ack, "ack", false, "acknowledge it at once")
	f.BoolVar(&o.expired, "allow-expired", false, "take one that has expired")
	o.part.register(f)
	return cmd
}

func firstArg(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func (a *app) runResume(ctx context.Context, o *resumeOptions, arg string) error {
	if o.next && arg != "" {
		return usage("--next takes no ID")
	}
	if o.peek && o.ack {
		return usage("--peek and --ack: one of them")
	}
	if o.lease <= 0 || o.lease > lifecycle.MaxLease {
		return usage("--lease %s: more than nothing, at most %s", spanText(o.lease), spanText(lifecycle.MaxLease))
	}
	if err := o.checkOutput(); err != nil {
		return err
	}
	d, err := a.desk(ctx, signs)
	if err != nil {
		return err
	}
	g, err := a.await(ctx, d, o, arg)
	if err != nil {
		return err
	}
	if g.Again && arg == "" {
		a.Say("githandoff: this worktree holds it already (githandoff resume --next takes another one)")
	}
	out, err := a.renderGrant(d, g, o)
	if err == nil {
		_, err = a.Stdout.Write(out)
	}
	if err != nil {
		g.Abandon()
		return err
	}
	if err := g.Printed(); err != nil {
		return err
	}
	if o.ack {
		_, err = d.Take(ctx, g.Holder, work.Step{
			ID: g.Holder.ID, Event: record.Acknowledged, Nonce: g.Holder.Nonce, At: a.Now().UTC(),
		})
	}
	return err
}

const promptFormat = "prompt" // what resume prints if no format is named

// checkOutput refuses before anything is claimed.
func (o *resumeOptions) checkOutput() error {
	if o.format == promptFormat {
		return o.part.check("")
	}
	if err := dialect.CheckFormat(o.format); err != nil {
		return err
	}
	return o.part.check(o.format)
}

// fits refuses what could not be printed as asked.
func (o *resumeOptions) fits(v *lifecycle.Verified) error {
	if o.part.data != "" {
		_, err := o.part.value(v)
		return err
	}
	if o.part.given() || o.format == promptFormat {
		return nil
	}
	_, _, err := export(o.format, v)
	return err
}

// await polls with --wait: nothing pending, and a hub that is down or busy, are
// asked again, with growing pauses. Of a hub it is said once.
func (a *app) await(ctx context.Context, d *workspace.Workspace, o *resumeOptions, arg string) (*workspace.Grant, error) {
	deadline := a.Now().Add(o.wait)
	pause, said := time.Second, false
	for {
		g, err := d.Resume(ctx, workspace.Query{
			Arg: arg, Next: o.next || o.ack, Lease: o.lease, Peek: o.peek, AllowExpired: o.expired, Fits: o.fits,
		})
		left := deadline.Sub(a.Now())
		if err == nil || left <= 0 || !mayPass(err) || arg != "" && fault.Is(err, fault.NoSuchKey) {
			return g, err
		}
		if fault.CodeOf(err) == fault.Unavailable && !said {
			a.Warn(fmt.Errorf("%w; waiting on, until %s", err, handoff.FormatTime(deadline)))
			said = true
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(pause, left)):
		}
		pause = min(pause*3/2, 30*time.Second)
	}
}

// mayPass reports whether the same question may be answered otherwise a little
// later. A hub that refuses will refuse again, and a wrong name stays wrong.
func mayPass(err error) bool {
	switch fault.CodeOf(err) {
	case fault.Unavailable:
		return slices.Contains([]fault.Reason{fault.RemoteUnavailable, fault.HubLocked, fault.Locked, fault.Busy}, fault.As(err).Reason)
	case fault.NotFound:
		return !fault.Is(err, fault.UnknownAlias)
	}
	return false
}

func (a *app) renderGrant(d *workspace.Workspace, g *workspace.Grant, o *resumeOptions) ([]byte, error) {
	v := g.Verified
	if o.part.given() {
		return a.renderPart(&o.part, v)
	}
	if a.JSON {
		var b bytes.Buffer
		output.Encode(&b, verifiedRow(v, g.Home))
		return b.Bytes(), nil
	}
	if o.format == promptFormat {
		return a.prompt(d, g, o.ack)
	}
	return a.exported(o.format, v)
}

func verifiedRow(v *lifecycle.Verified, home lifecycle.Home) row {
	s := v.State()
	rec := *v.Offer()
	if s.Claim != nil {
		rec.Actor, rec.Lease, rec.At = s.Claim.Actor, s.Lease, s.Claim.At
	}
	r := rowOf(&rec, string(s.Phase()))
	r.To, r.Commit, r.Envelope = s.To, s.Tip, v.Bytes()
	r.Ref = home.Space().Inbox(s.Agent, s.ID)
	if t := v.Token(); t != nil {
		r.Scope, r.Until = t.Scope(), handoff.FormatTime(t.Expires())
	}
	if f := fault.As(v.Lapse()); f != nil {
		r.Lapsed = string(f.Reason)
	}
	return r
}
