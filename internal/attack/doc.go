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
// The scene is a hub without a guard. Of those who may push to it fixer, the
// receiver, trusts boss and a few more; mallory's key is in everybody's gpg
// keyring and in nobody's trust.json. Where an attack is a commit, git
// verify-commit is asked as well: what it refuses must be refused here, and what
// it accepts is written down beside the attack.
package attack
