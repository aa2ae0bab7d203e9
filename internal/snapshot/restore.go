package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/refs"
)

// Contents is the commits and trees of a snapshot.
type Contents struct {
	Commit  string
	Head    string
	Index   string // id of the tree of the index
	Tracked string // id of the tree of tracked files
	Others  string // id of the tree of untracked files; "" for none
	Intents []string

	intentModes map[string]string // modes of Intents, by path
	repo        *refs.Repo
	sound       bool // whether Sound has accepted the trees
}

// Limits for reading somebody else's snapshot.
const (
	maxCommit = 4 << 20 // size of a commit in bytes: it may name many paths
	maxPaths  = 100_000
)

// Open reads the commits of a snapshot and holds them to their shape.
func Open(ctx context.Context, repo *refs.Repo, oid string) (*Contents, error) {
	bad := func(why string) error {
		return fault.New(fault.Denied, fault.MalformedObject, "snapshot %s: %s", oid, why)
	}
	top, err := readCommit(ctx, repo, oid)
	if err != nil {
		return nil, err
	}
	parents := gitobj.Parents(top)
	if len(parents) != 2 && len(parents) != 3 {
		return nil, bad("it has not two or three parents")
	}
	c := &Contents{Commit: oid, Head: parents[0], Tracked: gitobj.Tree(top), repo: repo}
	index, err := readCommit(ctx, repo, parents[1])
	if err != nil {
		return nil, err
	}
	if !slices.Equal(gitobj.Parents(index), parents[:1]) {
		return nil, bad("the commit of its index does not stand on its HEAD")
	}
	c.Index = gitobj.Tree(index)
	_, message, _ := bytes.Cut(index, []byte("\n\n"))
	if !c.readIntents(string(message)) {
		return nil, bad("a path in it cannot be read")
	}
	if len(parents) == 3 {
		others, err := readCommit(ctx, repo, parents[2])
		if err != nil {
			return nil, err
		}
		if len(gitobj.Parents(others)) > 0 {
			return nil, bad("the commit of its untracked files has a parent")
		}
		c.Others = gitobj.Tree(others)
	}
	return c, nil
}

func readCommit(ctx context.Context, repo *refs.Repo, oid string) ([]byte, error) {
	o, err := repo.Read(ctx, oid, maxCommit)
	switch {
	case err != nil:
		return nil, err
	case o == nil:
		return nil, fault.New(fault.NotFound, fault.NoSnapshot, "the snapshot's commit %s is not here", oid)
	case o.Type != "commit":
		return nil, fault.New(fault.Denied, fault.MalformedObject, "%s is a %s, not a commit", oid, o.Type)
	}
	return o.Body, nil
}

// treeOf returns the tree of a commit.
func treeOf(ctx context.Context, repo *refs.Repo, oid string) (string, error) {
	commit, err := readCommit(ctx, repo, oid)
	return gitobj.Tree(commit), err
}

// Whole makes the tree of all files, tracked and untracked, for git to read. It refuses trees git
// would not check out.
func (c *Contents) Whole(ctx context.Context) (string, error) {
	if err := Sound(ctx, c); err != nil {
		return "", err
	}
	if c.Others == "" {
		return c.Tracked, nil
	}
	t := newTrees(c.repo)
	others := map[string]file{}
	if err := t.list(ctx, c.Others, "", others); err != nil {
		return "", err
	}
	tree, err := t.edit(ctx, c.Tracked, others)
	if err != nil {
		return "", err
	}
	return tree, c.repo.Store.Write(sorted(t.made)...)
}

// AddWorktree makes a linked worktree with a new branch, and in it the state of the
// snapshot. It calls made when that is complete. [Undo] removes the remains of a failure.
func (c *Contents) AddWorktree(ctx context.Context, dir, branch string, made func() error) error {
	whole, err := c.Whole(ctx)
	if err != nil {
		return err
	}
	_, err = c.repo.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"worktree", "add", "--quiet", "--no-checkout", "--no-track", "-b", branch, "--", dir, c.Head}, Finish: true,
	})
	if err != nil {
		return gitFailed(lockedBy(BranchLock(c.repo, branch), err), "make a worktree")
	}
	if err := mark(dir); err != nil {
		return err
	}
	run := within(c.repo.Runner, dir)
	if err := readTree(ctx, run, checkoutTime, "-m", "-u", whole); err != nil {
		return gitFailed(err, "check the snapshot out")
	}
	if err := c.setIndex(ctx, run, whole); err != nil {
		return err
	}
	if err := made(); err != nil {
		return err
	}
	return Unmark(dir)
}

// unfinished is a file in each worktree that AddWorktree has not finished. Undo removes no other worktree: an
// agent in a sandbox may write into git's directory, and name a worktree of somebody else there, but not into
// that worktree.
const unfinished = ".githandoff-unfinished"

func mark(dir string) error {
	text := "githandoff checks a snapshot out here. It removes this file at the end, and this directory if it was cut off.\n"
	return refs.DiskFault(os.WriteFile(filepath.Join(dir, unfinished), []byte(text), 0o600))
}

// Unmark says that a worktree is finished: a process may have been killed just before it did.
func Unmark(dir string) error { return durable.Remove(filepath.Join(dir, unfinished)) }

// ours reports whether what is left of a worktree may be removed: AddWorktree or its git made all of it.
func ours(repo *refs.Repo, dir string) bool {
	names, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return errors.Is(err, fs.ErrNotExist)
	case len(names) == 1 && names[0].Name() == ".git":
		git, err := refs.GitDirOf(dir)
		return err == nil && filepath.Dir(git) == filepath.Join(repo.CommonDir, "worktrees")
	}
	return len(names) == 0 || slices.ContainsFunc(names, func(f fs.DirEntry) bool { return f.Name() == unfinished && f.Type().IsRegular() })
}

// BranchLock returns the file by which git locks a branch.
func BranchLock(repo *refs.Repo, branch string) string {
	return filepath.Join(repo.CommonDir, "refs", "heads", branch+".lock")
}

// checkoutTime bounds the checkout of a whole tree.
const checkoutTime = gitexec.RemoteTimeout

// setIndex gives the index the state of the sender's, and leaves the files alone.
func (c *Contents) setIndex(ctx context.Context, run *gitexec.Runner, whole string) error {
	if c.Index != whole {
		if err := readTree(ctx, run, 0, "-m", c.Index); err != nil {
			return gitFailed(err, "set the index")
		}
	}
	if len(c.Intents) == 0 {
		return nil
	}
	if err := c.addIntents(ctx, run); err != nil {
		return gitFailed(err, "set the index")
	}
	return nil
}

// Undo removes an unfinished worktree of AddWorktree: the directory, git's record of it, and
// the branch if it is still where it was made. A directory with other files stays as it is: the caller has dir
// from a file, which an agent may have written.
func Undo(ctx context.Context, repo *refs.Repo, dir, branch, head string) error {
	dir = refs.RealParent(dir) // as git records it
	if !ours(repo, dir) {
		return nil
	}
	if err := dropRecords(repo, dir, func(string) bool { return true }); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(repo.CommonDir, "worktrees"))
	if err := removeMarked(dir); err != nil {
		return err
	}
	ref := "refs/heads/" + branch
	if now, err := repo.Resolve(ctx, ref); err != nil || now != head {
		return err
	}
	return repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref, Old: head}}})
}

// removeMarked removes a directory, and the mark last, so that the next process can go on after a killed one.
func removeMarked(dir string) error {
	names, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, f := range names {
		if f.Name() == unfinished {
			continue
		}
		if err := removeAll(filepath.Join(dir, f.Name())); err != nil {
			return err
		}
	}
	return removeAll(dir)
}

// DropBroken removes git's record of an unfinished worktree if git cannot read its HEAD: "git
// worktree add" of a git before 2.44 writes an object id of zeros there first. If it was killed then,
// each fetch of the repository fails. A later git leaves no HEAD, which disturbs nothing.
func DropBroken(repo *refs.Repo, dir string) error {
	return dropRecords(repo, refs.RealParent(dir), func(admin string) bool {
		head, err := refs.ReadFile(filepath.Join(admin, "HEAD"), "")
		return err == nil && !strings.HasPrefix(head, "ref: ")
	})
}

// dropRecords removes git's directories of the worktree dir accepted by right.
func dropRecords(repo *refs.Repo, dir string, right func(admin string) bool) error {
	records, _ := os.ReadDir(filepath.Join(repo.CommonDir, "worktrees")) // without worktrees there is no such directory
	for _, r := range records {
		admin := filepath.Join(repo.CommonDir, "worktrees", r.Name())
		if !right(admin) || !recordsWorktree(admin, dir) {
			continue
		}
		if err := removeAll(admin); err != nil {
			return err
		}
	}
	return nil
}

func removeAll(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return refs.DiskFault(fmt.Errorf("remove what is left of a worktree: %w", err))
	}
	return nil
}

// recordsWorktree reports whether git's directory of a worktree is that of dir, or of a
// worktree whose creation was cut off before its path was written.
func recordsWorktree(admin, dir string) bool {
	if link, err := refs.LinkOf(admin); err == nil && link != "" {
		return link == filepath.Join(dir, ".git")
	}
	lock, err := refs.ReadFile(filepath.Join(admin, "locked"), "")
	return err == nil && strings.TrimSpace(lock) == "initializing" && strings.HasPrefix(filepath.Base(admin), filepath.Base(dir))
}
