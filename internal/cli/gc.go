package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/pflag"

	"githandoff/internal/app/agenthook"
	"githandoff/internal/app/gc"
	"githandoff/internal/private"
	"githandoff/internal/sign"
)

// gcCommand is "gc".
type gcCommand struct {
	*app
	expired, dryRun bool
}

func newGC(a *app) command {
	c := &gcCommand{app: a}
	return command{
		use:   "gc",
		short: "Delete refs and files no longer needed",
		long: `Deletes these refs and files, which nobody needs any more:

  inbox refs whose receipt is in the log
  checkpoints of ended handoffs
  snapshots of handoffs that no longer exist
  unfinished worktrees of a killed resume, if their handoff has ended
  unfinished files of a killed githandoff, older than an hour
  records of the messages to agents' sessions, older than a week

With --expired, each expired handoff that nobody holds gets its receipt. Those that wait
for delivery to a repository without an alias are deleted.`,
		example: []string{
			"githandoff gc --dry-run",
			"githandoff gc --expired",
		},
		args: takes(0, "flags only"),
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.expired, "expired", false, "end expired handoffs held by nobody")
			f.BoolVarP(&c.dryRun, "dry-run", "n", false, "only print what would be done")
		},
		run: c.run,
	}
}

func (c *gcCommand) run(ctx context.Context) error {
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	h := gc.New(ws)
	h.Dirs, h.SweepStamps = c.ownDirs(), agenthook.SweepStamps
	return h.Run(ctx, c.expired, c.dryRun, func(one gc.Collected) {
		if one.Path != "" {
			c.Row(leftoverRow{one.Path, one.What}, "incomplete file %s", one.Path)
			return
		}
		c.Row(row{ID: one.ID, State: one.What, Ref: one.Ref}, "%s %s", one.What, one.ID)
	})
}

// ownDirs returns the directories of the user's keys, trust and state.
func (a *app) ownDirs() (dirs []string) {
	if keys := a.keystore().Dir; keys != "" {
		dirs = append(dirs, keys)
	}
	if user, err := sign.UserTrustPath(a.Getenv); err == nil {
		dirs = append(dirs, filepath.Dir(user))
	}
	if state, err := private.Dir(a.Getenv, private.State); err == nil {
		dirs = append(dirs, state)
	}
	return dirs
}
