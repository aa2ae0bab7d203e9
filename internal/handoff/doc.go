// Package handoff owns the envelope, the JSON document one agent leaves for the next, and its
// ids. Start with [Envelope]; [Encode] and [Decode] are the only way to and from stored bytes.
//
// # Format
//
// An envelope is one JSON object, at most 131,072 bytes, in the canonical form
// of RFC 8785, and nothing else: no byte order mark, no white space between
// tokens, no newline at the end.
//
//   - UTF-8. Members sorted by the UTF-16 code units of their names, each at
//     most once, spelled as the tags of [Envelope] have them.
//   - In strings only " and \ and the characters below U+0020 are escaped: \b \t
//     \n \f \r where they exist, \u00xx in lower case otherwise. No half of a
//     surrogate pair.
//   - Numbers occur in origin.extra alone. They are doubles, written as
//     ECMAScript does; a number changed by a double is refused.
//   - At most 16 arrays and objects open at once.
//   - A member with an empty string or an empty array is left out, but for
//     target.agent, which is null where a decision is due, and
//     questions[].options, which is always there. Required members:
//     schema, id, created_at, salt, source.agent, target, status, and goal or
//     summary.
//
// A reader looks at the size, at the encoding, and at schema, in this order, before it decodes
// anything; then it decodes, applies the rules of [Envelope.Validate], encodes again and
// requires the same bytes. So one envelope has one spelling, and its digest names its meaning.
//
// Times are "2006-01-02T15:04:05Z": UTC, whole seconds, no other spelling. An
// object id is 40 or 64 lower-case hex digits. For the limits see the constants; sizes
// count bytes of UTF-8, without JSON escapes, unless said otherwise.
//
// The smallest envelope is (line breaks added):
//
//	{"created_at":"2026-11-20T22:00:00Z",
//	"goal":"Fix the login",
//	"id":"ho_01kahcp3g0000000000000000r",
//	"salt":"000102030405060708090a0b0c0d0e0f",
//	"schema":"githandoff/1",
//	"source":{"agent":"investigator"},
//	"status":"complete",
//	"target":{"agent":"fixer"}}
//
// # Reading other documents
//
// [ParseStrict] and [Canonical] are the two halves of the codec for any JSON
// value; tokens and other formats use them.
package handoff
