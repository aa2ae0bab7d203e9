package initrepo

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

// SuggestedName returns the name of the worktree's directory, spelled as agents are.
func SuggestedName(repo *refs.Repo) string {
	return cmp.Or(spelled(filepath.Base(repo.Worktree)), "agent")
}

// BadName returns the hint for a name that no agent can have: the name spelled as agents are.
func BadName(name string) fault.Hint {
	if near := spelled(name); near != "" {
		return fault.Instead(name, near)
	}
	return fault.Fact("an agent's name looks like fixer or ci-bot.2")
}

// spelled returns a name with letters that an agent's name can have; "" if none are left.
func spelled(name string) string {
	name = strings.Trim(handoff.AgentLetters(name), "._-")
	if handoff.CheckAgent(name) != nil {
		return ""
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
