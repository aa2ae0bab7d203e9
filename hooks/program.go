package hooks

import (
	"fmt"
	"os"
	"path/filepath"
)

// Program returns the path by which hooks start this program. A link in a directory of path, the
// value of $PATH, is better than its target, since an upgrade changes the target.
func Program(path string) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	own, err := os.Stat(exe)
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	for _, dir := range filepath.SplitList(path) {
		link := filepath.Join(dir, "githandoff")
		if info, err := os.Stat(link); filepath.IsAbs(dir) && err == nil && os.SameFile(info, own) {
			return link, nil
		}
	}
	return exe, nil
}
