// Package stress looks for ways in which a handoff could be lost, taken twice or come back.
// It runs whole processes of githandoff and of git: many at once, killed at every point,
// beside every kind of maintenance, and with hubs and disks that fail.
//
//	go test ./internal/stress
//	GITHANDOFF_STRESS=500 go test -timeout 6h ./internal/stress -run 'Killed|CutConnection' -v
//	go test ./internal/stress -run AnyOrder -rapid.checks=100 -rapid.steps=100
//
// By default each command meets a few of the ends below, chosen evenly. The variable
// multiplies their number; with a large value a command meets all of them.
//
// # Points of death
//
// On Linux a command runs below a seccomp filter. The kernel asks the test before each
// system call that changes a file, or that starts or ends a git. The filter covers
// githandoff, every git that it starts, and the hub's git if the hub is a path. A first run
// counts these points. Then, for each of them, the same command starts from the same state
// and fails there: githandoff dies, or the git that makes the call, or both; or the call and
// all later ones fail as on a disk that is full or read-only. githandoff itself has no
// switch for it.
//
// # Cuts
//
// A proxy before git daemon and before an HTTP server counts the turns of each connection. A
// turn is everything that one side sends before the other side answers. The proxy closes the
// connection before a turn or in the middle of it, once or for good. Before a turn of the
// clone, the hub never hears it. Before a turn of the hub, the hub has done its work and the
// clone does not hear of it.
//
// # After an end
//
// The test runs the same command again, as a user would, and then looks at all repositories:
// each handoff that was reported is there or has its receipt, nobody holds a handoff that
// another agent holds, no ref is broken, only the locks of a dead git have to be cleaned up
// by hand, and audit and git fsck find nothing.
//
// # The model
//
// TestAnyOrder takes steps in any order in three clones of a hub and in a model (job), and
// compares the two after each step. The model knows the rules of a handoff's life and
// nothing of git. In between, commands are killed, the hub goes away, and clocks jump. If a
// run fails, the test keeps the steps that matter, as a script for
// internal/cli/testdata/script.
package stress
