// Package notes is the notes tree behind refs/notes/handoffs: it points code
// commits to handoffs, one line an event, where plain "git log" shows it.
//
// Notes are hints derived from the log and never authority. Nobody signs them, anybody may add to
// them, and a lost one is written again from the log. So this package trusts nothing it reads,
// and decides nothing by it.
//
// # The line
//
// A line is six fields with one space between them, without free text:
//
//	2026-11-20T22:00:00Z offered ho_01kajn… investigator → fixer@client sha256:9f86d0…
//	at                   event   id         from           to           digest
//
//	at      RFC 3339, UTC, whole seconds, 20 bytes; so byte order is time order
//	event   offered, routed, claimed, progressed, released, or one of the receipts
//	id      the handoff, 29 bytes
//	from    a party
//	→       U+2192, three bytes, e2 86 92
//	to      a party
//	digest  "sha256:" and 64 lower-case hex digits
//	party   agent | agent@alias | @alias | _    ("_" is nobody yet)
//	alias   1 to 64 of A-Z a-z 0-9 . _ / + -
//
// # The note
//
// A note is a blob of lines, each ended by LF, in byte order, none twice and none empty, of 64 KiB
// at most. This is the result of the strategy cat_sort_uniq of "git notes merge" for two notes,
// which git uses where commits are rewritten. Other lines are not read, and are dropped when the
// note is next written, because anybody may have pushed them, and git log shows a note unchanged.
//
// If people ask for notes in git log, they see a derived form: see [Shown].
//
// # The tree
//
// The notes tree maps a commit to its note by the hex digits of the commit's
// object id, cut into directories of two digits: e94ab2…, e9/4ab2…, e9/4a/b2…
// (git's notes.c calls the number of directories the fan-out). Each directory
// decides for itself. git reads any mixture of them, and concatenates what it
// finds for one commit at several places. So does this package; where it
// writes a note, it leaves exactly one.
//
// Where a new note goes is git's own heuristic, determine_fanout in notes.c: a
// directory is cut into subdirectories when for each of the sixteen values of
// the next digit it holds a subdirectory or at least two notes. Added to a tree
// that git wrote, a note leads to the very tree that git would have written.
// Only in trees that git would not write the two differ: git gathers sparse
// subdirectories up again, this package writes into them as they are, because
// it reads no directory that the commit's own digits do not lead through.
//
// Entries that cannot be notes (other names, other modes) stay where they are.
// Only one whose name a directory of notes needs gives way.
//
// # Raw trees
//
// A tree object is a sequence of
//
//	<mode> SP <name> NUL <20 raw bytes of an object id>
//
// with the mode in octal without leading zeros, ordered by name, where the name
// of a tree is compared as if it ended in "/". Read strictly: the five modes
// that git writes, no name twice, none that "git fsck --strict" objects to.
package notes
