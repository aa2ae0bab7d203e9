package gittest

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes cmd end also where no cleanup runs: a test that is
// killed, or whose time is up. To the kernel the parent is the thread that
// starts cmd; Go ends a thread early only if a goroutine locked it.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
