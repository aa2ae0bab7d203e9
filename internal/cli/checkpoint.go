package cli

import (
	"context"

	"github.com/spf13/pflag"

	"githandoff/internal/app/checkpoint"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/workspace"
)

// checkpointCommand is "checkpoint" and the commands below it.
type checkpointCommand struct {
	*app
	id, branch string
}

func newCheckpoint(a *app) command {
	c := &checkpointCommand{app: a}
	return command{
		use:   "checkpoint",
		short: "Go back to the commit before the work was handed over",
		long: `"emit --checkpoint" keeps a commit alive under refs/handoffs/checkpoints until no
handoff needs it. You can make a branch at that commit at any time. HEAD, the index and
the work tree are not touched.`,
		example: []string{"githandoff checkpoint list"},
		sub: []command{
			{
				use: "list", short: "List the commits kept as checkpoints",
				example: []string{"githandoff checkpoint list"},
				exits:   []fault.Code{fault.Unavailable},
				run:     c.list,
			},
			{
				use:   "restore [ID] --branch NAME",
				short: "Make a branch at the checkpoint of a handoff",
				long: `Makes a new branch at the commit that a handoff names as its checkpoint. ID is that
handoff, or the return handoff that was sent when it failed.`,
				example: []string{"githandoff checkpoint restore 7k3m2q --branch before"},
				exits:   []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid, fault.Unavailable},
				args:    takesID(0, &c.id),
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&c.branch, "branch", "", "`NAME` of the new branch")
				},
				run: c.restore,
			},
		},
	}
}

// checkpointRow is the object printed by --json. Its members are stable.
type checkpointRow struct {
	ID      handoff.ID `json:"id"`                // handoff
	Ref     string     `json:"ref"`               // ref that keeps the commit
	Commit  string     `json:"commit"`            // commit to go back to
	Subject string     `json:"subject,omitempty"` // subject of the commit
	Branch  string     `json:"branch,omitempty"`  // branch made by "checkpoint restore"
}

func (c *checkpointCommand) list(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	kept, err := checkpoint.List(ctx, repo)
	if err != nil {
		return err
	}
	ids := make([]handoff.ID, len(kept))
	for i, one := range kept {
		ids[i] = one.ID
	}
	ends := handoff.EndsOf(ids)
	return printList(ctx, c.app, repo, []string{"HANDOFF", "COMMIT", "SUBJECT"}, func(l *list) error {
		l.ends = ends
		for _, one := range kept {
			row := checkpointRow{ID: one.ID, Ref: one.Ref, Commit: one.Commit, Subject: one.Subject}
			l.Row(row, l.id(one.ID), output.Text(one.Commit), output.Text(one.Subject))
		}
		return nil
	})
}

func (c *checkpointCommand) restore(ctx context.Context) error {
	if c.branch == "" {
		return needs(c.app, "checkpoint restore", "--branch NAME", noID(c.id))
	}
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	open := func(ctx context.Context) (*workspace.Workspace, error) { return c.workspace(ctx, reads) }
	one, err := checkpoint.Restore(ctx, repo, open, c.id, c.branch)
	if err != nil {
		return err
	}
	return c.Columns(checkpointRow{one.ID, one.Ref, one.Commit, one.Subject, c.branch}, c.branch, one.Commit)
}
