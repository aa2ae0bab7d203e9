// Package lifecycle is the state machine of a handoff: its state, the possible next steps, the
// keys allowed to take them, and the transaction of a step.
//
// A handoff has one home. There, two refs say everything about it:
//
//   - its inbox ref: the payload commit, with a chain of claims on top. It is
//     present as long as the handoff is open;
//   - its lane: signed entries, only ever appended. They stay.
//
// Every step moves both in one transaction with both old values pinned. The lane is pinned at
// the tip whose entries were searched for the handoff's receipt. A missing inbox ref does not
// prove the handoff never existed. The lane closes this gap: a writer unaware of the receipt
// holds an old lane tip, so its transaction fails.
//
//	absent ─offered─▶ open ─claimed─▶ held ─acknowledged, failed, rerouted─▶ ended
//	                   ▲ │             │
//	                   │ └─revoked, expired, failed, rerouted──────────────▶ ended
//	                   └──────released─┘   (progressed keeps it held)
//
// An entry counts only if it was signed by a pinned key whose role allows it at that point.
// Any other entry naming the handoff makes it disputed: nobody can claim it until a root key
// ends it.
//
// [Reader] makes a [State] of the entries of a lane, by the table of [Steps]. [Verifier]
// proves the content of a handoff. [Engine] takes steps; it is made by [New].
//
// The package works on a [Home], this repository or a hub, without knowing which.
package lifecycle
