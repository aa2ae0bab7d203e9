package stress

import "golang.org/x/sys/unix"

// oldCalls are the points whose system calls newer architectures lack.
var oldCalls = map[int]string{
	unix.SYS_RENAME: "rename", unix.SYS_UNLINK: "unlink", unix.SYS_MKDIR: "mkdir", unix.SYS_RMDIR: "rmdir",
	unix.SYS_LINK: "link", unix.SYS_OPEN: "create",
}
