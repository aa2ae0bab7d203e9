package obo

import (
	"strings"

	"githandoff/internal/handoff"
)

// RequiredScopes lists, sorted and once each, the scopes that a push needs:
// repo.push for each ref that it creates, moves or deletes (a full name), and
// repo.write for each path that its commits change. Give both names of a rename.
//
// A name that the grammar cannot say, such as one with a control character in
// it, gives a scope that no token allows; one that ends in a segment "*" gives
// the wildcard, which asks for more than the name.
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

// astray reports whether a scope names what leads elsewhere than it says: a push to
// a refspec or a revision, which are no names of refs, or a file in git's own
// directory, in any spelling that a file system takes for it.
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
