// Package workcopy carries the state of a work tree along with a handoff: it takes the
// snapshot that "githandoff emit --snapshot" sends, and makes of it the worktree of
// "githandoff resume --worktree".
//
// A worktree that is made takes several steps of git. [Handler] notes in
// <common dir>/githandoff/copies what it is about to make, so that the next call can
// take away what a killed one left: half a worktree and a branch that nobody asked for
// would stay for ever.
package workcopy
