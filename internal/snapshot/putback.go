package snapshot

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/gitexec"
)

// putBack undoes the changes that git made before switchTo failed, for example because of a filter
// or a full disk. Before them the work tree was as HEAD has it, with no file that HEAD does not
// have in the way. The index still is as HEAD has it.
func putBack(ctx context.Context, c *Contents, tree string) error {
	ctx = context.WithoutCancel(ctx)
	changed, err := c.differing(ctx, tree)
	if err != nil {
		return err
	}
	var back strings.Builder
	for path, k := range changed {
		if k.before {
			back.WriteString(path + "\x00")
		} else if !belowLink(c.repo.Worktree, path) {
			removeWithParents(c.repo.Worktree, path)
		}
	}
	_, err = inTop(c.repo).Run(ctx, gitexec.Cmd{
		Args:  slices.Concat(plain, []string{"checkout-index", "--quiet", "--force", "-z", "--stdin"}),
		Stdin: strings.NewReader(back.String()), Timeout: checkoutTime, Finish: true,
	})
	if err != nil {
		return gitFailed(locked(c.repo, err), "put the files back as HEAD has them")
	}
	return nil
}

// belowLink reports whether a directory of a path is a symbolic link: the path is not in
// this work tree then.
func belowLink(top, path string) bool {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(top, dir)); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// removeWithParents removes a file, and the directories empty without it.
func removeWithParents(top, path string) {
	for ; path != "."; path = filepath.Dir(path) {
		if os.Remove(filepath.Join(top, path)) != nil {
			return // the file does not exist, or the directory is not empty
		}
	}
}
