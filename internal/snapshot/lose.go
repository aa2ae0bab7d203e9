package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// wouldLose names the files in the way in this work tree: changed tracked files, and files
// unknown to git, ignored or not, where the snapshot has one.
func (c *Contents) wouldLose(ctx context.Context, whole string) error {
	if err := c.isReady(ctx); err != nil {
		return err
	}
	changes, err := readStatus(ctx, inTop(c.repo), "no")
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		return ownChanges(changes[0].path)
	}
	if err := c.hidden(ctx, whole); err != nil {
		return err
	}
	lost, err := c.inTheWay(ctx, whole)
	if err != nil {
		return err
	}
	return wouldBeLost(lost)
}

// isReady refuses a work tree in which no checkout can start.
func (c *Contents) isReady(ctx context.Context) error {
	if c.repo.Worktree == "" {
		return fault.New(fault.Usage, fault.BareRepository, "a bare repository has no files to change")
	}
	if c.repo.Head == "" {
		return fault.New(fault.Conflict, fault.WorkTreeTaken, "HEAD has no commit yet for the checkout to start from").
			WithHints(fault.Run("git", "commit", "--allow-empty", "-m", "begin").Because("makes the first one"))
	}
	if err := refuseElsewhere(c.repo); err != nil {
		return err
	}
	if what := underWay(ctx, c.repo); what != "" {
		return fault.New(fault.Conflict, fault.WorkTreeTaken, "this work tree is in the middle of a %s", what).
			WithHints(fault.Run("git", "status").Because("says how to end it"))
	}
	return nil
}

func ownChanges(path string) error {
	return fault.New(fault.Conflict, fault.WorkTreeTaken, "this work tree has changes of its own: %s", show(path)).
		WithHints(fault.Run("git", "status").Because("lists them"))
}

func wouldBeLost(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	return fault.New(fault.Conflict, fault.WorkTreeTaken, "untracked files would be lost: %s", showSome(paths)).
		WithHints(fault.Fact("move them away first"))
}

func repositoriesStay(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	return fault.New(fault.Conflict, fault.WorkTreeTaken, "repositories inside this work tree would be changed or removed: %s", showSome(paths)).
		WithHints(fault.See("resume").Because("--worktree checks the snapshot out elsewhere"))
}

// underWay returns an operation git has begun in this work tree and not ended.
func underWay(ctx context.Context, repo *refs.Repo) string {
	isFile := func(name string) bool {
		_, err := os.Lstat(filepath.Join(repo.GitDir, name))
		return err == nil
	}
	switch {
	case isFile("MERGE_HEAD"):
		return "merge"
	case isFile("rebase-apply/applying"):
		return "git am"
	case isFile("rebase-merge"), isFile("rebase-apply"):
		return "rebase"
	case refs.HasHead(ctx, repo, "CHERRY_PICK_HEAD"):
		return "cherry-pick"
	case refs.HasHead(ctx, repo, "REVERT_HEAD"):
		return "revert"
	case isFile("sequencer/todo"): // between two commits of the sequence
		return "cherry-pick or revert"
	}
	return ""
}

// hidden refuses a work tree in which git was told not to look at some files, because a checkout
// would overwrite changes that git does not see.
func (c *Contents) hidden(ctx context.Context, whole string) error {
	out, err := inTop(c.repo).Run(ctx, gitexec.Cmd{Args: []string{"ls-files", "-v", "-z"}})
	if err != nil {
		return err
	}
	var unseen []string
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		flag, path, _ := strings.Cut(line, " ")
		switch {
		case flag == "S" || flag == "s":
			return fault.New(fault.Conflict, fault.WorkTreeTaken, "this work tree is a sparse checkout, without %s", show(path)).
				WithHints(fault.See("resume").Because("--worktree checks the snapshot out elsewhere"))
		case flag == "h":
			unseen = append(unseen, path)
		}
	}
	if len(unseen) == 0 {
		return nil
	}
	changed, err := c.differing(ctx, whole)
	if err != nil {
		return err
	}
	for _, path := range unseen {
		if _, part := changed[path]; part {
			return fault.New(fault.Conflict, fault.WorkTreeTaken, "git was told not to look at %s, which the snapshot changes", show(path)).
				WithHints(fault.Run("git", "update-index", "--no-assume-unchanged", "--", fromHere(c.repo, path)).Because("makes git look at it again"))
		}
	}
	return nil
}
