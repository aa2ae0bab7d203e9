package refs

import (
	"os"

	"golang.org/x/sys/unix"
)

// wide is the capacity of a widened pipe, in bytes: what the kernel allows any user by default.
const wide = 1 << 20

// widenFile gives a pipe more room, and reports whether it has it.
func widenFile(pipe *os.File) (ok bool) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return false
	}
	err = conn.Control(func(fd uintptr) {
		n, err := unix.FcntlInt(fd, unix.F_SETPIPE_SZ, wide)
		ok = err == nil && n >= wide
	})
	return ok && err == nil
}
