package durable

import (
	"errors"
	"fmt"
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

// TempDir makes a directory of this process below top, for this user alone, and removes those of killed
// processes. top stays when its last directory goes, because another process may be about to make one there.
func TempDir(top string) (string, error) {
	Sweep(top)
	if err := os.MkdirAll(top, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(top, fmt.Sprintf("%d-", os.Getpid()))
}
