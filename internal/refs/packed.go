package refs

import (
	"os"
	"path/filepath"
	"syscall"
)

// packedStamp is one version of the file packed-refs; zero where there is none.
type packedStamp struct {
	inode uint64
	size  int64
	nanos int64
}

// packedStamp tells versions of packed-refs apart better than a git that stays
// running does. git compares inode, size and whole seconds: a file that was
// packed twice within one second, with as many refs, can have all three as
// before, and such a git goes on answering from the version that it has read.
// So a process is only asked again while the file is the one of its first answer.
func (r *Repo) packedStamp() packedStamp {
	info, err := os.Stat(filepath.Join(r.CommonDir, "packed-refs"))
	if err != nil {
		return packedStamp{}
	}
	stamp := packedStamp{size: info.Size(), nanos: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		stamp.inode = sys.Ino
	}
	return stamp
}
