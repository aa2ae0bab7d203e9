package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"githandoff/internal/private"
	"githandoff/internal/refs"
)

// AgentOf is the agent that init wrote down for a worktree; "" before that.
func AgentOf(repo *refs.Repo) (string, error) {
	b, err := private.ReadState(repo.OwnWorktree("agent"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(bytes.TrimSpace(b)), err
}

// AgentsOfClone are the agents of all worktrees of a clone.
func AgentsOfClone(repo *refs.Repo) []string {
	var names []string
	files, _ := filepath.Glob(filepath.Join(repo.CommonDir, "worktrees", "*", "githandoff", "agent"))
	for _, file := range append(files, repo.Own("agent")) {
		if b, err := os.ReadFile(file); err == nil {
			names = append(names, string(bytes.TrimSpace(b)))
		}
	}
	return names
}
