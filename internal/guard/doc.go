// Package guard judges a push before a hub takes it: what "githandoff hook
// install --server" puts into a bare repository as its pre-receive hook. It
// judges the push as a whole, and a hub that it guards takes all of it or
// nothing.
//
// It believes the hub's own trust list alone, and reads what is pushed where git
// keeps it until the hook has spoken (the quarantine). It has no state machine of
// its own: the refs are supposed to be where the push wants them, and lifecycle
// says what it would say to a client that found them there. What it would refuse
// to show, or to count, does not come in.
//
// # Below refs/handoffs
//
//   - only refs that a home has: inbox/<agent>/<id>, log/<cc>, and what may travel
//     beside them, keys/<name> and trust. All else lives in clones;
//   - a ref is where the push says that it is: whoever lost a race learns it here;
//   - a lane only grows, by entries that count, one for a handoff. Their times are
//     within [MaxSkew] of the hub's clock: a key that was retired cannot date its
//     entries back. A payload may be older: it can have waited in an outbox;
//   - an inbox ref is made, moved or deleted with the entry that says so, and leads
//     to a payload that verifies: signatures, sizes, tree, digest, form, content,
//     place, tokens. It may be deleted alone where its receipt is in the lane
//     already, or where no lane speaks of it, and moved back to the last step that
//     is logged: that is what clears up after a git that was killed half-way;
//   - a snapshot comes in with the inbox ref of its handoff, in one push, and is the
//     very commit that the signed envelope names, within the hub's own limit; it goes
//     with the receipt, and never moves but to the inbox that its handoff moves to.
//     What comes in with one is no code of the hub: a branch that leads there later is
//     judged as if it were new;
//   - histories of a lane are joined by a root key, in a push of their own. Its
//     signature vouches for entries of any age.
//
// # Everything else
//
// A commit that is new to the hub and was signed by a key of an agent, one that is
// pinned without the role root, says in its trailers Handoff-Id and Handoff-Token
// under which claim it was made. That claim is held here, now, by this key; and its
// token allows repo.push of each ref that the commit comes in by, and repo.write of
// each path that it changes, under the old name and the new one. For a merge these
// are the paths in which it differs from what git makes of the merge by itself. A
// tag that such a key signed needs repo.push of its ref. What is signed in its name
// in a way that only others take for a signature, with a comment in the armor or a
// packet that unpacks to one, does not come in. What nobody signed, or
// somebody else did, or what comes without a new commit, such as the deletion of a
// branch, tells the guard of no agent, and passes.
package guard
