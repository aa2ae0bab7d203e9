package cli

import (
	"context"
	"fmt"

	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/app/join"
	"githandoff/internal/fault"
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
		args:     takesNames(&c.aliases),
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
	first := fault.First{Warn: c.Warn}
	first.Keep(err)
	first.Keep(joinErr)
	return first.Err
}

// syncedRow is the JSON object of one thing done by a sync.
type syncedRow struct {
	row
	Lost bool `json:"lost,omitempty"` // this agent held the handoff, and another one ended the claim
}

func syncedRowOf(one hubsync.Done) syncedRow {
	r := row{ID: one.ID, State: one.What, Next: one.Next}
	if one.Record != nil {
		r = rowOf(one.Record, one.What)
	}
	if isOver(one) {
		r.Results = receipt.DecodeResults(one.Record.Data)
	}
	return syncedRow{r, one.Lost}
}

// isOver reports whether a handoff ended, or this agent's claim on it.
func isOver(one hubsync.Done) bool {
	return one.Record != nil && (one.Lost || one.Record.Event.Receipt())
}

func printSynced(a *app, one hubsync.Done) {
	if one.Serial != 0 {
		a.Row(adoptedRow{Alias: one.Alias, Serial: one.Serial, State: one.What},
			"adopted the list of keys of %s, number %d", one.Alias, one.Serial)
		return
	}
	line := fmt.Sprintf("%s %s", one.What, one.ID)
	switch {
	case isOver(one):
		line += fmt.Sprintf(" by %s at %s", untrusted.Name(one.Record.Actor), handoff.FormatTime(one.Record.At))
	case one.Alias != "":
		line += " to " + one.Alias
	}
	if one.Lost {
		line += ": stop working on it"
	}
	a.Row(syncedRowOf(one), "%s", line)
}
