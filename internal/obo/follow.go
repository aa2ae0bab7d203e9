package obo

import (
	"slices"
	"time"

	"githandoff/internal/fault"
)

// follows says whether child may follow the parent with these bytes: it only
// takes away, and one who holds the parent made it.
func follows(parent *Claims, parentBytes []byte, child *Claims) error {
	if err := narrows(parent, child); err != nil {
		return err
	}
	switch {
	case child.MaxDepth >= parent.MaxDepth:
		return deny(fault.DepthInvalid, "%d more may follow it, but fewer than the %d of its parent must", child.MaxDepth, parent.MaxDepth)
	case child.ParentHash != hashOf(parentBytes):
		return deny(fault.ParHashMismatch, "its par_hash is not that of the token before it")
	case !slices.Contains(parent.Confirmation.Keys, child.Issuer):
		return deny(fault.IssuerNotHolder, "issued by %s, which does not hold the token before it", child.Issuer)
	case child.Subject != parent.Subject:
		return deny(fault.PrincipalAltered, "on behalf of %s, the token before it of %s", child.Subject, parent.Subject)
	}
	return nil
}

func narrows(parent, child *Claims) error {
	if s, found := uncovered(parent.Scope, child.Scope); found {
		return deny(fault.NotNarrower, "scope %q is not within the token before it", s)
	}
	for _, id := range child.Audience {
		if !slices.Contains(parent.Audience, id) {
			return deny(fault.NotNarrower, "audience %s is not one of the token before it", id)
		}
	}
	switch {
	case child.ExpiresAt > parent.ExpiresAt:
		return deny(fault.NotNarrower, "it ends at %s, after the token before it (%s)", stamp(child.ExpiresAt), stamp(parent.ExpiresAt))
	case child.IssuedAt < parent.IssuedAt-int64(ClockSkew/time.Second):
		return deny(fault.NotNarrower, "it begins at %s, before the token before it (%s)", stamp(child.IssuedAt), stamp(parent.IssuedAt))
	}
	return nil
}
