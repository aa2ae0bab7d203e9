// Package workcopy carries the state of a work tree along with a handoff: it takes the snapshot
// for "githandoff emit --snapshot", and makes the worktree of "githandoff resume --worktree" from
// it.
//
// A worktree takes several steps of git. [Handler] records its plan in <common
// dir>/githandoff/copies, so that the next call can remove the remains of a killed one: half a
// worktree and its branch.
package workcopy
