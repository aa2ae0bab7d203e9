// Package record is the form of every commit made by githandoff: the message
// with its trailers, and the raw commit object around it. It knows bytes, not
// keys and not refs.
//
// # Message
//
// A subject, an empty line, and a block of trailers readable by
// "git interpret-trailers --parse":
//
//	claimed ho_01jd4v6q8e5x0c9k2m7r3t5w8z by fixer
//
//	Handoff-Id: ho_01jd4v6q8e5x0c9k2m7r3t5w8z
//	Handoff-Event: claimed
//	Handoff-From: investigator
//	Handoff-To: fixer
//	Handoff-Home: git+https://example.com/acme/client
//	Handoff-Digest: sha256:<64 hex>
//	Handoff-Previous: <object id> | none
//	Handoff-Key: openpgp:<40 hex> | ssh:SHA256:<base64>
//	Handoff-Nonce: <32 hex>
//	Handoff-At: 2026-11-20T22:00:00Z
//	Handoff-Expires: 2026-11-27T22:00:00Z
//	…
//
// The eleven above are always there, in this order. The trailers of an event follow
// in the order of [Record]'s fields. The subject is "<event> <id> to <to>" for
// offered and routed, "<event> <id> by <actor>" for all others; the actor is
// the acting agent or person, and the author of the commit. Every line is
// printable ASCII and ends with one LF. A message is only what [Record.Message]
// renders: [Parse] refuses any other bytes.
//
// # Commit
//
// The raw object is exactly: tree, parents (none for a payload commit, one for
// a later commit of the inbox ref and for a lane entry after the first, two for
// "joined"), author, committer (the same identity and time as the author, the
// time in Handoff-At, zone +0000), one gpgsig, an empty line, the
// message. The signature covers the object without the gpgsig header, as in
// git. [ParseCommit] requires its result to encode to the same bytes.
//
// An object id has the 40 or 64 lower-case hex digits of the repository's format of objects,
// SHA-1 or SHA-256. All ids in one commit have the same. With SHA-256 the header of the
// signature is called gpgsig-sha256, as in git.
package record
