package initrepo

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// SuggestedName returns the name of the worktree's directory, spelled as agents are.
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

// FreeName returns the suggested name, with a number if another worktree of the clone has it.
func FreeName(repo *refs.Repo) string {
	base, others := SuggestedName(repo), workspace.AgentsOfClone(repo)
	for name, n := base, 2; ; n++ {
		if !slices.Contains(others, name) {
			return name
		}
		name = fmt.Sprint(base, "-", n)
	}
}
