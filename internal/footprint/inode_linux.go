package footprint

import (
	"io/fs"
	"syscall"
	"time"
)

// inode returns the time of an inode's last change, and its number. No program sets this time.
func inode(info fs.FileInfo) (changed time.Time, number uint64) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime(), 0
	}
	return time.Unix(s.Ctim.Unix()), s.Ino
}
