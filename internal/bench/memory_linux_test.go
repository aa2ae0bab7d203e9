package bench

import (
	"syscall"
	"testing"
)

// memory is where Linux has a file system in memory.
const memory = "/dev/shm"

// inMemory puts the repositories of a benchmark into memory if there is room: a disk that
// others use takes from one to twenty seconds for one checkout of 50,000 files, and that
// would be measured. It is the harder comparison, since both sides write the same files.
func inMemory(b *testing.B) {
	b.Helper()
	var room syscall.Statfs_t
	if syscall.Statfs(memory, &room) == nil && int64(room.Bavail)*int64(room.Bsize) > 4<<30 {
		b.Setenv("TMPDIR", memory)
	}
}
