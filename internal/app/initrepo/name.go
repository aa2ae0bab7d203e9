package initrepo

import (
	"path/filepath"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// SuggestedName is the name of the worktree's directory, spelled as agents are.
func SuggestedName(repo *refs.Repo) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, strings.ToLower(filepath.Base(repo.Worktree)))
	name = strings.Trim(name, "._-")
	if handoff.CheckAgent(name) != nil {
		return "agent"
	}
	return name
}
