package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// MergesGit is the oldest git that shows what a merge changes (git log --remerge-diff).
const MergesGit = "2.35"

// Changed lists, sorted and once each, the paths changed by commits; of a rename both. For a
// merge these are the paths in which it differs from git's own merge (git log --remerge-diff),
// including those in conflict. For a merge of more than two parents they are the paths in which
// it differs from any of them. A git older than [MergesGit] gives an error with reason git_too_old
// for a merge of two.
func Changed(ctx context.Context, repo *refs.Repo, commits []string) ([]string, error) {
	return changed(ctx, repo, commits, "--no-walk")
}

// changed is like Changed, for the commits that "git log --stdin" selects with these arguments and
// with commits as its input. If none is a merge, it costs one process.
func changed(ctx context.Context, repo *refs.Repo, commits []string, args ...string) ([]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	out, err := diff(ctx, repo, commits, "log", append([]string{
		"--format=%x00%H %P", "--no-show-signature", "--diff-merges=off", "--stdin",
	}, args...)...)
	if err != nil {
		return nil, err
	}
	paths, merges, octopuses := readLog(string(out))
	for _, m := range []struct {
		commits, how []string
	}{
		{merges, []string{"log", "--no-walk", "--format=", "--no-show-signature", "--remerge-diff", "--stdin"}},
		{octopuses, []string{"diff-tree", "--stdin", "-m", "--no-commit-id"}},
	} {
		if len(m.commits) == 0 {
			continue
		}
		if out, err = diff(ctx, repo, m.commits, m.how[0], m.how[1:]...); err != nil {
			if known, verr := repo.HasGit(ctx, MergesGit); verr == nil && !known {
				return nil, errOldMerges
			}
			return nil, err
		}
		paths = append(paths, split(string(out))...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

var errOldMerges = fault.New(fault.Unavailable, fault.GitTooOld, "this git does not tell what a merge changes: that takes git %s or newer", MergesGit).
	WithHints(fault.Run("git", "version").Because("says which git is in PATH"))

// readLog reads the output of "git log -z --name-only --format=%x00%H %P": the paths of all
// commits, and which of them are merges of two parents, and of more. An empty field precedes each
// commit. No path is empty, so no path can be taken for a commit.
func readLog(out string) (paths, merges, octopuses []string) {
	for commit := range strings.SplitSeq(strings.Trim(out, "\x00"), "\x00\x00") {
		head, list, _ := strings.Cut(commit, "\x00")
		paths = append(paths, split(strings.TrimPrefix(list, "\n"))...)
		switch oid, parents, _ := strings.Cut(head, " "); strings.Count(parents, " ") {
		case 0: // at most one parent
		case 1:
			merges = append(merges, oid)
		default:
			octopuses = append(octopuses, oid)
		}
	}
	return paths, merges, octopuses
}

// A few small trees that name each other describe any number of paths.
const (
	maxCompare = 1 << 30  // memory of a git that compares commits, in bytes
	maxChanged = 64 << 20 // bytes of all paths that the commits of a push change
)

func diff(ctx context.Context, repo *refs.Repo, commits []string, command string, args ...string) ([]byte, error) {
	// Settings of the user must not hide a change.
	cmd := gitexec.Cmd{Args: []string{
		"-c", "log.showRoot=true", command, "-z", "--name-only", "-r", "--no-renames", "--no-relative",
		"--no-ext-diff", "--no-textconv", "--ignore-submodules=none",
	}, Stdin: lines(commits), MaxMemory: maxCompare, MaxOutput: maxChanged}
	cmd.Args = append(cmd.Args, args...)
	out, err := repo.Runner.Run(ctx, cmd)
	switch {
	case gitexec.PastMaxMemory(err):
		return nil, denied(fault.TooLarge, "a commit changes more than git compares in %d MiB of memory", maxCompare>>20)
	case gitexec.PastMaxOutput(err):
		return nil, denied(fault.TooLarge, "the commits change paths of more than %d MiB together", maxChanged>>20)
	case err != nil:
		return nil, fmt.Errorf("list what commits change: %w", err)
	}
	return out, nil
}

func lines(list []string) *strings.Reader {
	return strings.NewReader(strings.Join(list, "\n") + "\n")
}

func split(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}

// Tokens lists the tokens named in the commits of a push from this clone, except commits known
// to be at a remote.
func Tokens(ctx context.Context, repo *refs.Repo, edits []refs.Edit) ([]string, error) {
	tips := newTips(edits)
	if len(tips) == 0 {
		return nil, nil
	}
	args := append(repo.Config.TrailerColon(), "log", "--stdin", "--no-show-signature", "--format=%(trailers:key=Handoff-Token,valueonly)")
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: append(args, atClient(edits)...), Stdin: lines(tips)})
	if err != nil {
		return nil, fmt.Errorf("read what the commits of a push name: %w", err)
	}
	named := strings.Fields(string(out))
	slices.Sort(named)
	return slices.Compact(named), nil
}
