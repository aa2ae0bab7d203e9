package sign

import (
	"context"
	"errors"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/private"
)

// lockPatience is how long a list of keys may be locked by others.
const lockPatience = 10 * time.Second

// withLock runs do while no other process is in withLock for the same path.
func withLock(path string, do func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	unlock, err := private.Lock(ctx, path)
	if errors.Is(err, context.DeadlineExceeded) {
		return fault.New(fault.Unavailable, fault.Busy, "lock %s: another process holds it", path)
	}
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}
