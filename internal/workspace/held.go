package workspace

import (
	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
)

// HeldBy picks the claims at one hub, by whatever of its names.
func HeldBy(a *crossrepo.Alias, at map[string][]handoff.ID) (ids []handoff.ID) {
	for repoID, some := range at {
		if a.Is(repoID) {
			ids = append(ids, some...)
		}
	}
	return ids
}
