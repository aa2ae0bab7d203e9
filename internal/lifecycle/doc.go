// Package lifecycle is the state machine of a handoff: its state, the steps that may
// follow, the keys that may take them, and the transaction of a step.
//
// A handoff has one home. There, two refs say everything about it:
//
//   - its inbox ref: the payload commit, with a chain of claims on top. It is
//     present as long as the handoff is open;
//   - its lane: signed entries that are only ever appended. They stay.
//
// Every step moves both in one transaction with both old values pinned. The
// lane is pinned at the tip in which the handoff's receipt was looked for. A missing
// inbox ref does not prove that there never was one. The lane closes that gap: a writer
// that has not seen the receipt holds an old lane tip, so its transaction fails.
//
//	absent ─offered─▶ open ─claimed─▶ held ─acknowledged, failed, rerouted─▶ ended
//	                   ▲ │             │
//	                   │ └─revoked, expired, failed, rerouted──────────────▶ ended
//	                   └──────released─┘   (progressed keeps it held)
//
// An entry counts only when it was signed by a pinned key whose role allows it
// at that point. Any other entry that names the handoff makes it disputed:
// nobody can claim it until a root key ends it.
//
// [Reader] makes a [State] of the entries of a lane, by the table of [Steps]. [Verifier]
// proves the content of a handoff. [Engine] takes steps; it is made by [New].
//
// The package works on a [Home], which is this repository or a hub; it does not
// know which.
package lifecycle
