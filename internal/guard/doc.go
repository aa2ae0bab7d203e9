// Package guard judges a push before a hub takes it. "githandoff hook install --server"
// installs it as the pre-receive hook of a bare repository. It judges the push as a whole:
// the hub takes all of it or nothing.
//
// The guard believes only the hub's own trust list, and the lists of its root keys at this hub.
// It reads the pushed objects in git's quarantine. It has no state machine of its own: it
// overlays the pushed values of the refs, and lifecycle judges them as it would for a client.
// The guard refuses everything lifecycle would not show or not count.
//
// A hub can keep handoffs below a prefix of branches. Then the names of pushed refs are
// translated first ([Guard.KeepBelow]), and the rules see those of the format.
//
// # Below refs/handoffs
//
//   - A home has only these refs: inbox/<agent>/<id>, log/<cc>, work/<agent>/<id>, and beside
//     them keys/<name>, invites/<id> and trust. All others are refs of clones.
//   - Each ref still has the old value named in the push: the loser of a race is refused here.
//   - A lane only grows, by valid entries, one for a handoff. Their times are within [MaxSkew]
//     of the hub's clock, so a retired key cannot date its entries back. A payload may be
//     older: it can have waited in an outbox.
//   - An inbox ref is made, moved or deleted together with the matching lane entry, and leads
//     to a payload that verifies: signatures, sizes, tree, digest, form, content, place,
//     tokens. It may be deleted alone if its receipt is in the lane already, or if no lane has
//     an entry for it, and moved back to the last logged step: these pushes clean up after a
//     git killed half-way.
//   - A snapshot comes in with the inbox ref of its handoff, in one push. It is the very commit
//     named in the signed envelope, within the hub's own limit. It goes with the receipt, and
//     moves only with its handoff to another inbox. Its commits are not code of the hub: a
//     later push of a branch to them is judged as if they were new.
//   - A root key joins histories of a lane, in a push of their own. Its signature vouches for
//     entries of any age.
//
// # Everything else
//
// A commit new to the hub and signed by a key of an agent, a key pinned without the role root,
// names the claim it was made under in its trailers Handoff-Id and Handoff-Token. The key must
// hold this claim here and now. Its token must allow repo.push of each ref the commit comes in
// by, and repo.write of each path it changes, under the old name and the new one. For a merge
// these are the paths in which it differs from git's own merge. A tag signed by such a key
// needs repo.push of its ref. A signature in an agent's name is refused if only other programs
// accept it, for a comment in the armor or a compressed packet. Unsigned commits, commits
// signed by other keys, and pushes without a new commit, such as the deletion of a branch, name
// no agent and pass.
package guard
