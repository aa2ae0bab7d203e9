// Package invite is the protocol by which two machines come to trust each other's keys through
// a hub neither of them trusts. It is pure: it makes and checks messages, and knows neither
// git nor files nor how a key signs.
//
// # The code
//
// The inviter makes a code and gives it to one person or agent, by a way the hub does not see:
// a chat, a mail, a terminal. Who has the code has the invitation.
//
//	code     = kind body
//	kind     = "pair1" / "team1"
//	body     = base32, lower case, without padding, of: secret expires url check
//	secret   = 16 random bytes
//	expires  = 4 bytes, big-endian: seconds since 1970
//	url      = URL of the hub, without a password; and, where its refs are below another
//	           prefix than refs/handoffs, a blank and that prefix; at most 512 bytes
//	check    = first 4 bytes of the SHA-256 of kind, secret, expires and url
//
// Three values are derived from it, each with HKDF (RFC 5869) over SHA-256: the input
// key is the secret, the salt is kind, expires and url, and the info is
// "githandoff-invite/1 " and the name of the value: "id" (16 bytes), "offer" and
// "answer" (32 bytes each). So nothing in a code can be changed: another URL, time or
// kind is another invitation.
//
// # The record
//
// refs/handoffs/invites/<id>, the id in hex, leads to a blob, or to a commit with it: one
// canonical JSON object (RFC 8785) with the members "offer" and, once somebody joined,
// "answer". Each is
//
//	{"document": text, "mac": hex, "signature": text}
//
// where document is canonical JSON, mac is the HMAC-SHA-256 of its bytes under the key "offer"
// or "answer", and signature a detached signature over the same bytes by the key in the
// document, in the namespace "invite@githandoff". The documents are:
//
//	offer    {"schema": "githandoff-invite-offer/2", "invite": id, "key": text,
//	          "agent": name, "inviter": grant, "joiner": grant}
//	answer   {"schema": "githandoff-invite-answer/2", "invite": id, "key": text,
//	          "agent": name}
//	grant    {"agents", "roles", "principals", "max_scope": [text], "until": time}
//
// The agent of an offer is the name the joiner must take; without it the joiner chooses. The
// receiver of the document pins the key with the roles and limits of the grant. The grant of
// the joiner is only for the joiner to read: the inviter pins the one in its memory.
//
// # What holds
//
// A hub that copies, replays, reorders, swaps, withholds or changes records can keep two sides
// from meeting, and nothing else: without the secret no MAC can be made, and each direction
// has a key of its own. A record of another invitation has another secret; and whoever has
// both codes cannot pass on a document of one as of the other, because the signed document
// names its invitation. A MAC shows the
// author of the document to have the code, the signature to have the private key as well:
// nobody can have another one's key pinned as theirs. The inviter remembers an invitation
// until its first valid answer, and no longer.
package invite
