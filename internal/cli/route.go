package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/decide"
	"githandoff/internal/brief"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/workspace"
)

// routeCommand is "route".
type routeCommand struct {
	*app
	decide.Request
}

func newRoute(a *app) command {
	c := &routeCommand{app: a}
	return command{
		use:   "route [ID] [--to A | --approve | --answer T... | --reject --feedback T]",
		short: "Decide which agent takes an undecided handoff",
		long: `Decides a handoff that waits for a decision because it names no agent. Without a flag,
the table of the team's policy (.githandoff.yaml) decides about blocked handoffs. If the
table says "human", or nothing, and for every other handoff, the command prints the
question and the commands that can decide it. Without an ID it means the only handoff
that waits.

--to moves it into the inbox of an agent. --answer (one for each question, in their
order: a text, or the number of an option) and --reject end it, and send its source a
handoff that follows from it. The texts of --answer and --feedback may be given as @FILE
or @-, as those of emit. --approve is for a handoff that waits although it names an
agent, as versions before 2026-11-22 let it: it goes to that agent.

Only a person decides: it takes a root key ("githandoff init --person MAIL").`,
		example: []string{
			"githandoff route 7k3m2q --to backend-security",
			`githandoff route 7k3m2q --answer 2 --answer "the one in us-east"`,
			"githandoff route 7k3m2q --reject --feedback @review.txt",
		},
		args:     takesID(0, &c.ID),
		complete: completions{a}.openIDs,
		flags: func(f *pflag.FlagSet) {
			targetVar(f, &c.To, "send it to this `AGENT`")
			f.BoolVar(&c.Approve, "approve", false, "send it to the agent it names")
			f.StringArrayVar(&c.Answers, "answer", nil, "answer a question with `TEXT` or the number of an option; repeatable")
			f.BoolVar(&c.Reject, "reject", false, "send it back to its source")
			f.StringVar(&c.Feedback, "feedback", "", "give the reason for the rejection in `TEXT`")
		},
		oneOf: [][]string{{"to", "approve", "answer", "reject"}},
		run:   c.run,
	}
}

func (c *routeCommand) check() error {
	switch {
	case c.Reject && c.Feedback == "":
		return usage("--reject needs --feedback: it tells the source why").
			WithHints(fault.See("route").Because("--feedback says why"))
	case !c.Reject && c.Feedback != "":
		return usage("--feedback needs --reject")
	case c.To != "" && handoff.CheckAgent(c.To) != nil:
		return usage("--to: %v", handoff.CheckAgent(c.To)).
			WithHints(fault.See("reroute").Because("--to sends it to another repository"))
	}
	return nil
}

func (c *routeCommand) run(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := c.readTexts(); err != nil {
		return err
	}
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	h := decide.New(ws)
	h.Advise = func(ctx context.Context, agent string, home lifecycle.Home) {
		senderOf(c.app, ws).AdviseReceiver(ctx, agent, ws.AliasOf(home))
	}
	c.By = ws.Agent
	out, err := h.Decide(ctx, &c.Request)
	switch {
	case err != nil:
		return err
	case out.Asks:
		return c.ask(ctx, ws, out.Case)
	case out.Reply != nil:
		return c.printReply(out.Reply)
	case out.Already:
		return c.print(ws, out.Case, "is already addressed to")
	}
	return c.print(ws, out.Case, "goes to")
}

// readTexts reads the texts that are given as @FILE. Like those of emit they go into a handoff.
func (c *routeCommand) readTexts() (err error) {
	for i, answer := range c.Answers {
		if c.Answers[i], err = c.text("--answer", answer); err != nil {
			return err
		}
	}
	c.Feedback, err = c.text("--feedback", c.Feedback)
	return err
}

func (c *routeCommand) printReply(done *receipt.Result) error {
	end := done.State.Receipt
	r := rowOf(end, string(end.Event))
	r.Commit = done.State.LaneTip
	return c.Row(r, "%s %s; %s goes back to %s", end.Event, end.ID, done.Next, end.From)
}

func (c *routeCommand) print(ws *workspace.Workspace, due *decide.Case, verb string) error {
	s := due.State
	r := rowOf(s.Offer, string(s.Phase()))
	r.To, r.Ref, r.Commit = s.To, due.Home.Namespace().Inbox(s.Agent, s.ID), s.Tip
	if by := s.Routed(); by != nil {
		r.Actor, r.At, r.Results = by.Actor, handoff.FormatTime(by.At), receipt.DecodeResults(by.Data)
	}
	return c.Row(r, "%s %s %s%s", s.ID, verb, handoff.TargetAt(s.To, ws.AliasOf(due.Home)), byDecision(s))
}

// ask prints a handoff waiting for a person: its sender, the question in a fence, and the
// commands to decide it.
func (c *routeCommand) ask(ctx context.Context, ws *workspace.Workspace, due *decide.Case) error {
	r := askedRow{
		row:       verifiedRow(due.Verified, due.Home),
		Questions: append([]handoff.Question{}, decide.Questions(due.Verified.Envelope())...),
	}
	for _, w := range decide.Ways(due.Verified.Envelope()) {
		r.Decide = append(r.Decide, way(w))
	}
	r.State = "undecided"
	return c.Print(func() (any, error) { return r, nil }, func(t *output.Lines) error { return c.askText(ctx, t, ws, due) })
}

func (c *routeCommand) askText(ctx context.Context, b *output.Lines, ws *workspace.Workspace, due *decide.Case) error {
	env, offer := due.Verified.Envelope(), due.Verified.Offer()
	fmt.Fprintf(b, "Handoff %s from %s waits for a decision: %s", offer.ID, offer.From, env.Status)
	if alias := ws.AliasOf(due.Home); alias != "" {
		fmt.Fprintf(b, ", at %s", alias)
	}
	fmt.Fprintf(b, ".\n%s\n", provenance(due.Verified))
	if err := writeFenced(c.app, b, askedBody(env), offer.From); err != nil {
		return err
	}
	ends, err := ws.Ends(ctx, offer.ID)
	if err != nil {
		return err
	}
	for _, way := range decide.Ways(due.Verified.Envelope()) {
		b.Line("%s: %s %s", way.What, commandFor(c.app, "route", ends.Of(offer.ID)), way.Flags)
	}
	return nil
}

// askedBody returns the short form of an envelope with its questions at the end,
// numbered.
func askedBody(env *handoff.Envelope) string {
	rest := *env
	rest.Questions = nil
	if len(env.Questions) == 1 && env.Questions[0].Question == env.Goal {
		rest.Goal = ""
	}
	var b strings.Builder
	b.WriteString(brief.Text(&rest))
	for i, q := range env.Questions {
		fmt.Fprintf(&b, "Question %d: %s\n", i+1, q.Question)
		for n, option := range q.Options {
			fmt.Fprintf(&b, "  %d. %s\n", n+1, option)
		}
	}
	return b.String()
}

// way is a possible decision: its effect, and the flags of "route".
type way struct {
	What  string `json:"what"`  // what the decision does
	Flags string `json:"flags"` // flags of "route" that take it
}

// askedRow is the JSON object of a handoff waiting for a person. Its members are stable.
type askedRow struct {
	row
	Questions []handoff.Question `json:"questions"` // questions to the person
	Decide    []way              `json:"decide"`    // the possible decisions
}
