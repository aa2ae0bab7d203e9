package work

import (
	"slices"

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
