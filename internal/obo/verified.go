package obo

import (
	"slices"
	"time"

	"githandoff/internal/fault"
)

// VerifiedToken is the leaf of a chain accepted by [VerifyChain]. There is no other way to make
// one that allows anything.
type VerifiedToken struct {
	leaf Claims
}

// Leaf returns a copy of the leaf's claims.
func (v *VerifiedToken) Leaf() Claims { return v.leaf.clone() }

// JTI names the leaf.
func (v *VerifiedToken) JTI() string { return v.leaf.JTI }

// Principal returns the person the token acts for: user:alice@example.com.
func (v *VerifiedToken) Principal() string { return v.leaf.Subject }

// Scope lists the allowed scopes, sorted.
func (v *VerifiedToken) Scope() []string { return slices.Clone(v.leaf.Scope) }

// Expires returns the first second after the token's validity, in UTC. No lease may go beyond it.
func (v *VerifiedToken) Expires() time.Time { return time.Unix(v.leaf.ExpiresAt, 0).UTC() }

// Binds refuses, with holder_binding_failed, a key not named in the token. The caller has seen
// the key sign the claim.
func (v *VerifiedToken) Binds(kid string) error {
	if !slices.Contains(v.leaf.Confirmation.Keys, kid) {
		return deny(fault.HolderBindingFailed, "%s is not valid for key %s", v.leaf.JTI, kid)
	}
	return nil
}

// Allows refuses a scope not covered by the token, malformed, or leading elsewhere than it says
// (a refspec, a file in git's own directory), with the code fault.Policy and the reason scope.
func (v *VerifiedToken) Allows(scope string) error {
	if CoversAll(v.leaf.Scope, []string{scope}) && !astray(scope) {
		return nil
	}
	return fault.New(fault.Policy, fault.OutOfScope, "%+q is not within what %s allows", scope, v.leaf.JTI)
}
