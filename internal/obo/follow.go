package obo

import (
	"slices"
	"time"

	"githandoff/internal/fault"
)

// follows says whether child may follow the parent with these bytes: it only takes away, and a
// holder of the parent made it.
func follows(parent *Claims, parentBytes []byte, child *Claims) error {
	if err := narrows(parent, child); err != nil {
		return err
	}
	switch {
	case child.MaxDepth >= parent.MaxDepth:
		return deny(fault.DepthInvalid, "%d more may follow it; its parent has %d, and it must have fewer", child.MaxDepth, parent.MaxDepth)
	case child.ParentHash != hashOf(parentBytes):
		return deny(fault.ParHashMismatch, "its par_hash is not that of its parent token")
	case !slices.Contains(parent.Confirmation.Keys, child.Issuer):
		return deny(fault.IssuerNotHolder, "issued by %s, which does not hold its parent token", child.Issuer)
	case child.Subject != parent.Subject:
		return deny(fault.PrincipalAltered, "on behalf of %s, but its parent token is on behalf of %s", child.Subject, parent.Subject)
	}
	return nil
}

func narrows(parent, child *Claims) error {
	if s, found := uncovered(parent.Scope, child.Scope); found {
		return deny(fault.NotNarrower, "scope %q is not within its parent token", s)
	}
	for _, id := range child.Audience {
		if !slices.Contains(parent.Audience, id) {
			return deny(fault.NotNarrower, "audience %s is not in its parent token", id)
		}
	}
	switch {
	case child.ExpiresAt > parent.ExpiresAt:
		return deny(fault.NotNarrower, "it ends at %s, after its parent token (%s)", stamp(child.ExpiresAt), stamp(parent.ExpiresAt))
	case child.IssuedAt < parent.IssuedAt-int64(ClockSkew/time.Second):
		return deny(fault.NotNarrower, "it begins at %s, before its parent token (%s)", stamp(child.IssuedAt), stamp(parent.IssuedAt))
	}
	return nil
}
