package gitconfig

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReaches(t *testing.T) {
	for spec, want := range map[string]bool{
		"+refs/heads/*:refs/remotes/origin/*":       false,
		"refs/heads/main:refs/remotes/origin/main":  false,
		"+refs/*:refs/remotes/origin/*":             false,
		"+refs/*:refs/mirror/*":                     false,
		"refs/heads/main":                           false,
		"^refs/handoffs/*":                          false,
		"^refs/heads/x:refs/handoffs/x":             false,
		"+refs/notes/*:refs/notes/*":                false,
		"+refs/*:refs/*":                            true,
		"refs/*:refs/*":                             true,
		"+*:*":                                      true,
		"+refs/handoffs/*:refs/handoffs/*":          true,
		"+refs/h*:refs/h*":                          true,
		"+refs/heads/*:refs/handoffs/remotes/x/*":   true,
		"+refs/heads/main:refs/handoffs/inbox/main": true,
		"+refs/handoffs/*:refs/remotes/origin/h/*":  false,
	} {
		assert.Equal(t, want, reaches(spec), spec)
	}
}
