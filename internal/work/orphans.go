package work

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/refs"
)

// shared is the copy of a claim for the whole clone.
type shared struct {
	Claim  *Claim `json:"claim"`
	GitDir string `json:"git_dir"` // of the worktree that holds it
}

// Adopt takes over the claims that an agent made with a key in worktrees of this
// clone that were removed since. It holds the lock of the clone meanwhile: a claim has one
// worktree.
func (c Claims) Adopt(ctx context.Context, repo *refs.Repo, agent, kid string) error {
	all, err := c.Orphans(repo, agent, kid)
	if err != nil || len(all) == 0 {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	all, err = c.Orphans(repo, agent, kid)
	for _, h := range all {
		if err := c.put(h); err != nil {
			return err
		}
		if c.Shared == "" { // the main worktree stays as long as the clone
			if err := orphans(repo).Drop(h.ID); err != nil {
				return err
			}
		}
	}
	return err
}

// Orphans are the claims that Adopt would take over.
func (c Claims) Orphans(repo *refs.Repo, agent, kid string) ([]*Claim, error) {
	all, err := orphans(repo).All()
	var list []*Claim
	for _, o := range all {
		h := o.Claim
		if h != nil && h.Actor == agent && h.Key == kid && filepath.IsAbs(o.GitDir) && o.GitDir != c.GitDir && removed(o.GitDir) {
			list = append(list, h)
		}
	}
	return list, err
}

func orphans(repo *refs.Repo) Shelf[shared] { return Shelf[shared]{Dir: repo.Own("holders")} }

// removed reports whether a linked worktree is gone: git forgot it, or its files
// are not there and nobody locked it, as one does for a disk that comes back.
func removed(gitDir string) bool {
	link, err := os.ReadFile(filepath.Join(gitDir, "gitdir"))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(gitDir)
		return errors.Is(err, fs.ErrNotExist)
	}
	if err != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(gitDir, "locked")); err == nil {
		return false
	}
	_, err = os.Stat(strings.TrimSpace(string(link)))
	return errors.Is(err, fs.ErrNotExist)
}
