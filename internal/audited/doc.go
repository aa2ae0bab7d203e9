// Package audited remembers the findings of an audit, so the next one checks only what is new.
//
// There is one file a namespace, <common git dir>/githandoff/audited/<hash>. It can be deleted
// at any time: the next audit checks everything and writes it again. It is believed as
// little as possible:
//
//   - It belongs to this user, or to the owner of the repository, and nobody else can write
//     it; see package private.
//   - Its first line holds a digest of this program, of the trust files and adopted lists,
//     and of the home. If one of them has changed, nothing in the file counts.
//   - Its last line holds the SHA-256 of the rest.
//   - Its findings about a lane are for one tip. A commit id is the digest of the commit and
//     of all commits below it, so a lane with the same tip is the audited lane.
//
// The file has findings of three kinds. Entry: its signature was made by the key it names.
// Lane: it is sound, see [lifecycle.Lesson], and nothing was wrong with its inbox refs, whose
// names and values are given by a digest. A sound lane is shown and not judged again; its
// commits are read again, so a missing one is noticed. In any other lane every rule is applied,
// but known signatures are not checked. All refs of the home: nothing was wrong with those
// whose list has this digest, so an audit of the same list compares none.
package audited
