package work

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/refs"
)

// Located is a held claim, and the worktree of the clone that holds it.
type Located struct {
	*Claim
	GitDir string // git's directory of the worktree
}

// OfClone returns the held claims of all worktrees of a clone.
func OfClone(repo *refs.Repo) (held []Located, err error) {
	main := ClaimsOf(repo, repo.CommonDir)
	own, err := main.All()
	if err != nil {
		return nil, err
	}
	for _, h := range own {
		held = append(held, Located{h, repo.CommonDir})
	}
	linked, err := main.holders.All()
	for _, o := range linked {
		if o.Claim != nil && o.Claim.Held() {
			held = append(held, Located{o.Claim, o.GitDir})
		}
	}
	return held, err
}

// Worktree returns the directory of the worktree; "" if it was removed.
func (l Located) Worktree() (string, error) {
	if removed(l.GitDir) {
		return "", nil
	}
	link, err := os.ReadFile(filepath.Join(l.GitDir, "gitdir"))
	if errors.Is(err, fs.ErrNotExist) {
		return strings.TrimSuffix(l.GitDir, "/.git"), nil // the main worktree has no such file
	}
	return filepath.Dir(strings.TrimSpace(string(link))), err
}
