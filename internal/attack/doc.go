// Package attack plays the adversary: every reason word with which a handoff is
// refused is reached here by an attack on real repositories. Objects are written as
// bytes and signed with keys that the attacker has, refs are moved as a hub lets
// everybody move them who may push, and then the receiver runs the real program.
//
//	go test ./internal/attack
//	go test ./internal/attack -run 'TestReasons/unsigned' -v
//
// What a handoff says is held to be data: whatever stands in it, nothing changes
// outside of the fence in which it is printed.
//
// The hub has no guard. fixer, the receiver, trusts boss and a few more of those who may
// push to it. The key of mallory is in the gpg keyring of every user and in no trust.json.
// Where an attack is a commit, the test asks git verify-commit as well: a commit that git
// refuses must be refused here, and the table says which ones git accepts.
package attack
