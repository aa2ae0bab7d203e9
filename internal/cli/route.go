package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/decide"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/policy"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
	"githandoff/internal/teampolicy"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

type routeCommand struct {
	*app

	id              string
	to, feedback    string
	approve, reject bool
	answers         []string
}

func newRoute(a *app) command {
	c := &routeCommand{app: a}
	return command{
		use:   "route [ID] [--to A | --approve | --answer T... | --reject --feedback T]",
		short: "Decide which agent takes a handoff that waits for a decision",
		long: `Decides a handoff that waits for a decision because it names no agent. Without a flag,
the table of the team's policy (.githandoff.yaml) decides about blocked handoffs. If the
table says "human", or nothing, and for every other handoff, the command prints the
question and the commands that can decide it. Without an ID it means the only handoff
that waits.

--to moves it into the inbox of an agent, --approve into the inbox of the agent that it
names. --answer (one for each question, in their order: a text, or the number of an
option) and --reject end it, and send its source a handoff that follows from it.

Only a person decides: it takes a root key ("githandoff init --person MAIL").`,
		example: []string{
			"githandoff route 7k3m2q --to backend-security",
			`githandoff route 7k3m2q --answer 2 --answer "the one in us-east"`,
			"githandoff route 7k3m2q --reject --feedback @review.txt",
		},
		args:     takes(0, "at most one ID", &c.id),
		complete: completions{a}.openIDs,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.to, "to", "", "send it to this `AGENT`")
			f.BoolVar(&c.approve, "approve", false, "send it to the agent that it names")
			f.StringArrayVar(&c.answers, "answer", nil, "the answer to a question, `TEXT` or the number of an option; repeatable")
			f.BoolVar(&c.reject, "reject", false, "send it back to its source")
			f.StringVar(&c.feedback, "feedback", "", "the reason for the rejection, `TEXT`")
		},
		run: c.run,
	}
}

// decisions counts those that are given.
func (c *routeCommand) decisions() int {
	n := 0
	for _, given := range []bool{c.to != "", c.approve, len(c.answers) > 0, c.reject} {
		if given {
			n++
		}
	}
	return n
}

func (c *routeCommand) check() error {
	switch {
	case c.decisions() > 1:
		return usage("--to, --approve, --answer, --reject: one of them")
	case c.reject != (c.feedback != ""):
		return usage("--reject needs --feedback: it tells the source why").
			WithHints(fault.See("route").Because("--feedback says why"))
	case c.to != "" && handoff.CheckAgent(c.to) != nil:
		return usage("--to: %v", handoff.CheckAgent(c.to)).
			WithHints(fault.See("reroute").Because("--to sends it to another repository"))
	}
	return nil
}

func (c *routeCommand) run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	due, err := decide.New(d).Case(ctx, c.id)
	if err != nil {
		return err
	}
	switch {
	case due.State.Receipt != nil:
		return errEnded(due.State)
	case due.State.To != refs.Nobody:
		return c.elsewhere(d, due)
	case c.to != "":
		return c.routeTo(ctx, d, due, c.to, false)
	case c.approve:
		return c.accept(ctx, d, due)
	case len(c.answers) > 0:
		return c.answer(ctx, d, due, c.answers)
	case c.reject:
		return c.turnDown(ctx, d, due, c.feedback)
	}
	return c.applyTable(ctx, d, due)
}

// errEnded is the refusal of a decision about what has ended; it names the handoff
// in which the work goes on.
func errEnded(s *lifecycle.State) error {
	err := fault.As(s.Err())
	if s.Receipt.Next != "" {
		err = err.WithHints(fault.Run("githandoff", "show", string(s.Receipt.Next)).Because("the work goes on in %s", s.Receipt.Next))
	}
	return err
}

// elsewhere answers for a handoff that an agent has: where it went, if that is
// what was asked or decided.
func (c *routeCommand) elsewhere(d *workspace.Workspace, due *decide.Case) error {
	named := due.Verified.Envelope().Target.Agent
	same := c.to == due.State.To || c.approve && named != nil && *named == due.State.To
	if c.decisions() > 0 && !same {
		return due.State.ErrRouted()
	}
	return c.print(d, due, "is with")
}

// applyTable lets the policy decide about what is blocked, and else asks.
func (c *routeCommand) applyTable(ctx context.Context, d *workspace.Workspace, due *decide.Case) error {
	env := due.Verified.Envelope()
	if env.Status != handoff.StatusBlocked {
		return c.ask(ctx, d, due)
	}
	p, err := teampolicy.New(d).Read(ctx)
	if err != nil {
		return err
	}
	r := p.Route(env.Source.Agent, env.BlockedReason)
	if r.To == policy.Human {
		return c.ask(ctx, d, due)
	}
	return c.routeTo(ctx, d, due, r.To, r.Clarify)
}

func (c *routeCommand) routeTo(ctx context.Context, d *workspace.Workspace, due *decide.Case, to string, clarify bool) error {
	adviseTarget(c.app, d, to)
	if err := decide.New(d).Route(ctx, due, to, clarify); err != nil {
		return err
	}
	return c.print(d, due, "goes to")
}

func (c *routeCommand) accept(ctx context.Context, d *workspace.Workspace, due *decide.Case) error {
	env := due.Verified.Envelope()
	switch {
	case env.Status != handoff.StatusNeedsReview:
		return errNotApplicable(due, "approved")
	case env.Target.Agent == nil:
		return usage("%s names no agent", due.State.ID).
			WithHints(fault.See("route").Because("--to names the agent that goes on"))
	}
	return c.routeTo(ctx, d, due, *env.Target.Agent, false)
}

func (c *routeCommand) answer(ctx context.Context, d *workspace.Workspace, due *decide.Case, answers []string) error {
	env := due.Verified.Envelope()
	if env.Status != handoff.StatusNeedsClarification && env.Status != handoff.StatusBlocked {
		return errNotApplicable(due, "answered")
	}
	text, err := c.answered(questionsOf(env), answers)
	if err != nil {
		return err
	}
	return c.sendBack(ctx, d, due, decide.Reply{
		Goal: "Go on with the answers below", Text: text, Reason: "answered by " + d.Agent,
	})
}

func (c *routeCommand) turnDown(ctx context.Context, d *workspace.Workspace, due *decide.Case, feedback string) error {
	if s := due.Verified.Envelope().Status; s != handoff.StatusNeedsReview && s != handoff.StatusComplete {
		return errNotApplicable(due, "rejected")
	}
	if strings.TrimSpace(feedback) == "" {
		return usage("--feedback is empty")
	}
	return c.sendBack(ctx, d, due, decide.Reply{
		Goal: "Change it as the feedback below asks", Text: feedback, Reason: "rejected by " + d.Agent,
	})
}

// errNotApplicable is the refusal of a decision that a status does not ask for.
func errNotApplicable(due *decide.Case, what string) error {
	return usage("%s is %s: it cannot be %s", due.State.ID, due.Verified.Envelope().Status, what).
		WithHints(fault.Run("githandoff", "route", string(due.State.ID)).Because("shows how to decide it"))
}

func (c *routeCommand) sendBack(ctx context.Context, d *workspace.Workspace, due *decide.Case, r decide.Reply) error {
	if err := screen.Text("reply", r.Text); err != nil {
		return err
	}
	done, err := decide.New(d).SendBack(ctx, due, r)
	if err != nil {
		return err
	}
	receipt := done.State.Receipt
	out := rowOf(receipt, string(receipt.Event))
	out.Commit = done.State.LaneTip
	return c.Row(out, "%s %s; %s goes back to %s", receipt.Event, receipt.ID, done.Next, receipt.From)
}

func (c *routeCommand) print(d *workspace.Workspace, due *decide.Case, verb string) error {
	s := due.State
	r := rowOf(s.Offer, string(s.Phase()))
	r.To, r.Ref, r.Commit = s.To, due.Home.Namespace().Inbox(s.Agent, s.ID), s.Tip
	if by := decide.Routed(s); by != nil {
		r.Actor, r.At, r.Results = by.Actor, handoff.FormatTime(by.At), receipt.DecodeResults(by.Data)
	}
	to := s.To
	if alias := d.AliasOf(due.Home); alias != "" {
		to += "@" + alias
	}
	return c.Row(r, "%s %s %s%s", s.ID, verb, to, byDecision(s))
}

// byDecision says who decided, and what the agent is asked for.
func byDecision(s *lifecycle.State) string {
	r := decide.Routed(s)
	if r == nil {
		return ""
	}
	if receipt.DecodeResults(r.Data)[decide.Clarify] != "" {
		return fmt.Sprintf(" to explain to %s, by %s", s.Offer.From, untrusted.Name(r.Actor))
	}
	return ", by " + untrusted.Name(r.Actor)
}
