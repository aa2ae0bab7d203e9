// Package screen is the content policy: what no text in an envelope or a record
// may hold, with any signature. The sender is held to it before anything is
// written, the receiver before anything is shown.
//
// # What is refused
//
// Text that does not show what it says (code fault.Invalid, reason "malformed"):
//
//   - bytes that are not UTF-8; control characters other than TAB, LF and CR,
//     C1 included;
//   - code points that steer or hide: Unicode's Default_Ignorable_Code_Point
//     (bidirectional controls, zero-width characters, soft hyphen, byte order
//     mark, tags, variation selectors, fillers), interlinear annotation, line and
//     paragraph separator.
//
// Three of them have honest uses without a substitute, and pass there only: U+FE0E and U+FE0F
// once behind a symbol, U+200D between two emoji, U+200C and U+200D between letters of a
// script that joins them (Persian, Hindi). The subdivision flags, which are spelled with tags,
// do not pass.
//
// A raw conversation (code fault.Policy, reason "transcript_found"): a handoff is a summary; a
// transcript is expensive to read and carries instructions meant for somebody else.
//
//   - role-markers: lines beginning with a role ("User:", "**Assistant:**",
//     "[human]", "### System") where a person and an assistant both speak, or
//     one of them again after somebody else. One speaker alone is no
//     conversation. The parts of one member of the envelope count together.
//   - chat-messages: JSON objects with a role and a content, in an array or two
//     of them in any text.
//   - chat-template: the tokens models put between turns.
//
// A secret in a known plain shape (code fault.Policy, reason "secret_found"): see the table in
// rules.go. Placeholders made of words (xoxb-your-token) or of x pass.
//
// A refusal names the member and the rule. It never repeats what was found.
//
// # Cost
//
// Every rule is linear in the length of the text.
package screen
