// Package stress looks for the ways in which a handoff could be lost, taken
// twice or come back: whole processes of githandoff and of git, many at once,
// killed at every point, beside every kind of maintenance, and on bad days.
//
//	go test ./internal/stress
//	GITHANDOFF_STRESS=500 go test -timeout 6h ./internal/stress -run 'Killed|CutConnection' -v
//	go test ./internal/stress -run AnyOrder -rapid.checks=100 -rapid.steps=100
//
// The variable multiplies the counts: by default each command meets a few of the
// ends below, chosen evenly; with a large number it meets all of them.
//
// # Points of death
//
// On Linux a command runs below a seccomp filter that has the kernel ask the test
// before each system call that changes a file, or that starts or ends a git: of
// githandoff, of every git that it starts, and of the hub's where that is a path.
// A first run counts those points. Then, for each of them, the same command
// starts from the same state and dies there: githandoff, or the git that is at
// that point, or both; or the call, and all later ones, fail as on a disk that is
// full or read-only. githandoff itself has no switch for it.
//
// # Cuts
//
// A proxy before git daemon and before an HTTP server counts the turns of each
// connection: what one side says until the other one speaks. It closes the
// connection before a turn (the clone's: the hub never hears it; the hub's: it has
// done what it was asked, and the clone does not hear) or in the middle of it, once
// or for good.
//
// # After an end
//
// The same command is given again, as a user would. Then what must hold is looked
// at in all repositories: whatever was reported is there or has its receipt,
// nobody holds what another holds, no ref is broken, nothing has to be cleaned up
// by hand but the locks of a dead git, and audit and git fsck have nothing to say.
//
// # The model
//
// TestAnyOrder takes steps in any order in three clones of a hub and in a model
// (job) that knows the rules of a handoff's life and nothing of git, and compares
// the two after each step. Commands are killed in between, the hub goes away,
// clocks jump. Of a run that fails the steps that matter are kept, as a script
// for internal/cli/testdata/script.
package stress
