package audited

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"
)

// Program stands for the rules that this program judges by: the file that runs, and what
// it was built from. "" where that cannot be found out.
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
