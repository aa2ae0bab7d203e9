// Package attack plays the adversary: for every reason word of a refusal there is an attack on
// real repositories that reaches it. The attacker writes objects as bytes, signs them with its
// keys, and moves refs as anybody may who can push to the hub. Then the receiver runs the real
// program.
//
//	go test ./internal/attack
//	go test ./internal/attack -run 'TestReasons/unsigned' -v
//
// The text of a handoff is data: no text changes the output outside the fence in which it is
// printed.
//
// The hub has no guard. fixer, the receiver, trusts boss and a few more of those who may
// push to it. The key of mallory is in the gpg keyring of every user and in no trust.json.
// Where an attack is a commit, the test asks git verify-commit as well: a commit that git
// refuses must be refused here, and the table says which ones git accepts.
package attack
