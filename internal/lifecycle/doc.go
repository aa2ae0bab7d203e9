// Package lifecycle is the state machine of a handoff: what is known of one,
// what may happen next and who may do it, and the transaction that does it.
//
// A handoff has one home. There, two refs say everything about it:
//
//   - its inbox ref: the payload commit, with a chain of claims on top. It is
//     present as long as the handoff is open;
//   - its lane: signed entries that are only ever appended. They stay.
//
// Every step moves both in one transaction with both old values pinned. The
// lane is pinned at the tip in which the handoff's receipt was looked for: that
// the inbox ref is absent does not say that it never was, and a late writer
// who has not seen the receipt has not seen the lane's tip either.
//
//	absent ─offered─▶ open ─claimed─▶ held ─acknowledged, failed, rerouted─▶ ended
//	                   ▲ │             │
//	                   │ └─revoked, expired, failed, rerouted──────────────▶ ended
//	                   └──────released─┘   (progressed keeps it held)
//
// An entry counts only when it was signed by a pinned key whose role allows it
// at that point. Anything else that speaks of the handoff makes it disputed:
// nobody can claim it until a root key ends it.
//
// The package works on a [Home], which is this repository or a hub; it does not
// know which.
package lifecycle
