package obo

import (
	"slices"
	"time"

	"githandoff/internal/fault"
)

// Verified is the leaf of a chain that VerifyChain passed: what the holder may
// do now. There is no other way to make one that allows anything.
type Verified struct {
	leaf Claims
}

// Leaf is a copy of the leaf's claims.
func (v *Verified) Leaf() Claims { return v.leaf.clone() }

// JTI names the leaf.
func (v *Verified) JTI() string { return v.leaf.JTI }

// Principal is on whose behalf: user:alice@example.com.
func (v *Verified) Principal() string { return v.leaf.Subject }

// Scope lists what is allowed, sorted.
func (v *Verified) Scope() []string { return slices.Clone(v.leaf.Scope) }

// Expires is the first second in which the token is worth nothing, in UTC. No
// lease may go beyond it.
func (v *Verified) Expires() time.Time { return time.Unix(v.leaf.ExpiresAt, 0).UTC() }

// Holders lists the kids of the keys one of which must sign the claim.
func (v *Verified) Holders() []string { return slices.Clone(v.leaf.Confirmation.Keys) }

// Binds refuses with holder_binding_failed a key that the token does not name.
// The caller has seen the key sign the claim.
func (v *Verified) Binds(kid string) error {
	if !slices.Contains(v.leaf.Confirmation.Keys, kid) {
		return deny(fault.HolderBindingFailed, "%s is not valid for key %s", v.leaf.JTI, kid)
	}
	return nil
}

// Allows refuses a scope that the token does not cover, that is malformed, or that
// leads elsewhere than it says (a refspec, a file in git's own directory), with the
// code fault.Policy and the reason scope.
func (v *Verified) Allows(scope string) error {
	if CoversAll(v.leaf.Scope, []string{scope}) && !astray(scope) {
		return nil
	}
	return fault.New(fault.Policy, fault.OutOfScope, "%+q is not within what %s allows", scope, v.leaf.JTI)
}
