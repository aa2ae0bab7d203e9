// Package stress looks for the ways in which a handoff could be lost, taken
// twice or come back: whole processes of githandoff and of git, many at once,
// killed at every point, beside every kind of maintenance, and on bad days.
//
//	go test ./internal/stress
//	GITHANDOFF_STRESS=20 go test -timeout 1h ./internal/stress -run Killed -v
//
// The variable multiplies the counts. What is random says its seed when it
// fails, and takes it from GITHANDOFF_SEED.
//
// # Points of death
//
// To kill a command at a chosen moment, a shell script named git stands before
// git in PATH. It numbers what happens during the command: a git starts, ends,
// or (by the reference-transaction hook, here and at the hub) holds the locks of
// a ref transaction, or has made it. A first run counts those points. Then, for
// each of them, the same command starts from the same state and dies there:
// githandoff itself, or the git that is at that point. Between two renames of
// one ref transaction a git is killed with strace, which counts system calls.
//
// After each death the same command is given again, as a user would. Then what
// must hold is looked at in all repositories: whatever was reported is there or
// has its receipt, nobody holds what another holds, no ref is broken, nothing
// has to be cleaned up by hand, and audit and git fsck have nothing to say.
package stress
