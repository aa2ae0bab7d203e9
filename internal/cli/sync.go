package cli

import (
	"cmp"
	"context"
	"fmt"

	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/app/join"
	"githandoff/internal/handoff"
	"githandoff/internal/receipt"
	"githandoff/internal/untrusted"
)

// syncCommand is "sync".
type syncCommand struct {
	*app
	aliases []string
}

func newSync(a *app) command {
	c := &syncCommand{app: a}
	return command{
		use:     "sync [ALIAS...]",
		suggest: []string{"fetch", "pull", "push"},
		short:   "Deliver handoffs, send queued steps, fetch receipts, keys and notes",
		example: []string{
			"githandoff sync",
			"githandoff sync origin",
		},
		args:     takesAny(&c.aliases),
		complete: completions{a}.aliases,
		run:      c.run,
	}
}

func (c *syncCommand) run(ctx context.Context) error {
	ws, err := c.workspace(ctx, looks)
	if err != nil {
		return err
	}
	joinErr := join.New(ws).Finish(ctx, c.aliases, c.joined)
	done, err := hubsync.New(ws, finish.New(ws)).Sync(ctx, c.aliases)
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

// syncedRow is the JSON object of one thing done by a sync.
type syncedRow struct {
	row
	Lost bool `json:"lost,omitempty"` // this agent held it, and another one ended the claim
}

func syncedRowOf(one hubsync.Done) syncedRow {
	r := row{ID: one.ID, State: one.What, Next: one.Next}
	if last := cmp.Or(one.Record, one.Last); last != nil {
		r = rowOf(last, one.What)
	}
	if one.Record != nil {
		r.Results = receipt.DecodeResults(one.Record.Data)
	}
	return syncedRow{r, one.Lost}
}

func printSynced(a *app, one hubsync.Done) {
	if one.Serial != 0 {
		a.Row(adoptedRow{Alias: one.Alias, Serial: one.Serial, State: one.What},
			"adopted the list of keys of %s, number %d", one.Alias, one.Serial)
		return
	}
	line := fmt.Sprintf("%s %s", one.What, one.ID)
	if rec := one.Record; rec != nil {
		line += fmt.Sprintf(" by %s at %s", untrusted.Name(rec.Actor), handoff.FormatTime(rec.At))
	}
	switch {
	case one.Lost:
		line += ": stop working on it"
	case one.Record == nil && one.Alias != "":
		line += " to " + one.Alias
	}
	a.Row(syncedRowOf(one), "%s", line)
}
