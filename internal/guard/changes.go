package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// Changed lists, sorted and once each, the paths that commits change; of a rename
// both. A merge changes those in which it differs from what git makes of it by
// itself (git log --remerge-diff), which are also those that were in conflict; a
// merge of more than two parents those in which it differs from any of them.
func Changed(ctx context.Context, repo *refs.Repo, commits []string) ([]string, error) {
	if len(commits) == 0 {
		return nil, nil
	}
	out, err := diff(ctx, repo, commits, "log", "--no-walk", "--max-parents=2", "--stdin", "--format=", "--no-show-signature", "--remerge-diff")
	if err != nil {
		return nil, err
	}
	paths := split(out)
	many, err := repo.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"rev-list", "--no-walk", "--min-parents=3", "--stdin"}, Stdin: lines(commits),
	})
	if err != nil {
		return nil, fmt.Errorf("look for merges: %w", err)
	}
	if octopuses := strings.Fields(string(many)); len(octopuses) > 0 {
		if out, err = diff(ctx, repo, octopuses, "diff-tree", "--stdin", "-m", "--no-commit-id"); err != nil {
			return nil, err
		}
		paths = append(paths, split(out)...)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

func diff(ctx context.Context, repo *refs.Repo, commits []string, args ...string) ([]byte, error) {
	// Settings of the user must not hide a change.
	cmd := gitexec.Cmd{Args: append([]string{"-c", "log.showRoot=true"}, args...), Stdin: lines(commits)}
	cmd.Args = append(cmd.Args, "-z", "--name-only", "-r", "--no-renames", "--no-relative",
		"--no-ext-diff", "--no-textconv", "--ignore-submodules=none")
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
