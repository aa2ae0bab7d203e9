package durable

import (
	"errors"
	"strconv"
	"strings"
	"syscall"
)

// Running reports whether a process of that id is there, whoever it belongs to.
func Running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// Abandoned reports whether a file or directory belongs to a process that is gone. Its
// name begins with the id of the process that made it, and a dash.
func Abandoned(name string) bool {
	owner, _, _ := strings.Cut(name, "-")
	pid, err := strconv.Atoi(owner)
	return err == nil && pid > 0 && !Running(pid)
}
