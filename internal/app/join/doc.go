// Package join lets two machines trust each other's keys by one line that is pasted: it
// makes invitations, answers them, and lets the inviter pin the joiner's key.
// internal/invite verifies them; this package decides where they are kept, which keys are
// pinned, and in which order, so that a command that is cut off can be given again.
//
//	inviter: remember, publish the offer … fetch the answer, pin, erase, forget
//	joiner:  fetch the offer, set up, pin, publish the answer
package join
