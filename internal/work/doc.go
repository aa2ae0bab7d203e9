// Package work keeps the local record of each handoff worked on here. [Claim] is the record:
// the claim, written before it leaves this machine, and the last step the hub could not take.
// [Claims] stores the records of a worktree. [Held] tells what is held, and whether each claim
// still stands.
package work
