package obo

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
