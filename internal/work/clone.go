package work

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// OfClone returns the held claims of all worktrees of a clone.
func OfClone(repo *refs.Repo) ([]*Claim, error) {
	all, err := ClaimsOf(repo, repo.CommonDir).All()
	if err != nil {
		return nil, err
	}
	linked, err := (Documents[shared]{Dir: repo.Own("holders")}).All()
	for _, o := range linked {
		if o.Claim != nil && o.Claim.Held() {
			all = append(all, o.Claim)
		}
	}
	return slices.Clip(all), err
}

// WorktreeOf returns the directory of the worktree of a clone that holds a handoff by a claim with
// this nonce; "" if none does, or that worktree was removed.
func WorktreeOf(repo *refs.Repo, id handoff.ID, nonce string) (string, error) {
	h, err := ClaimsOf(repo, repo.CommonDir).Get(id)
	if err != nil || h.Mine(nonce) {
		return strings.TrimSuffix(repo.CommonDir, "/.git"), err
	}
	o, err := (Documents[shared]{Dir: repo.Own("holders")}).Get(id)
	if err != nil || o == nil || !o.Claim.Mine(nonce) || removed(o.GitDir) {
		return "", err
	}
	link, err := os.ReadFile(filepath.Join(o.GitDir, "gitdir"))
	return filepath.Dir(strings.TrimSpace(string(link))), err
}
