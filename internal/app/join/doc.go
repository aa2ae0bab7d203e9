// Package join lets two machines trust each other's keys by one line that is pasted: it
// makes invitations, answers them, and lets the inviter pin who answered. What they
// prove is said in internal/invite; this package knows where they are kept, what is
// pinned, and in which order, so that a command that is cut off can be given again.
//
//	inviter: remember, publish the offer … fetch the answer, pin, erase, forget
//	joiner:  fetch the offer, set up, pin, publish the answer
package join
