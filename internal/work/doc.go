// Package work keeps what a worktree has in hand. [Claims] has the claims that were made
// here, each written down before it leaves this machine, so that after any crash the
// holder still is who can show its nonce. [Journal] has the last step of each handoff
// that its hub could not take. [Held] answers what is held, and whether each claim still
// stands.
//
// Each kind is a directory of JSON documents, one for each handoff: a [Shelf].
package work
