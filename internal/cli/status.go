package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
)

func newStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say who this is, what it holds, and what waits",
		Args:  exactArgs(0, "no arguments"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.runStatus(cmd.Context()) },
	}
}

func (a *app) runStatus(ctx context.Context) error {
	d, err := a.desk(ctx, reads)
	if err != nil {
		return err
	}
	if d.Agent == "" {
		_, err := a.identity(d.Repo)
		return err
	}
	held, err := d.Claims.All()
	if err != nil {
		return err
	}
	steps, err := d.Journal.All()
	if err != nil {
		return err
	}
	if !a.json {
		fmt.Fprintf(a.Stdout, "agent %s in %s\n", d.Agent, d.Local.RepoID)
	}
	now := a.Now()
	for _, h := range held {
		state := "held"
		switch {
		case !h.Printed:
			state = "claimed, not shown yet"
		case now.After(h.Lease):
			state = "overdue"
		}
		if a.json {
			a.object(a.Stdout, row{ID: h.ID, State: state, To: h.Agent, Home: h.Home, At: handoff.FormatTime(h.At), Actor: h.Actor, Lease: handoff.FormatTime(h.Lease), Principal: h.Principal, Token: h.Token})
			continue
		}
		fmt.Fprintf(a.Stdout, "%s %s until %s%s\n", state, h.ID, handoff.FormatTime(h.Lease), onBehalfOf(h.Principal))
	}
	for _, s := range steps {
		if a.json {
			a.object(a.Stdout, row{ID: s.ID, State: "kept " + string(s.Event), At: handoff.FormatTime(s.At)})
			continue
		}
		fmt.Fprintf(a.Stdout, "kept: %s %s (githandoff sync takes it)\n", s.Event, s.ID)
	}
	counts := map[string]int{}
	err = d.List(ctx, true, func(it *crossrepo.Item) error {
		if it.Fault != nil || it.Kind == "inbox" && it.Place.Agent != d.Agent {
			return nil
		}
		if a.json && it.Kind != "inbox" {
			r := rowOf(it.Record, itemState(it, now))
			r.Ref, r.Commit = it.Ref, it.Commit
			a.object(a.Stdout, r)
		}
		counts[itemState(it, now)]++
		return nil
	})
	if err != nil || a.json {
		return err
	}
	for _, s := range []struct{ state, text string }{
		{"offered", "waiting for you (githandoff resume)"},
		{"overdue", "held by somebody whose lease ran out"},
		{"expired", "expired (githandoff gc --expired)"},
		{"queued", "to be delivered (githandoff sync)"},
		{"sent", "sent, no receipt seen yet (githandoff sync)"},
	} {
		if n := counts[s.state]; n > 0 {
			fmt.Fprintf(a.Stdout, "%d %s\n", n, s.text)
		}
	}
	return nil
}
