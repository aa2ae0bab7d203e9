package hooks

import (
	"os"
	"path/filepath"
	"strings"
)

// ServerDir returns the directory for the hook of a hub, given git's own directory of hooks.
// Servers of many repositories write their own pre-receive there again with each upgrade, and
// run the hooks of a repository's keeper from elsewhere:
//
//	pre-receive.d/   beside it: Gitea, Forgejo, soft-serve (their pre-receive runs all of it)
//	custom_hooks/    in the git directory: Gogs, GitLab
//
// In either directory the hook is called pre-receive.
func ServerDir(dir, gitDir string) string {
	path := filepath.Join(dir, "pre-receive")
	written, _ := os.ReadFile(path)
	if originOf(written) != theirs {
		written, _ = os.ReadFile(path + backupSuffix)
	}
	text := string(written)
	custom := filepath.Join(gitDir, "custom_hooks")
	info, err := os.Stat(custom)
	switch {
	case strings.Contains(text, "pre-receive.d"), strings.Contains(text, "hookname}.d"):
		return path + ".d"
	case err == nil && info.IsDir(), strings.Contains(text, "gogs") && strings.Contains(text, " hook "):
		return custom
	}
	return dir
}
