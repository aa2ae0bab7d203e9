package workspace

import (
	"cmp"
	"fmt"
	"slices"

	"githandoff/internal/sign"
)

// Elsewhere returns the warning for a handoff that stays in this clone, if no worktree of it is the
// agent's and there is another repository where the agent may work. A key in the user's keystore does
// not tell: all clones of the user share it.
func (hs *Homes) Elsewhere(agent string) error {
	if hs.Repo.Config.Get("handoff.agent") == agent || slices.Contains(AgentsOfClone(hs.Repo), agent) {
		return nil
	}
	names := hs.Aliases.Names()
	if len(names) == 0 {
		return nil
	}
	if known, near := sign.NearestAgent(hs.Engine.Keys.Trust, agent); !known && near != "" {
		return nil // it is misspelled: other advice says so
	}
	hub := cmp.Or(hs.MainRemote(), names[0])
	return fmt.Errorf("%s is not an agent of this clone, and this handoff stays in it; did you mean %s@%s?", agent, agent, hub)
}
