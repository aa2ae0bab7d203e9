package audited

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

// Program stands for the rules of this program: the executable and its build information; "" if
// they cannot be read.
func Program() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	build, built := debug.ReadBuildInfo()
	if !ok || !built {
		return ""
	}
	return fmt.Sprintln(path, stat.Dev, stat.Ino, info.Size(), info.ModTime().UnixNano(), build)
}
