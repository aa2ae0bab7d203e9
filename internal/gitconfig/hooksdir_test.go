package gitconfig_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitconfig"
	"githandoff/internal/gittest"
)

// The commands of a hook are those that git itself reports.
func TestHookCommands(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	for _, set := range [][]string{
		{"a", "command", "old"},
		{"a", "command", "new"},
		{"a", "event", "post-commit"},
		{"a", "event", "pre-push"},
		{"b", "command", "b"},
		{"b", "event", "post-commit"},
		{"b", "event", ""},
		{"b", "event", "post-merge"},
		{"c", "command", "c"},
		{"c", "event", "post-commit"},
		{"c", "enabled", "false"},
		{"d", "command", "d"},
		{"d", "event", "post-rewrite"},
		{"post-rewrite", "enabled", "off"},
	} {
		git.Git(t, "config", "--add", "hook."+set[0]+"."+set[1], set[2])
	}
	if gittest.HasGit(t, "2.54") {
		assert.Equal(t, "a\ndisabled\tc", git.Git(t, "hook", "list", "post-commit"))
		assert.Equal(t, "b", git.Git(t, "hook", "list", "post-merge"))
	}
	for version, want := range map[string]map[string]map[string]string{
		"2.53.0": nil,
		"2.54.0": {
			"post-commit": {"hook.a.command": "new"},
			"pre-push":    {"hook.a.command": "new"},
			"post-merge":  {"hook.b.command": "b"},
		},
	} {
		gittest.WrapGit(t, `case " $* " in *' version '*) echo git version `+version+`; exit ;; esac`)
		got, err := gitconfig.HookCommands(t.Context(), open(t, git))
		require.NoError(t, err)
		assert.Equal(t, want, got, version)
	}
}
