package cli

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/checkpoint"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
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
				use: "list", short: "List the commits that are kept as checkpoints",
				example: []string{"githandoff checkpoint list"},
				exits:   []fault.Code{fault.Unavailable},
				args:    takes(0, "no arguments"),
				run:     c.list,
			},
			{
				use:   "restore ID --branch NAME",
				short: "Make a branch at the checkpoint of a handoff",
				long: `Makes a new branch at the commit that a handoff names as its checkpoint. ID is that
handoff, or the return handoff that was sent when it failed.`,
				example: []string{"githandoff checkpoint restore 7k3m2q --branch before"},
				exits:   []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Unavailable},
				args:    takes(1, "an ID", &c.id),
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&c.branch, "branch", "", "`NAME` of the new branch")
				},
				run: c.restore,
			},
		},
	}
}

// checkpointRow is the object that --json prints. Its members are stable.
type checkpointRow struct {
	ID      handoff.ID `json:"id"`                // handoff
	Ref     string     `json:"ref"`               // that keeps the commit
	Commit  string     `json:"commit"`            // to go back to
	Subject string     `json:"subject,omitempty"` // of that commit
	Branch  string     `json:"branch,omitempty"`  // that was made
}

func (c *checkpointCommand) list(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	rows, err := checkpoints(ctx, repo)
	if err != nil {
		return err
	}
	ids := make([]handoff.ID, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	ends := handoff.EndsOf(ids)
	return printList(ctx, c.app, repo, []string{"HANDOFF", "COMMIT", "SUBJECT"}, func(l *list) error {
		l.ends = ends
		for _, r := range rows {
			if err := l.Row(r, l.id(r.ID), output.Text(r.Commit), output.Text(r.Subject)); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkpoints(ctx context.Context, repo *refs.Repo) ([]checkpointRow, error) {
	prefix := refs.Checkpoint("")
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"for-each-ref", "--format=%(refname) %(objectname) %(contents:subject)", "--", prefix},
	})
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	var rows []checkpointRow
	for line := range strings.Lines(string(out)) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(part) != 3 {
			continue
		}
		id, err := handoff.ParseID(strings.TrimPrefix(part[0], prefix))
		if err != nil {
			continue // another program made that ref
		}
		rows = append(rows, checkpointRow{ID: id, Ref: part[0], Commit: part[1], Subject: part[2]})
	}
	return rows, nil
}

func (c *checkpointCommand) restore(ctx context.Context) error {
	if c.branch == "" {
		return usage("name the branch to create").WithHints(fault.See("checkpoint restore").Because("--branch names it"))
	}
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	if err := checkBranch(ctx, repo, c.branch); err != nil {
		return err
	}
	r, err := c.find(ctx, repo, c.id)
	if err != nil {
		return err
	}
	r.Branch = c.branch
	there, err := inTheWay(ctx, repo, c.branch)
	if err != nil {
		return err
	}
	if there == "" {
		err = repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: "refs/heads/" + c.branch, New: r.Commit}}})
	}
	var stale *refs.StaleError
	if errors.As(err, &stale) {
		there = c.branch
	}
	if there != "" {
		return fault.New(fault.Conflict, fault.BranchExists, "branch %s already exists", there).
			WithHints(fault.Run("githandoff", "checkpoint", "restore", string(r.ID), "--branch", strings.ReplaceAll(c.branch, "/", "-")+"-"+r.Commit[:8]).
				Because("makes a branch of another name"))
	}
	if err != nil {
		return err
	}
	return c.Columns(r, c.branch, r.Commit)
}

// inTheWay names a branch that conflicts with a new one: the branch itself, one above it in
// the tree of names, or one below it; "" if there is none.
func inTheWay(ctx context.Context, repo *refs.Repo, branch string) (string, error) {
	const heads = "refs/heads/"
	for name := branch; name != "."; name = path.Dir(name) {
		if oid, err := repo.Resolve(ctx, heads+name); err != nil || oid != "" {
			return name, err
		}
	}
	below, err := repo.List(ctx, heads+branch+"/")
	if err != nil || len(below) == 0 {
		return "", err
	}
	return strings.TrimPrefix(below[0].Name, heads), nil
}

// checkBranch asks git whether a branch may have that name. An expression that git
// expands, such as @{-1}, is no name.
func checkBranch(ctx context.Context, repo *refs.Repo, name string) error {
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"check-ref-format", "--branch", name}})
	if err != nil || strings.TrimSuffix(string(out), "\n") != name {
		return usage("%s cannot be the name of a branch", printable(name)).WithHints(fault.Run("git", "check-ref-format", "--help").Because("explains which names git takes"))
	}
	return nil
}

// find finds the checkpoint of a handoff, or of the nearest handoff that it follows from.
func (c *checkpointCommand) find(ctx context.Context, repo *refs.Repo, arg string) (*checkpointRow, error) {
	rows, err := checkpoints(ctx, repo)
	if err != nil {
		return nil, err
	}
	var found *checkpointRow
	for i, r := range rows {
		if !r.ID.Matches(arg) {
			continue
		}
		if found != nil {
			return nil, fault.New(fault.Usage, fault.AmbiguousID, "%s means %s and %s", printable(arg), found.ID, r.ID).
				WithHints(handoff.Which(found.ID, r.ID)...)
		}
		found = &rows[i]
	}
	if found != nil {
		return found, nil
	}
	d, err := c.desk(ctx, reads)
	if err != nil {
		return nil, err
	}
	id, err := checkpoint.New(d).Find(ctx, arg)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		if r.ID == id {
			return &rows[i], nil
		}
	}
	return nil, fault.New(fault.NotFound, fault.NoCheckpoint, "%s has no checkpoint in this repository", printable(arg)).
		WithHints(fault.Run("githandoff", "checkpoint", "list").Because("lists the checkpoints"))
}
