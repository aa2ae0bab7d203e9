package obo

import (
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// The actions that githandoff checks. A token may have others, for whoever else asks.
const (
	actionPush  = "repo.push"
	actionWrite = "repo.write"
)

// Misspelled returns the action that githandoff checks and that the one of a scope nearly is; "" if
// it is none or exactly one of these.
func Misspelled(scope string) string {
	action, _, _ := strings.Cut(scope, ":")
	return fault.Nearest(action, []string{actionPush, actionWrite})
}

// RequiredScopes lists, sorted and once each, the scopes needed for a push: repo.push for each
// ref created, moved or deleted (a full name), and repo.write for each path changed by its
// commits. Give both names of a rename.
//
// A name outside the grammar, such as one with a control character in it, gives a scope no
// token allows; one ending in a segment "*" gives the wildcard, which asks for more than the
// name.
func RequiredScopes(refs, changedPaths []string) []string {
	scopes := make([]string, 0, len(refs)+len(changedPaths))
	for _, ref := range refs {
		scopes = append(scopes, actionPush+":"+ref)
	}
	for _, path := range changedPaths {
		scopes = append(scopes, actionWrite+":"+path)
	}
	return sortedSet(scopes)
}

// astray reports whether the target of a scope leads elsewhere than it says: a push to a
// refspec or a revision, which are no names of refs, or a file in git's own directory, in any
// spelling a file system takes for it.
func astray(scope string) bool {
	action, target, aimed := strings.Cut(scope, ":")
	switch {
	case !aimed:
		return false
	case action == actionPush:
		return strings.HasPrefix(target, "+") || strings.ContainsAny(target, " ~^:?[\\") || strings.Contains(target, "@{")
	case action == actionWrite:
		return handoff.CheckPath(target) != nil
	}
	return false
}
