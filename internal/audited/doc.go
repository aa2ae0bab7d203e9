// Package audited remembers what an audit verified, so that the next one checks only what
// is new.
//
// There is one file a namespace, <common git dir>/githandoff/audited/<hash>. It can be deleted
// at any time: the next audit checks everything and writes it again. It is believed as
// little as possible:
//
//   - It belongs to this user, or to whoever the repository belongs to, and nobody else
//     can write it; see package private.
//   - Its first line holds a digest of this program, of the trust files and adopted lists,
//     and of the home. Where one of them is another one, nothing in the file counts.
//   - Its last line holds the SHA-256 of the rest.
//   - What it says of a lane is for one tip. A commit id is the digest of the commit and of
//     all commits below it, so a lane with that tip is the lane that was audited.
//
// The file says three things. Of an entry: the key that it names made its signature. Of a
// lane: it is sound, see [lifecycle.Lesson], and nothing was wrong with its inbox refs,
// whose names and values a digest stands for. A sound lane is shown and not judged again;
// its commits are read again, so that a missing one is noticed. In any other lane every
// rule is applied, without the signatures that are known. Of all refs of the home: nothing was wrong
// with those whose list has this digest, so that an audit of the same list compares none.
package audited
