package sign

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"githandoff/internal/fault"
)

const (
	lockTries = 1000
	lockPause = 10 * time.Millisecond
)

// withLock runs do while no other process is in withLock for the same path. The
// lock is the kernel's, so that it cannot outlive its holder; its file stays.
func withLock(path string, do func() error) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	defer f.Close() // releases it
	for range lockTries {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			break
		}
		time.Sleep(lockPause)
	}
	if err != nil {
		return fault.New(fault.Unavailable, fault.Busy, "lock %s: %w", path, err)
	}
	return do()
}
