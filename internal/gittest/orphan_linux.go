package gittest

import (
	"os/exec"
	"syscall"
)

// dieWithParent ends cmd even if no cleanup runs, because the test was killed or timed out. To the kernel the
// parent is the thread that starts cmd; Go ends a thread early only if a goroutine locked it.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
