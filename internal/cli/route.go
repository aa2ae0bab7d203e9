package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/policy"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

type routeOptions struct {
	to, feedback    string
	approve, reject bool
	answers         []string
}

func newRoute(a *app) *cobra.Command {
	var o routeOptions
	cmd := &cobra.Command{
		Use:   "route [ID] [--to A | --approve | --answer T... | --reject --feedback T]",
		Short: "Decide who goes on with a handoff that waits for a decision",
		Long: `A handoff that names nobody waits for a decision. Without a flag the table of
the team's policy (.githandoff.yaml) decides about what is blocked; where it says
"human", or nothing, and for everything else, the question is printed with what
can decide it. Without an ID the only one that waits is meant.

--to moves it into the inbox of an agent, and --approve into that of the agent
that it names. --answer (one for each question, in their order: a text, or the
number of an option) and --reject end it, and send its source a handoff that
follows from it.

A decision is a person's: it takes a root key ("githandoff init --person MAIL").`,
		Example: `  githandoff route 7k3m2q --to backend-security
  githandoff route 7k3m2q --answer 2 --answer "the one in us-east"
  githandoff route 7k3m2q --reject --feedback @review.txt`,
		Args: atMostArgs(1, "at most one ID"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runRoute(cmd.Context(), &o, firstArg(args)) },
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "let this `AGENT` go on")
	f.BoolVar(&o.approve, "approve", false, "let the agent that it names go on")
	f.StringArrayVar(&o.answers, "answer", nil, "the answer to a question, `TEXT` or the number of an option; repeatable")
	f.BoolVar(&o.reject, "reject", false, "send it back to its source")
	f.StringVar(&o.feedback, "feedback", "", "why it is rejected, `TEXT`")
	return cmd
}

// decisions counts those that are given.
func (o *routeOptions) decisions() int {
	n := 0
	for _, given := range []bool{o.to != "", o.approve, len(o.answers) > 0, o.reject} {
		if given {
			n++
		}
	}
	return n
}

func (o *routeOptions) check() error {
	switch {
	case o.decisions() > 1:
		return usage("--to, --approve, --answer, --reject: one of them")
	case o.reject != (o.feedback != ""):
		return usage("--reject goes with --feedback: its source has to know why").
			WithHints(fault.See("route").Because("--feedback says why"))
	case o.to != "" && handoff.CheckAgent(o.to) != nil:
		return usage("--to: %v", handoff.CheckAgent(o.to)).
			WithHints(fault.See("reroute").Because("--to sends it to another repository"))
	}
	return nil
}

func (a *app) runRoute(ctx context.Context, o *routeOptions, arg string) error {
	if err := o.check(); err != nil {
		return err
	}
	d, err := a.desk(ctx, signs)
	if err != nil {
		return err
	}
	c, err := d.Case(ctx, arg)
	if err != nil {
		return err
	}
	switch {
	case c.State.Receipt != nil:
		return over(c.State)
	case c.State.To != refs.Nobody:
		return a.elsewhere(d, c, o)
	case o.to != "":
		return a.routeTo(ctx, d, c, o.to, false)
	case o.approve:
		return a.approve(ctx, d, c)
	case len(o.answers) > 0:
		return a.answer(ctx, d, c, o.answers)
	case o.reject:
		return a.reject(ctx, d, c, o.feedback)
	}
	return a.applyTable(ctx, d, c)
}

// over is the refusal of a decision about what has ended; it names the handoff
// in which the work goes on.
func over(s *lifecycle.State) error {
	err := fault.As(s.Verdict())
	if s.Receipt.Next != "" {
		err = err.WithHints(fault.Run("githandoff", "show", s.Receipt.Next.Short()).Because("the work goes on in %s", s.Receipt.Next))
	}
	return err
}

// elsewhere answers for a handoff that an agent has: where it went, if that is
// what was asked or decided.
func (a *app) elsewhere(d *workspace.Workspace, c *workspace.Case, o *routeOptions) error {
	named := c.Verified.Envelope().Target.Agent
	same := o.to == c.State.To || o.approve && named != nil && *named == c.State.To
	if o.decisions() > 0 && !same {
		return c.State.Elsewhere()
	}
	return a.printRouted(d, c, "is with")
}

// applyTable lets the policy decide about what is blocked, and else asks.
func (a *app) applyTable(ctx context.Context, d *workspace.Workspace, c *workspace.Case) error {
	env := c.Verified.Envelope()
	if env.Status != handoff.StatusBlocked {
		return a.ask(d, c)
	}
	p, err := d.Policy(ctx)
	if err != nil {
		return err
	}
	r := p.Route(env.Source.Agent, env.BlockedReason)
	if r.To == policy.Human {
		return a.ask(d, c)
	}
	return a.routeTo(ctx, d, c, r.To, r.Clarify)
}

func (a *app) routeTo(ctx context.Context, d *workspace.Workspace, c *workspace.Case, to string, clarify bool) error {
	if err := d.Route(ctx, c, to, clarify); err != nil {
		return err
	}
	return a.printRouted(d, c, "goes to")
}

func (a *app) approve(ctx context.Context, d *workspace.Workspace, c *workspace.Case) error {
	env := c.Verified.Envelope()
	switch {
	case env.Status != handoff.StatusNeedsReview:
		return notSo(c, "approved")
	case env.Target.Agent == nil:
		return usage("%s names nobody to go on", c.State.ID).
			WithHints(fault.See("route").Because("--to names the agent that goes on"))
	}
	return a.routeTo(ctx, d, c, *env.Target.Agent, false)
}

func (a *app) answer(ctx context.Context, d *workspace.Workspace, c *workspace.Case, answers []string) error {
	env := c.Verified.Envelope()
	if env.Status != handoff.StatusNeedsClarification && env.Status != handoff.StatusBlocked {
		return notSo(c, "answered")
	}
	text, err := a.answered(questionsOf(env), answers)
	if err != nil {
		return err
	}
	return a.sendBack(ctx, d, c, workspace.Reply{
		Goal: "Go on with the answers below", Text: text, Reason: "answered by " + d.Agent,
	})
}

func (a *app) reject(ctx context.Context, d *workspace.Workspace, c *workspace.Case, feedback string) error {
	if s := c.Verified.Envelope().Status; s != handoff.StatusNeedsReview && s != handoff.StatusComplete {
		return notSo(c, "rejected")
	}
	if strings.TrimSpace(feedback) == "" {
		return usage("--feedback: it is empty")
	}
	return a.sendBack(ctx, d, c, workspace.Reply{
		Goal: "Change it as the feedback below asks", Text: feedback, Reason: "rejected by " + d.Agent,
	})
}

// notSo is the refusal of a decision that a status does not ask for.
func notSo(c *workspace.Case, what string) error {
	return usage("%s is %s: it cannot be %s", c.State.ID, c.Verified.Envelope().Status, what).
		WithHints(fault.Run("githandoff", "route", c.State.ID.Short()).Because("says what decides it"))
}

func (a *app) sendBack(ctx context.Context, d *workspace.Workspace, c *workspace.Case, r workspace.Reply) error {
	if err := screen.Text("reply", r.Text); err != nil {
		return err
	}
	done, err := d.SendBack(ctx, c, r)
	if err != nil {
		return err
	}
	receipt := done.State.Receipt
	if a.JSON {
		out := rowOf(receipt, string(receipt.Event))
		out.Commit = done.State.LaneTip
		a.Object(out)
		return nil
	}
	_, err = fmt.Fprintf(a.Stdout, "%s %s; %s goes back to %s\n", receipt.Event, receipt.ID, done.Next, receipt.From)
	return err
}

func (a *app) printRouted(d *workspace.Workspace, c *workspace.Case, verb string) error {
	s := c.State
	if a.JSON {
		r := rowOf(s.Offer, string(s.Phase()))
		r.To, r.Ref, r.Commit = s.To, c.Home.Space().Inbox(s.Agent, s.ID), s.Tip
		if by := workspace.Routed(s); by != nil {
			r.Actor, r.At, r.Results = by.Actor, handoff.FormatTime(by.At), workspace.DecodeResults(by.Data)
		}
		a.Object(r)
		return nil
	}
	to := s.To
	if alias := d.AliasOf(c.Home); alias != "" {
		to += "@" + alias
	}
	_, err := fmt.Fprintf(a.Stdout, "%s %s %s%s\n", s.ID, verb, to, byDecision(s))
	return err
}

// byDecision says who decided, and what the agent is asked for.
func byDecision(s *lifecycle.State) string {
	r := workspace.Routed(s)
	if r == nil {
		return ""
	}
	if workspace.DecodeResults(r.Data)[workspace.Clarify] != "" {
		return fmt.Sprintf(" to explain to %s, by %s", s.Offer.From, untrusted.Name(r.Actor))
	}
	return ", by " + untrusted.Name(r.Actor)
}
