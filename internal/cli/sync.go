package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/handoff"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/untrusted"
)

// syncCommand is "sync".
type syncCommand struct {
	*app
}

func newSync(a *app) *cobra.Command {
	c := &syncCommand{app: a}
	return &cobra.Command{
		Use:   "sync [ALIAS...]",
		Short: "Deliver what waits, take kept steps, bring receipts, keys and notes back",
		Args:  cobra.ArbitraryArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
}

func (c *syncCommand) run(ctx context.Context, aliases []string) error {
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	joinErr := finishInvites(ctx, c.app, d, aliases...)
	done, err := hubsync.New(d, finish.New(d)).Sync(ctx, aliases)
	for _, one := range done {
		printSynced(c.app, one)
	}
	if err == nil {
		return joinErr
	}
	if joinErr != nil {
		c.Warn(joinErr)
	}
	return err
}

// syncedRow is the object that --json prints for one thing that a sync did.
type syncedRow struct {
	row
	Lost bool `json:"lost,omitempty"` // this agent held it, and somebody else ended that
}

func printSynced(a *app, one hubsync.Done) {
	if one.Serial != 0 {
		printAdopted(a, one)
		return
	}
	if a.JSON {
		r := row{ID: one.ID, State: one.What, Next: one.Next}
		if one.Record != nil {
			r = rowOf(one.Record, one.What)
			r.Results = receipt.DecodeResults(one.Record.Data)
		}
		a.Object(syncedRow{r, one.Lost})
		return
	}
	line := fmt.Sprintf("%s %s", one.What, one.ID)
	if one.Lost {
		fmt.Fprintf(a.Stdout, "%s by %s at %s: stop working on it\n", line, untrusted.Name(one.Record.Actor), handoff.FormatTime(one.Record.At))
		return
	}
	if r := one.Record; r != nil && r.Event != record.Progressed {
		line += fmt.Sprintf(" by %s at %s", untrusted.Name(r.Actor), handoff.FormatTime(r.At))
	} else if one.Alias != "" {
		line += " to " + one.Alias
	}
	fmt.Fprintln(a.Stdout, line)
}

// printAdopted says that other keys count from now on.
func printAdopted(a *app, one hubsync.Done) {
	if a.JSON {
		a.Object(adoptedRow{Alias: one.Alias, Serial: int64(one.Serial), State: one.What})
		return
	}
	fmt.Fprintf(a.Stdout, "adopted the list of keys of %s, number %d\n", one.Alias, one.Serial)
}
