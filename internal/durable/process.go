package durable

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Running reports whether a process with the id exists, of any user.
func Running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Abandoned reports whether the process of a file or directory is gone. The name begins with the
// id of its process, and a dash.
func Abandoned(name string) bool {
	owner, _, _ := strings.Cut(name, "-")
	pid, err := strconv.Atoi(owner)
	return err == nil && pid > 0 && !Running(pid)
}

// Sweep removes what is abandoned below a directory.
func Sweep(dir string) {
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		if Abandoned(n.Name()) {
			_ = os.RemoveAll(filepath.Join(dir, n.Name()))
		}
	}
}
