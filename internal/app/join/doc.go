// Package join lets two machines trust each other's keys with one pasted line: it makes
// invitations, answers them, and lets the inviter pin the joiner's key. internal/invite verifies
// them; this package decides where they are kept, which keys are pinned, and in which order, so
// that an interrupted command can be repeated.
//
//	inviter: remember, publish the offer … fetch the answer, pin, erase, forget
//	joiner:  fetch the offer, set up, pin, publish the answer
package join
