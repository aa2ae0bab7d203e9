package cli

import (
	"context"
	"path/filepath"

	"github.com/spf13/pflag"

	"githandoff/internal/app/agenthook"
	"githandoff/internal/app/gc"
	"githandoff/internal/app/workcopy"
	"githandoff/internal/durable"
	"githandoff/internal/outbox"
	"githandoff/internal/refs"
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
		short: "Delete refs and files that nobody needs any more",
		long: `Deletes these refs and files, which nobody needs any more:

  inbox refs whose receipt is in the log
  checkpoints of ended handoffs
  snapshots of handoffs that no longer exist
  unfinished worktrees of a killed resume, if their handoff has ended
  unfinished files of a killed githandoff, older than an hour
  records of the messages to agents' sessions, older than a week

With --expired, each expired handoff that nobody holds gets its receipt.`,
		example: []string{
			"githandoff gc --dry-run",
			"githandoff gc --expired",
		},
		args: takes(0, "flags only"),
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.expired, "expired", false, "end expired handoffs that nobody holds")
			f.BoolVarP(&c.dryRun, "dry-run", "n", false, "only print what would be done")
		},
		run: c.run,
	}
}

func (c *gcCommand) run(ctx context.Context) error {
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	if err := c.files(ctx, d.Repo); err != nil {
		return err
	}
	return gc.New(d, &workcopy.Handler{Repo: d.Repo}).Run(ctx, c.expired, c.dryRun, func(one gc.Collected) {
		c.Row(row{ID: one.ID, State: one.What, Ref: one.Ref}, "%s %s", one.What, one.ID)
	})
}

// leftovers are the files that killed writers left, in this repository and among
// the user's keys and trust.
func leftovers(ctx context.Context, a *app, repo *refs.Repo) ([]string, error) {
	dirs := repo.OwnDirs()
	if keys := a.keystore().Dir; keys != "" {
		dirs = append(dirs, keys)
	}
	if user, err := sign.UserTrustPath(a.Getenv); err == nil {
		dirs = append(dirs, filepath.Dir(user))
	}
	files, err := durable.StaleTempFiles(a.Now(), dirs...)
	if err != nil {
		return nil, err
	}
	unborn, err := outbox.Unborn(ctx, repo, a.Now())
	return append(files, unborn...), err
}

func (c *gcCommand) files(ctx context.Context, repo *refs.Repo) error {
	files, err := leftovers(ctx, c.app, repo)
	if err != nil {
		return err
	}
	for _, path := range files {
		if err := c.Row(leftoverRow{path, "leftover"}, "incomplete file %s", path); err != nil {
			return err
		}
	}
	if c.dryRun {
		return nil
	}
	if err := agenthook.SweepStamps(repo.OwnWorktree("sessions"), c.Now()); err != nil {
		return err
	}
	return durable.RemoveAll(files)
}
