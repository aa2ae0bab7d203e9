package githook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// ByHand says how a commit names a claim where no hook does it; "" where hooks run.
func ByHand(repo *refs.Repo, h *work.Claim) string {
	if !hooksOff(repo) {
		return ""
	}
	line := "Git runs no hooks here. A commit names this handoff by: git commit"
	for _, trailer := range trailers(h) {
		line += fmt.Sprintf(" --trailer '%s'", trailer)
	}
	return line + "\n"
}

// hooksOff reports whether core.hooksPath keeps git from running any hook. The shell of
// Gemini CLI sets it to nothing in the environment. The last value is the one with which
// githandoff itself runs git.
func hooksOff(repo *refs.Repo) bool {
	set := repo.Config["core.hookspath"]
	if n := len(set); n > 0 && set[n-1] == os.DevNull {
		set = set[:n-1]
	}
	if len(set) == 0 {
		return false
	}
	dir := set[len(set)-1]
	switch {
	case dir == "":
		return true
	case strings.HasPrefix(dir, "~"):
		return false // only git knows whose home directory is meant
	case !filepath.IsAbs(dir):
		dir = filepath.Join(repo.Worktree, dir)
	}
	info, err := os.Stat(dir)
	return err == nil && !info.IsDir()
}
