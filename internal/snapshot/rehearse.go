package snapshot

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"githandoff/internal/fault"
)

// rehearse checks the files out again, and compares: a filter or a setting for line ends could
// change the bytes on the way.
func (c *shot) rehearse(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	dir := filepath.Join(c.scratch.dir.Path, "out")
	list := []byte(strings.Join(paths, "\x00") + "\x00")
	if _, err := c.scratch.git(ctx, list, "checkout-index", "--force", "--prefix="+dir+"/", "-z", "--stdin"); err != nil {
		return gitFailed(err, "check the files of the snapshot out")
	}
	for _, path := range paths {
		if slices.Contains(c.req.Allow, path) {
			continue
		}
		same, err := sameFile(filepath.Join(c.repo.Worktree, path), filepath.Join(dir, path))
		if err != nil {
			return changedMeanwhile(show(path))
		}
		if o := c.blobs[c.read[path].oid]; !same && o != nil && isPointer(o.Body) && !c.isOnDisk(path, o.Body) {
			return onlyPointer(path)
		}
		if !same {
			return cannot("%s would have other bytes when it is checked out again: its line ends or filters are not those of .gitattributes", show(path)).
				WithHints(fault.Run("git", "add", "--", fromHere(c.repo, path)).Because("stages it as git stores it, and so it travels"))
		}
	}
	return nil
}

func onlyPointer(path string) error {
	return cannot("%s is kept by Git LFS, and only its pointer would travel", show(path)).
		WithHints(fault.Fact("commit it, and push its branch with git lfs"))
}

// isOnDisk reports whether the file has the bytes that git stores.
func (c *shot) isOnDisk(path string, stored []byte) bool {
	b, err := os.ReadFile(filepath.Join(c.repo.Worktree, path))
	return err == nil && bytes.Equal(b, stored)
}

// isPointer reports whether a blob stands for a file of Git LFS.
func isPointer(blob []byte) bool {
	return len(blob) < 1024 && bytes.HasPrefix(blob, []byte("version https://git-lfs.github.com/spec/"))
}

func sameFile(a, b string) (bool, error) {
	info, err := os.Lstat(a)
	if err != nil {
		return false, err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		x, err := os.Readlink(a)
		if err != nil {
			return false, err
		}
		y, err := os.Readlink(b)
		if errors.Is(err, syscall.EINVAL) { // git writes a file in its place where core.symlinks is false
			var text []byte
			text, err = os.ReadFile(b)
			y = string(text)
		}
		return err == nil && x == y, nil
	}
	x, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	y, err := os.ReadFile(b)
	return err == nil && bytes.Equal(x, y), nil
}
