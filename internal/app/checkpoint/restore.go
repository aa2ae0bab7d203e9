package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// Checkpoint is a commit kept for a handoff.
type Checkpoint struct {
	ID      handoff.ID
	Ref     string // ref that keeps the commit
	Commit  string
	Subject string
}

// List lists the checkpoints of this repository.
func List(ctx context.Context, repo *refs.Repo) ([]Checkpoint, error) {
	prefix := refs.Checkpoint("")
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"for-each-ref", "--format=%(refname) %(objectname) %(contents:subject)", "--", prefix},
	})
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	var list []Checkpoint
	for line := range strings.Lines(string(out)) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(part) != 3 {
			continue
		}
		id, err := handoff.ParseID(strings.TrimPrefix(part[0], prefix))
		if err != nil {
			continue // another program made this ref
		}
		list = append(list, Checkpoint{ID: id, Ref: part[0], Commit: part[1], Subject: part[2]})
	}
	return list, nil
}

// Restore makes a branch at the checkpoint of the handoff named by arg, or of its nearest
// ancestor. The work tree, the index and HEAD stay as they are.
func Restore(ctx context.Context, repo *refs.Repo, open func(context.Context) (*workspace.Workspace, error), arg, branch string) (*Checkpoint, error) {
	if err := checkBranch(ctx, repo, branch); err != nil {
		return nil, err
	}
	c, err := meant(ctx, repo, open, arg)
	if err != nil {
		return nil, err
	}
	there, err := inTheWay(ctx, repo, branch)
	if err != nil {
		return nil, err
	}
	if there == "" {
		err = repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: "refs/heads/" + branch, New: c.Commit}}})
	}
	if _, ok := errors.AsType[*refs.StaleError](err); ok {
		there = branch
	}
	if there != "" {
		return nil, fault.New(fault.Conflict, fault.BranchExists, "branch %s already exists", there).
			WithHints(fault.Run("githandoff", "checkpoint", "restore", string(c.ID), "--branch", strings.ReplaceAll(branch, "/", "-")+"-"+c.Commit[:8]).
				Because("makes a branch with another name"))
	}
	return c, err
}

// meant finds the checkpoint named by arg. The workspace is opened only for the ancestors of a
// handoff.
func meant(ctx context.Context, repo *refs.Repo, open func(context.Context) (*workspace.Workspace, error), arg string) (*Checkpoint, error) {
	list, err := List(ctx, repo)
	if err != nil {
		return nil, err
	}
	var found *Checkpoint
	for i, c := range list {
		if arg == "" || !c.ID.Matches(arg) {
			continue
		}
		if found != nil {
			return nil, handoff.Ambiguous(arg, found.ID, c.ID)
		}
		found = &list[i]
	}
	if found != nil {
		return found, nil
	}
	ws, err := open(ctx)
	if err != nil {
		return nil, err
	}
	id, err := nearest(ctx, ws, arg)
	if err != nil {
		return nil, err
	}
	for i, c := range list {
		if c.ID == id {
			return &list[i], nil
		}
	}
	return nil, fault.New(fault.NotFound, fault.NoCheckpoint, "%s has no checkpoint in this repository", cmp.Or(untrusted.Line(arg), "the held handoff")).
		WithHints(fault.Run("githandoff", "checkpoint", "list").Because("lists the checkpoints"))
}

// inTheWay names a branch in conflict with a new one: the branch itself, one above it in the tree
// of names, or one below it; "" if there is none.
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

// checkBranch asks git whether a branch may have the name. An expression such as @{-1} is no
// name.
func checkBranch(ctx context.Context, repo *refs.Repo, name string) error {
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"check-ref-format", "--branch", name}})
	if code := gitexec.ExitCode(err); err != nil && code != 1 && code != 128 {
		return err
	}
	if err != nil || strings.TrimSuffix(string(out), "\n") != name {
		return fault.New(fault.Usage, fault.BadUsage, "%s cannot be the name of a branch", untrusted.Line(name)).
			WithHints(fault.Run("git", "check-ref-format", "--help").Because("explains which names git takes"))
	}
	return nil
}
