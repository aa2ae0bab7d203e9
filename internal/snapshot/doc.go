// Package snapshot records the state of a work tree as one commit, and brings that
// state back: in a linked worktree, or in a work tree that is clean.
//
// # The commit
//
// It has the shape that "git stash push --include-untracked" makes, so that stock
// git takes it with "git stash apply --index <id>":
//
//	W  tree: tracked files as they are in the work tree
//	├─ parent 1: HEAD
//	├─ parent 2: I  tree: the index; its one parent is HEAD
//	└─ parent 3: U  tree: untracked files that are not ignored; no parent.
//	               It is there only if there are such files
//
// The message of I names the paths that were added with "git add --intent-to-add",
// which a tree cannot say, each on a line "Intent-To-Add: <path>", quoted as git
// quotes paths in "git status" if it has to. A line "Intent-Mode: <mode> <path>" follows
// where the mode of the entry is not 100644.
//
// # Capture
//
// [Capture] reads the work tree and writes nothing in the repository: blobs are
// hashed by git, so that its filters and line ends hold, with an index and an object
// directory of their own. New blobs come back as objects, which the caller writes
// with the transaction that gives the commit its ref. "git status" is asked before
// and after, and the files are looked at before and after they are read: a snapshot
// that mixes two states is refused.
//
// # Restore
//
// [Contents.AddWorktree] and [Contents.CheckOutHere] check out the union of W and U
// in one step, and then set the index to I. A CheckOutHere that was cut off is gone on
// with by [Contents.FinishHere].
package snapshot
