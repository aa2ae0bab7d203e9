package cli

import (
	"context"
	"fmt"
	"strings"

	"githandoff/internal/app/decide"
	"githandoff/internal/brief"
	"githandoff/internal/cli/output"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// ask prints a handoff that waits for a person: its sender, the question in a fence, and the
// commands that decide it.
func (c *routeCommand) ask(ctx context.Context, d *workspace.Workspace, due *decide.Case) error {
	r := askedRow{
		row: verifiedRow(due.Verified, due.Home), Decide: deciding(due.Verified),
		Questions: append([]handoff.Question{}, decide.Questions(due.Verified.Envelope())...),
	}
	r.State = "undecided"
	return c.Print(func() (any, error) { return r, nil }, func(t *output.Lines) error { return c.askText(ctx, t, d, due) })
}

func (c *routeCommand) askText(ctx context.Context, b *output.Lines, d *workspace.Workspace, due *decide.Case) error {
	env, offer := due.Verified.Envelope(), due.Verified.Offer()
	fmt.Fprintf(b, "Handoff %s from %s waits for a decision: %s", offer.ID, offer.From, env.Status)
	if alias := d.AliasOf(due.Home); alias != "" {
		fmt.Fprintf(b, ", at %s", alias)
	}
	fmt.Fprintf(b, ".\n%s\n", provenance(due.Verified))
	fenced, err := untrusted.Fence(c.Random, askedBody(env), "written by "+offer.From)
	if err != nil {
		return err
	}
	_, _ = b.Write(fenced) // Lines take everything
	ends, err := d.Ends(ctx, offer.ID)
	if err != nil {
		return err
	}
	for _, way := range deciding(due.Verified) {
		b.Line("%s: githandoff route %s %s", way.What, ends.Of(offer.ID), way.Flags)
	}
	return nil
}

// askedBody is the short form of an envelope with its questions at the end,
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

// way is one decision that can be taken: what it does, and the flags of "route".
type way struct {
	What  string `json:"what"`  // what it does
	Flags string `json:"flags"` // of route
}

// askedRow is the object that --json prints for a handoff that waits for a person. Its
// members are stable.
type askedRow struct {
	row
	Questions []handoff.Question `json:"questions"` // that it asks
	Decide    []way              `json:"decide"`    // what can decide it
}

// deciding lists the decisions that are possible.
func deciding(v *lifecycle.Verified) []way {
	env := v.Envelope()
	var ways []way
	if env.Status == handoff.StatusNeedsReview && env.Target.Agent != nil {
		ways = append(ways, way{"Approve, and let " + *env.Target.Agent + " go on", "--approve"})
	}
	if env.Status == handoff.StatusBlocked || env.Status == handoff.StatusNeedsClarification {
		ways = append(ways, way{"Answer", strings.TrimSpace(strings.Repeat("--answer TEXT ", len(decide.Questions(env))))})
	}
	if env.Status == handoff.StatusNeedsReview || env.Status == handoff.StatusComplete {
		ways = append(ways, way{"Reject", "--reject --feedback TEXT"})
	}
	return append(ways, way{"Let somebody else go on", "--to AGENT"})
}
