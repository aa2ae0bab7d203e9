// Package guard judges a push before a hub takes it. "githandoff hook install --server"
// installs it as the pre-receive hook of a bare repository. It judges the push as a whole:
// the hub takes all of it or nothing.
//
// It believes only the hub's own trust list, and the lists of its root keys at this hub. It
// reads the pushed objects in git's quarantine. It has no state machine of its own: it
// overlays the pushed values of the refs, and lifecycle judges them as it would for a
// client. The guard refuses everything that lifecycle would not show or not count.
//
// A hub can keep handoffs below a prefix of branches. Then the names of pushed refs are
// translated first ([Guard.KeepBelow]), and the rules see those of the format.
//
// # Below refs/handoffs
//
//   - only refs that a home has: inbox/<agent>/<id>, log/<cc>, work/<agent>/<id>, and
//     beside them keys/<name>, invites/<id> and trust. All others are refs of clones;
//   - each ref still has the old value that the push names: the loser of a race is refused
//     here;
//   - a lane only grows, by entries that count, one for a handoff. Their times are
//     within [MaxSkew] of the hub's clock: a key that was retired cannot date its
//     entries back. A payload may be older: it can have waited in an outbox;
//   - an inbox ref is made, moved or deleted with the entry that says so, and leads to a
//     payload that verifies: signatures, sizes, tree, digest, form, content, place, tokens.
//     It may be deleted alone if its receipt is in the lane already, or if no lane has an
//     entry for it, and moved back to the last step that is logged: these pushes clean up
//     after a git that was killed half-way;
//   - a snapshot comes in with the inbox ref of its handoff, in one push, and is the very
//     commit that the signed envelope names, within the hub's own limit; it goes with the
//     receipt, and never moves but to the inbox that its handoff moves to. Its commits are
//     not code of the hub: a later push of a branch to them is judged as if they were new;
//   - histories of a lane are joined by a root key, in a push of their own. Its
//     signature vouches for entries of any age.
//
// # Everything else
//
// A commit that is new to the hub and was signed by a key of an agent, one that is pinned
// without the role root, says in its trailers Handoff-Id and Handoff-Token under which
// claim it was made. The key must hold that claim here and now, and its token must allow
// repo.push of each ref that the commit comes in by, and repo.write of each path that it
// changes, under the old name and the new one. For a merge these are the paths in which it
// differs from git's own merge. A tag that such a key signed needs repo.push of its ref. A
// signature in an agent's name that only other programs accept, with a comment in the armor
// or in a compressed packet, is refused. Unsigned commits, commits signed by other keys,
// and pushes without a new commit, such as the deletion of a branch, name no agent and
// pass.
package guard
