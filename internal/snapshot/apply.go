package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// Diff returns git's output of the difference between a commit or tree and all files of the
// snapshot, tracked and untracked.
func (c *Contents) Diff(ctx context.Context, base string, args ...string) ([]byte, error) {
	whole, err := c.Whole(ctx)
	if err != nil {
		return nil, err
	}
	args = append([]string{"-c", "core.quotePath=true", "diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"}, args...)
	out, err := c.repo.Runner.Run(ctx, gitexec.Cmd{Args: append(args, base+"^{tree}", whole), MaxOutput: 1 << 30})
	if err != nil {
		return nil, gitFailed(err, "compare the snapshot with "+base)
	}
	return out, nil
}

// Patch is like Diff in a form "git apply" takes, binary files included.
func (c *Contents) Patch(ctx context.Context, base string) ([]byte, error) {
	return c.Diff(ctx, base, "-p", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", "--find-renames")
}

// Bundle returns a git bundle of the snapshot, reached by ref, without the objects reached by
// base. No git writes it to a file: it would put a file in the place of a device or a pipe.
func (c *Contents) Bundle(ctx context.Context, ref, base string) ([]byte, error) {
	args := []string{"bundle", "create", "--quiet", "-", ref}
	if base != "" {
		args = append(args, "^"+base)
	}
	out, err := c.repo.Runner.Run(ctx, gitexec.Cmd{Args: args, Binary: true, MaxOutput: 1 << 30})
	if err != nil {
		return nil, gitFailed(err, "write a bundle")
	}
	return out, nil
}

// Apply changes the files of this work tree as the snapshot changed those of base, with
// a three-way merge, and leaves the changes unstaged. It is refused whole, with the
// files named, if it does not fit or if something would be lost. The repository may
// have another history: then base can be "", for the newest commit that both share.
func (c *Contents) Apply(ctx context.Context, base string) error {
	if c.repo.Worktree == "" {
		return fault.New(fault.Usage, fault.BareRepository, "a bare repository has no files to change")
	}
	var err error
	if base == "" {
		if base, err = shared(ctx, c.repo, c.Head); err != nil {
			return err
		}
	}
	patch, err := c.Patch(ctx, base)
	if err != nil || len(patch) == 0 {
		return err
	}
	if err := c.isReady(ctx); err != nil {
		return err
	}
	s, err := newScratch(c.repo)
	if err != nil {
		return err
	}
	defer s.close()
	run, env := inTop(c.repo), []string{"GIT_INDEX_FILE=" + s.index()}
	if there, err := landed(ctx, c, base); err != nil {
		return err
	} else if there {
		// Even if only an index is merged, git compares files that both sides added, and writes those that
		// are missing.
		files := filepath.Join(s.dir.Path, "files")
		if err := os.Mkdir(files, 0o700); err != nil {
			return refs.DiskFault(err)
		}
		run, env = within(c.repo.Runner, files), append(env, "GIT_DIR="+c.repo.GitDir, "GIT_WORK_TREE="+files)
	}
	withIndex := func(stdin []byte, args ...string) (string, error) {
		byDriver := args[0] == "apply" // a merge driver writes there as well, and need not end its line
		out, err := run.Run(ctx, gitexec.Cmd{Args: args, Stdin: bytes.NewReader(stdin), Env: env, Binary: byDriver})
		return strings.TrimSpace(string(out)), err
	}
	if _, err := withIndex(nil, "read-tree", c.repo.Head); err != nil {
		return gitFailed(err, "read HEAD")
	}
	if _, err := withIndex(patch, "apply", "--3way", "--cached", "--whitespace=nowarn", "-"); gitexec.Unexplained(err) {
		return gitFailed(err, "merge the changes")
	} else if err != nil {
		unmerged, _ := withIndex(nil, "diff-files", "--diff-filter=U", "--name-only", "-z")
		return doesNotFit(strings.Split(strings.Trim(unmerged, "\x00"), "\x00"), err)
	}
	tree, err := withIndex(nil, "write-tree")
	if err != nil {
		return gitFailed(err, "write the merged files")
	}
	if err := c.wouldLose(ctx, tree); err != nil {
		return err
	}
	if err := c.switchTo(ctx, tree); fault.As(err) != nil {
		return err
	} else if err != nil {
		// git writes the index last: with it, all files are changed.
		if done, _ := c.indexIs(context.WithoutCancel(ctx), tree); done {
			return unstage(ctx, c)
		}
		if uerr := putBack(ctx, c, tree); uerr != nil {
			return fmt.Errorf("%w; %w", gitFailed(err, "change the files"), uerr)
		}
		if gitexec.Unexplained(err) {
			return gitFailed(err, "change the files")
		}
		return fault.New(fault.Conflict, fault.WorkTreeTaken, "this work tree cannot take the changes: %w", err)
	}
	return unstage(ctx, c)
}

// unstage sets the index back to HEAD. If it fails, the files are changed anyway.
func unstage(ctx context.Context, c *Contents) error {
	err := gitFailed(c.readTree(ctx, 0, "-m", c.repo.Head), "the files are changed, and staged")
	if fault.Is(err, fault.GitRefused) || fault.Is(err, fault.GitFailed) {
		return fault.As(err).WithHints(fault.Run("git", "reset", "--quiet").Because("leaves the changes unstaged"))
	}
	return err
}

// shared returns the newest commit that HEAD has in common with a commit that was sent, or the empty
// tree if there is none.
func shared(ctx context.Context, repo *refs.Repo, sent string) (string, error) {
	none := repo.Format.EmptyTree()
	if repo.Head == "" {
		return none, nil
	}
	out, err := git(ctx, repo, "", "merge-base", repo.Head, sent)
	if failed, ok := errors.AsType[*gitexec.Error](err); ok && failed.Code == 1 {
		return none, nil
	}
	return strings.TrimSpace(out), err
}

// landed reports whether HEAD has one of the files that the snapshot added to base. If it has none,
// git apply looks at no file, and the merge drivers of the user run in the directory with the files.
func landed(ctx context.Context, c *Contents, base string) (bool, error) {
	var added [2][]string // files that the snapshot adds to base, and to HEAD
	for i, from := range []string{base, c.repo.Head} {
		names, err := c.Diff(ctx, from, "--name-only", "-z", "--no-renames", "--diff-filter=A")
		if err != nil || len(names) == 0 {
			return err == nil && i > 0, err
		}
		added[i] = strings.Split(strings.TrimSuffix(string(names), "\x00"), "\x00")
	}
	slices.Sort(added[1])
	return slices.ContainsFunc(added[0], func(name string) bool {
		_, found := slices.BinarySearch(added[1], name)
		return !found
	}), nil
}

// doesNotFit names the files in conflict, or repeats git's message.
func doesNotFit(files []string, cause error) error {
	if len(files) == 0 || files[0] == "" {
		files = nil
		if e, ok := errors.AsType[*gitexec.Error](cause); ok {
			for line := range strings.Lines(e.Stderr) {
				if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "error: "); ok && !alsoSaid(rest) {
					files = append(files, strings.TrimSuffix(rest, ": patch does not apply"))
				}
			}
		}
	}
	return fault.New(fault.Conflict, fault.DoesNotFit, "the changes do not fit: %s", showSome(files)).
		WithHints(fault.See("work export").Because("--patch writes them to a file"))
}

// alsoSaid reports whether a line of git apply only repeats its other lines. git also reports a
// missing blob for a removed file, which has none.
func alsoSaid(line string) bool {
	return strings.HasPrefix(line, "patch failed: ") || strings.HasPrefix(line, "cannot read the current contents of ") ||
		strings.HasPrefix(line, "repository lacks the necessary blob")
}
