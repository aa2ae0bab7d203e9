package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// Changed lists, sorted and once each, the paths that commits change; of a rename
// both. A merge changes those in which it differs from what git makes of it by
// itself (git log --remerge-diff), which are also those that were in conflict; a
// merge of more than two parents those in which it differs from any of them.
func Changed(ctx context.Context, repo *refs.Repo, commits []string) ([]string, error) {
	return changed(ctx, repo, commits, "--no-walk")
}

// changed is Changed for the commits that "git rev-list --stdin" selects with these
// arguments, where it is told commits.
func changed(ctx context.Context, repo *refs.Repo, commits []string, args ...string) ([]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	var octopuses []string
	var failed error
	var beside sync.WaitGroup
	beside.Go(func() {
		many, err := repo.Runner.Run(ctx, gitexec.Cmd{
			Args: append([]string{"rev-list", "--min-parents=3", "--stdin"}, args...), Stdin: lines(commits),
		})
		octopuses, failed = strings.Fields(string(many)), err
	})
	out, err := diff(ctx, repo, commits, "log", append([]string{
		"--max-parents=2", "--format=", "--no-show-signature", "--remerge-diff", "--stdin",
	}, args...)...)
	beside.Wait()
	if err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, fmt.Errorf("look for merges: %w", failed)
	}
	paths := split(out)
	if len(octopuses) > 0 {
		if out, err = diff(ctx, repo, octopuses, "diff-tree", "--stdin", "-m", "--no-commit-id"); err != nil {
			return nil, err
		}
		paths = append(paths, split(out)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

func diff(ctx context.Context, repo *refs.Repo, commits []string, command string, args ...string) ([]byte, error) {
	// Settings of the user must not hide a change.
	cmd := gitexec.Cmd{Args: []string{
		"-c", "log.showRoot=true", command, "-z", "--name-only", "-r", "--no-renames", "--no-relative",
		"--no-ext-diff", "--no-textconv", "--ignore-submodules=none",
	}, Stdin: lines(commits)}
	cmd.Args = append(cmd.Args, args...)
	out, err := repo.Runner.Run(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("list what commits change: %w", err)
	}
	return out, nil
}

func lines(list []string) *strings.Reader {
	return strings.NewReader(strings.Join(list, "\n") + "\n")
}

func split(out []byte) []string {
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}
