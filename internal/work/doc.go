// Package work keeps what a worktree still has to do for the handoffs that it
// holds. A [Journal] has the last step of each handoff that its hub could not take.
package work
