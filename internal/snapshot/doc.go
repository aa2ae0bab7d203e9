// Package snapshot records the state of a work tree as one commit, and brings it back: in a
// linked worktree, or in a clean work tree.
//
// # The commit
//
// It has the shape of "git stash push --include-untracked", so stock git takes it with "git
// stash apply --index <id>":
//
//	W  tree: tracked files as they are in the work tree
//	├─ parent 1: HEAD
//	├─ parent 2: I  tree: the index; its one parent is HEAD
//	└─ parent 3: U  tree: untracked files that are not ignored; no parent.
//	               It is there only if there are such files
//
// The message of I names the paths added with "git add --intent-to-add", which a tree cannot
// tell, each on a line "Intent-To-Add: <path>", quoted as git quotes paths in "git status" if
// it has to. A line "Intent-Mode: <mode> <path>" follows where the mode of the entry is not
// 100644.
//
// # Capture
//
// [Capture] reads the work tree and writes nothing in the repository: git hashes the blobs, to
// apply its filters and line ends, with an index and an object directory of their own. New
// blobs come back as objects. The caller writes them in one transaction with the commit's ref.
// "git status" is asked before and after, and the files are looked at before and after they
// are read: a mixture of two states is refused.
//
// # Restore
//
// [Contents.AddWorktree] and [Contents.CheckOutHere] check out the union of W and U in one
// step, and then set the index to I. [Contents.FinishHere] goes on with an interrupted
// CheckOutHere.
package snapshot
