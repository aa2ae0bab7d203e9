package cli

import (
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/refs"
)

// fromTop returns the path that records have of a file: from the top of the work tree, while a
// command line names it from the current directory, here. If only the file at the top exists,
// path means that one. A path that leads out of the work tree is returned as it is.
func fromTop(top, here, path string) string {
	at := path
	if !filepath.IsAbs(path) {
		at = filepath.Join(here, path)
	}
	inside := below(top, at)
	if inside == "" || !exists(at) && !filepath.IsAbs(path) && exists(filepath.Join(top, path)) {
		return path
	}
	return filepath.ToSlash(inside)
}

// below returns the path of a file from dir, "" if it is not below it. The directory of the file
// may be reached through a link.
func below(dir, file string) string {
	for _, dir := range []string{dir, refs.RealPath(dir)} {
		for _, file := range []string{file, refs.RealParent(file)} {
			rel, err := filepath.Rel(dir, file)
			if err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
				return rel
			}
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
