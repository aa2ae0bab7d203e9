package obo

import (
	"strings"

	"githandoff/internal/handoff"
)

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
		scopes = append(scopes, "repo.push:"+ref)
	}
	for _, path := range changedPaths {
		scopes = append(scopes, "repo.write:"+path)
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
	case action == "repo.push":
		return strings.HasPrefix(target, "+") || strings.ContainsAny(target, " ~^:?[\\") || strings.Contains(target, "@{")
	case action == "repo.write":
		return handoff.CheckPath(target) != nil
	}
	return false
}
