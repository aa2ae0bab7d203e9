package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

func newGC(a *app) *cobra.Command {
	var expired, dryRun bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Collect what is over: swept inbox refs, checkpoints, expired handoffs",
		Long: `Lets go of what nobody needs: inbox refs whose receipt is in the log, checkpoints
of handoffs that are over, and files that a githandoff which was killed had begun to
write more than an hour ago. With --expired, handoffs that ran out get their receipt;
never one that somebody holds.`,
		Args: exactArgs(0, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runGC(cmd.Context(), expired, dryRun) },
	}
	cmd.Flags().BoolVar(&expired, "expired", false, "end handoffs that expired and that nobody holds")
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "say what would be done")
	return cmd
}

func (a *app) runGC(ctx context.Context, expired, dryRun bool) error {
	d, err := a.desk(ctx, signs)
	if err != nil {
		return err
	}
	if err := a.gcFiles(d.Repo, dryRun); err != nil {
		return err
	}
	return d.GC(ctx, expired, dryRun, func(c workspace.Collected) {
		if a.JSON {
			a.Object(row{ID: c.ID, State: c.What, Ref: c.Ref})
			return
		}
		fmt.Fprintf(a.Stdout, "%s %s\n", c.What, c.ID)
	})
}

// leftovers are the files that killed writers left, in this repository and among
// the user's keys and trust.
func (a *app) leftovers(repo *refs.Repo) ([]string, error) {
	dirs := repo.OwnDirs()
	if keys := a.keystore().Dir; keys != "" {
		dirs = append(dirs, keys)
	}
	if user, err := sign.UserTrustPath(a.Getenv); err == nil {
		dirs = append(dirs, filepath.Dir(user))
	}
	return lifecycle.Leftovers(a.Now(), dirs...)
}

func (a *app) gcFiles(repo *refs.Repo, dryRun bool) error {
	files, err := a.leftovers(repo)
	if err != nil {
		return err
	}
	for _, path := range files {
		if a.JSON {
			a.Object(leftoverRow{path, "leftover"})
			continue
		}
		fmt.Fprintf(a.Stdout, "leftover %s\n", printable(path))
	}
	if dryRun {
		return nil
	}
	return lifecycle.Sweep(files)
}
