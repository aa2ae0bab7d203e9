package workspace

import (
	"fmt"
	"path/filepath"
	"slices"

	"githandoff/internal/sign"
)

// Elsewhere returns the warning for a handoff that stays in this clone, if its agent does not work
// here. It says where the agent may work. An agent working here has a worktree or a key.
func (hs *Homes) Elsewhere(agent string, keys sign.Keystore) error {
	main := hs.MainRemote()
	if main == "" || slices.Contains(AgentsOfClone(hs.Repo), agent) {
		return nil
	}
	if keys, _ := filepath.Glob(filepath.Join(keys.Dir, agent+".*")); len(keys) > 0 {
		return nil
	}
	if known, near := sign.NearestAgent(hs.Engine.Keys.Trust, agent); !known && near != "" {
		return nil // it is misspelled: other advice says so
	}
	return fmt.Errorf("%s is not an agent of this clone, and this handoff stays in it; did you mean %s@%s?", agent, agent, main)
}
