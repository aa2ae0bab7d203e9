package obo

import (
	"slices"
	"time"
)

// follows says whether child may follow the parent with these bytes: it only
// takes away, and one who holds the parent made it.
func follows(parent *Claims, parentBytes []byte, child *Claims) error {
	if err := narrows(parent, child); err != nil {
		return err
	}
	switch {
	case child.MaxDepth >= parent.MaxDepth:
		return deny("depth_invalid", "%d more may follow it, but fewer than the %d of its parent must", child.MaxDepth, parent.MaxDepth)
	case child.ParentHash != hashOf(parentBytes):
		return deny("par_hash_mismatch", "its par_hash is not that of the token before it")
	case !slices.Contains(parent.Confirmation.Keys, child.Issuer):
		return deny("issuer_not_holder", "issued by %s, which does not hold the token before it", child.Issuer)
	case child.Subject != parent.Subject:
		return deny("principal_altered", "on behalf of %s, the token before it of %s", child.Subject, parent.Subject)
	}
	return nil
}

func narrows(parent, child *Claims) error {
	if s, found := uncovered(parent.Scope, child.Scope); found {
		return deny("not_narrower", "scope %q is not within the token before it", s)
	}
	for _, id := range child.Audience {
		if !slices.Contains(parent.Audience, id) {
			return deny("not_narrower", "audience %s is not one of the token before it", id)
		}
	}
	switch {
	case child.ExpiresAt > parent.ExpiresAt:
		return deny("not_narrower", "it ends at %s, after the token before it (%s)", stamp(child.ExpiresAt), stamp(parent.ExpiresAt))
	case child.IssuedAt < parent.IssuedAt-int64(ClockSkew/time.Second):
		return deny("not_narrower", "it begins at %s, before the token before it (%s)", stamp(child.IssuedAt), stamp(parent.IssuedAt))
	}
	return nil
}
