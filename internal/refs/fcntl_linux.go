package refs

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openUnseen reports whether a process writes a file, even one whose open files do not show: in another
// container, or of another user. The kernel gives a lease for reading only if none does. Where it gives no
// leases, the answer is no. NFS and SMB refuse one in the same words where the server did not delegate the
// file, so the answer needs a lease on a file beside it that nobody writes.
func openUnseen(path, still string) bool { return leaseRefused(path) && !leaseRefused(still) }

// leaseRefused reports whether the kernel refuses a lease because of a writer: fcntl(2) names EAGAIN for it. To close
// the file ends a lease that the kernel gives.
func leaseRefused(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	return errors.Is(err, unix.EAGAIN)
}

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
