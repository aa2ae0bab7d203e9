package initrepo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/private"
	"githandoff/internal/refs"
)

// oldDraft is the draft in the work tree, which earlier versions read.
const oldDraft = ".handoff.json"

// unexcludeDraft removes the lines of earlier versions from info/exclude. A draft in the work tree
// is no longer read, and one from a patch must show in "git status". Other lines stay as they are.
func unexcludeDraft(repo *refs.Repo) error {
	if repo.Bare {
		return nil
	}
	path := filepath.Join(repo.CommonDir, "info", "exclude")
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	const written = oldDraft + "\n" + oldDraft + ".rejected" + "\n" // an earlier version wrote these two lines
	before, after, found := strings.Cut("\n"+string(b), "\n"+written)
	if !found {
		return nil
	}
	return private.WriteFile(path, []byte(strings.TrimPrefix(before+"\n", "\n")+after))
}
