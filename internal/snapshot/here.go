package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// A checkout in the work tree of the user takes four steps, and a kill may come
// between any two of them, or in the middle of the second:
//
//	1. the branch is made, at the sender's HEAD
//	2. the files and the index become those of the snapshot, untracked files included
//	3. HEAD moves to the branch
//	4. the index becomes the sender's
//
// Before the first one the work tree is clean, and no file is in the way of the snapshot's. So a
// file that a killed command left can be told from the user's own files: it is as HEAD has it, as
// the snapshot has it, or the beginning of a file of the snapshot.

// plain makes git look at the files themselves, whatever a file system monitor or a sparse checkout
// says about them.
var plain = []string{"-c", "core.sparseCheckout=false"}

// FitsHere refuses a snapshot if this work tree would lose files, and names them. It changes
// nothing.
func (c *Contents) FitsHere(ctx context.Context) error {
	whole, err := c.Whole(ctx)
	if err != nil {
		return err
	}
	return c.wouldLose(ctx, whole)
}

// CheckOutHere brings the snapshot into this work tree, which is clean, on a new
// branch. Nothing is written if a file would be lost.
func (c *Contents) CheckOutHere(ctx context.Context, branch string) error {
	whole, err := c.Whole(ctx)
	if err != nil {
		return err
	}
	if err := c.wouldLose(ctx, whole); err != nil {
		return err
	}
	if err := c.makeBranch(ctx, branch); err != nil {
		return err
	}
	if err := c.switchTo(ctx, whole); err != nil {
		after := context.WithoutCancel(ctx)
		if fault.As(err) != nil || putBack(ctx, c, whole) != nil || c.wouldLose(after, whole) != nil {
			return gitFailed(err, "check the snapshot out") // git may have begun to write files
		}
		_ = c.repo.Apply(after, refs.Transaction{Edits: []refs.Edit{{Ref: "refs/heads/" + branch, Old: c.Head}}})
		return fault.New(fault.Conflict, fault.WorkTreeTaken, "this work tree cannot take the snapshot: %w", err)
	}
	return c.arrive(ctx, branch, whole)
}

// FinishHere continues a CheckOutHere that was interrupted while HEAD was at the commit from. Files
// that were changed here since are not lost: FinishHere refuses, and names them.
func (c *Contents) FinishHere(ctx context.Context, branch, from string) error {
	whole, err := c.Whole(ctx)
	if err != nil {
		return err
	}
	if c.repo.Branch == branch {
		return c.finishIndex(ctx, whole)
	}
	if c.repo.Head != from {
		return fault.New(fault.Conflict, fault.WorkTreeTaken, "this work tree has moved to another commit since the checkout of the snapshot was cut off").
			WithHints(fault.See("resume").Because("--worktree checks the snapshot out elsewhere"))
	}
	if err := c.makeBranch(ctx, branch); err != nil {
		return err
	}
	there, err := c.indexIs(ctx, whole)
	if err != nil {
		return err
	}
	if !there {
		if err := c.onlyCutOff(ctx, whole); err != nil {
			return err
		}
		if err := c.readTree(ctx, checkoutTime, "--reset", "-u", whole); err != nil {
			return gitFailed(err, "check the snapshot out")
		}
	}
	return c.arrive(ctx, branch, whole)
}

// finishIndex takes the fourth step again unless the user has an index of their own.
func (c *Contents) finishIndex(ctx context.Context, whole string) error {
	for _, tree := range []string{whole, c.Index} {
		is, err := c.indexIs(ctx, tree)
		if err != nil {
			return err
		}
		if is {
			return c.setIndex(ctx, inTop(c.repo), whole)
		}
	}
	return nil
}

// makeBranch makes the branch at the sender's HEAD, if it is not there already.
func (c *Contents) makeBranch(ctx context.Context, branch string) error {
	ref := "refs/heads/" + branch
	now, err := c.repo.Resolve(ctx, ref)
	if err != nil || now == c.Head {
		return err
	}
	return c.repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref, New: c.Head}}})
}

// arrive takes the last two steps.
func (c *Contents) arrive(ctx context.Context, branch, whole string) error {
	run := inTop(c.repo)
	from := cmp.Or(c.repo.Branch, c.repo.Head) // in git's own form, so that "git checkout -" finds the way back
	_, err := run.Run(ctx, gitexec.Cmd{
		Args: []string{"symbolic-ref", "-m", "checkout: moving from " + from + " to " + branch, "HEAD", "refs/heads/" + branch}, Finish: true,
		Env: []string{"GIT_COMMITTER_NAME=githandoff", "GIT_COMMITTER_EMAIL=githandoff@localhost"},
	})
	if err != nil {
		return gitFailed(locked(c.repo, err), "switch to "+branch)
	}
	return c.setIndex(ctx, run, whole)
}

// switchTo brings the files and the index, which are those of HEAD, to another tree. The index
// may have old times of the files, for example after a copy of the directory: git would take
// them for changes.
func (c *Contents) switchTo(ctx context.Context, tree string) error {
	run := inTop(c.repo)
	_, err := run.Run(ctx, gitexec.Cmd{Args: slices.Concat(plain, []string{"update-index", "-q", "--refresh"}), Timeout: checkoutTime, Finish: true})
	if err := locked(c.repo, err); fault.As(err) != nil {
		return err
	}
	if err != nil && gitexec.ExitCode(err) != needsUpdate {
		return gitFailed(err, "look at the files of the work tree")
	}
	return c.readTree(ctx, checkoutTime, "-m", "-u", c.repo.Head, tree)
}

// needsUpdate is the exit status of git update-index if files differ from the index. read-tree
// reports them.
const needsUpdate = 1

func (c *Contents) readTree(ctx context.Context, bound time.Duration, args ...string) error {
	return locked(c.repo, readTree(ctx, inTop(c.repo), bound, args...))
}

func readTree(ctx context.Context, run *gitexec.Runner, bound time.Duration, args ...string) error {
	_, err := run.Run(ctx, gitexec.Cmd{Args: slices.Concat(plain, []string{"read-tree"}, args), Timeout: bound, Finish: true})
	return err
}

// indexIs reports whether the index has exactly the files of a tree.
func (c *Contents) indexIs(ctx context.Context, tree string) (bool, error) {
	out, err := inTop(c.repo).Run(ctx, gitexec.Cmd{Args: []string{"diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=none", tree, "--"}})
	if err != nil {
		return false, gitFailed(err, "compare the index with the snapshot")
	}
	return len(out) == 0, nil
}

// onlyCutOff refuses a work tree with a difference that neither HEAD nor the snapshot explains.
func (c *Contents) onlyCutOff(ctx context.Context, whole string) error {
	changes, err := readStatus(ctx, inTop(c.repo), "no")
	if err != nil {
		return err
	}
	changed, err := c.differing(ctx, whole)
	if err != nil {
		return err
	}
	for _, one := range changes {
		if _, part := changed[one.path]; one.staged != '.' || !part {
			return ownChanges(one.path)
		}
	}
	foreign, err := c.foreign(ctx, whole, changed)
	if err != nil {
		return err
	}
	blocked, err := c.inTheWay(ctx, whole)
	if err != nil {
		return err
	}
	for _, path := range blocked {
		if _, part := changed[path]; !part {
			foreign = append(foreign, path)
		}
	}
	return wouldBeLost(foreign)
}

// sides says whether a path is in HEAD, and whether it is in another tree.
type sides struct{ before, after bool }

// differing lists the paths in which a tree differs from HEAD. A submodule counts as no file of
// the tree: a checkout does not write its files.
func (c *Contents) differing(ctx context.Context, tree string) (map[string]sides, error) {
	out, err := c.repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"diff-tree", "-r", "-z", "--no-renames", "--raw", "--ignore-submodules=none", c.repo.Head, tree}})
	if err != nil {
		return nil, gitFailed(err, "compare HEAD with the snapshot")
	}
	deltas, err := parseRaw(string(out))
	if err != nil {
		return nil, err
	}
	list := map[string]sides{}
	for _, d := range deltas {
		list[d.path] = sides{d.before != "", d.after != ""}
	}
	return list, nil
}

// foreign returns the paths whose file differs from that of HEAD and from that of a tree, and is
// not the beginning of the tree's file either.
func (c *Contents) foreign(ctx context.Context, tree string, paths map[string]sides) ([]string, error) {
	s, err := newScratch(c.repo)
	if err != nil {
		return nil, err
	}
	defer s.close()
	old, now := filepath.Join(s.dir.Path, "old"), filepath.Join(s.dir.Path, "new")
	var before, after []byte
	for path, in := range paths {
		if in.before {
			before = append(append(before, path...), 0)
		}
		if in.after {
			after = append(append(after, path...), 0)
		}
	}
	for _, side := range []struct {
		tree, dir string
		list      []byte
	}{{c.repo.Head, old, before}, {tree, now, after}} {
		if _, err := s.git(ctx, nil, "read-tree", side.tree); err != nil {
			return nil, gitFailed(err, "look at what was checked out")
		}
		if _, err := s.git(ctx, side.list, "checkout-index", "--force", "--prefix="+side.dir+"/", "-z", "--stdin"); err != nil {
			return nil, gitFailed(err, "look at what was checked out")
		}
	}
	var list []string
	for path := range paths {
		here := filepath.Join(c.repo.Worktree, path)
		if info, err := os.Lstat(here); err != nil || info.IsDir() {
			continue // there is no file, or inTheWay examines the directory
		}
		if same, _ := sameFile(here, filepath.Join(old, path)); !same && !begins(here, filepath.Join(now, path)) {
			list = append(list, path)
		}
	}
	return list, nil
}

// begins reports whether a file is the same as another one, or is its beginning.
func begins(part, whole string) bool {
	if same, _ := sameFile(part, whole); same {
		return true
	}
	a, aerr := os.Lstat(part)
	b, berr := os.Lstat(whole)
	if aerr != nil || berr != nil || !a.Mode().IsRegular() || !b.Mode().IsRegular() {
		return false
	}
	x, xerr := os.ReadFile(part)
	y, yerr := os.ReadFile(whole)
	return xerr == nil && yerr == nil && bytes.HasPrefix(y, x)
}
