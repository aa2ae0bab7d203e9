// Package work keeps the local record of each handoff that is worked on here. [Claim] is
// that record: the claim that was made, written before it leaves this machine, and the
// last step that the hub could not take. [Claims] stores the records of a worktree. [Held]
// tells what is held, and whether each claim still stands.
package work
