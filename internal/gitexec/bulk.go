package gitexec

import (
	"io"
	"os"
	"os/exec"
	"syscall"
)

// bulkOut makes the pipe for the output of a command with Bulk. Go's scheduler watches the pipes
// of os/exec, and is woken by each 4 KiB written by git, even while nobody reads. It does not
// watch a blocking pipe. started is called when the command was started, or could not be.
func bulkOut(cmd *exec.Cmd) (out io.ReadCloser, started func(), err error) {
	var p [2]int
	syscall.ForkLock.RLock() // a process started now must not inherit the pipe
	err = syscall.Pipe(p[:])
	if err == nil {
		syscall.CloseOnExec(p[0])
		syscall.CloseOnExec(p[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, func() {}, os.NewSyscallError("pipe", err)
	}
	w := os.NewFile(uintptr(p[1]), "|1")
	cmd.Stdout = w
	return os.NewFile(uintptr(p[0]), "|0"), func() { _ = w.Close() }, nil
}
