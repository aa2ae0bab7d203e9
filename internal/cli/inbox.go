package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

func newInbox(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:        "inbox",
		SuggestFor: []string{"list", "ls"},
		Short:      "List what waits for this agent",
		Long: `Lists the handoffs in this agent's inboxes and those that wait for a decision,
in this repository and in the hubs that "resume" asks. With --all, of every
agent, and what this repository sent or still has to deliver.

The list is what the refs say. Signatures are checked by "resume", "show" and
"verify".`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runInbox(cmd.Context(), all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "of all agents, and what was sent")
	return cmd
}

func (a *app) runInbox(ctx context.Context, all bool) error {
	d, err := a.desk(ctx, reads)
	if err != nil {
		return err
	}
	if d.Agent == "" && !all {
		_, err := a.identity(d.Repo)
		return err
	}
	read := a.unread(d)
	d.RefreshInboxes(ctx, all)
	out := bufio.NewWriterSize(a.Stdout, 64<<10)
	print, flush := a.itemPrinter(d, out)
	err = d.List(ctx, all, print)
	if err == nil {
		err = flush()
	}
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	return read(err)
}

// unread makes the error of a command of a hub that it could not read: whoever
// asks must not take that for a hub that holds nothing. The function that it
// returns is called when everything was printed that can be had, with the error
// that the command has besides.
func (a *app) unread(d *crossrepo.Desk) func(error) error {
	var first error
	d.Unread = func(err error) {
		code := fault.CodeOf(err)
		switch {
		case code != fault.Unavailable && code != fault.Denied: // no hub: a mirror, or a remote of two URLs
			a.warn(err)
		case first == nil:
			first = err
		case err.Error() != first.Error():
			a.warn(err)
		}
	}
	return func(err error) error {
		if err != nil && first != nil {
			a.warn(first)
		}
		return cmp.Or(err, first)
	}
}

// itemPrinter prints items as JSON, as a table on a terminal, as tab-separated
// lines elsewhere.
func (a *app) itemPrinter(d *crossrepo.Desk, out *bufio.Writer) (print func(*crossrepo.Item) error, flush func() error) {
	now := a.Now()
	if a.json {
		return func(it *crossrepo.Item) error {
			r := row{ID: it.Place.ID, State: "refused", Ref: it.Ref, Commit: it.Commit, To: it.Place.Agent}
			if it.Fault == nil {
				r = rowOf(it.Record, itemState(it, now))
				r.To, r.Ref, r.Commit = it.Place.Agent, it.Ref, it.Commit
			}
			a.object(out, r)
			return nil
		}, func() error { return nil }
	}
	line := func(w interface{ Write([]byte) (int, error) }, it *crossrepo.Item, id, at string) error {
		to := it.Place.Agent
		if alias := d.AliasOf(it.Home); alias != "" {
			to += "@" + alias
		}
		if it.Fault != nil {
			_, err := fmt.Fprintf(w, "%s\t%s\t\t%s\t\t\n", id, a.state("refused"), to)
			return err
		}
		_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", id, a.state(itemState(it, now)), nameOf(it.Record.From), printable(to), taskOf(it.Record.Task), at)
		return err
	}
	if !a.terminal {
		return func(it *crossrepo.Item) error {
			at := ""
			if it.Fault == nil {
				at = it.Record.At.UTC().Format(time.RFC3339)
			}
			return line(out, it, string(it.Place.ID), at)
		}, func() error { return nil }
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	return func(it *crossrepo.Item) error {
		at := ""
		if it.Fault == nil {
			at = ago(now, it.Record.At)
		}
		return line(w, it, it.Place.ID.Short(), at)
	}, w.Flush
}

// itemState is what the tip of a ref says.
func itemState(it *crossrepo.Item, now time.Time) string {
	switch it.Kind {
	case "outbox":
		return "queued"
	case "sent":
		return "sent"
	}
	r := it.Record
	switch {
	case r.Event == record.Claimed || r.Event == record.Progressed:
		if now.After(r.Lease) {
			return "overdue"
		}
		return string(lifecycle.Held)
	case it.Place.Agent == refs.Nobody:
		return "undecided"
	case now.After(r.Expires):
		return "expired"
	}
	return string(lifecycle.Open)
}
