package cli

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"githandoff/hooks"
	"githandoff/internal/fault"
)

// Each hook that is installed has work to do. Git would wait for a hook that does nothing.
func TestEachInstalledHookHasWork(t *testing.T) {
	for _, name := range hooks.Names() {
		assert.NotNil(t, (&hookRun{name: name}).work(), name)
	}
}

func TestWithin(t *testing.T) {
	assert.NoError(t, within(t.Context(), time.Minute, func(context.Context) error { return nil }))

	err := within(t.Context(), time.Minute, func(context.Context) error { panic("no such lane") })
	assert.Equal(t, fault.Bug, fault.CodeOf(err))
	assert.ErrorContains(t, err, "no such lane")

	// Work that observes its context says itself what it did not do.
	err = within(t.Context(), time.Millisecond, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	assert.ErrorIs(t, err, context.DeadlineExceeded)

	// Work that does not observe its context is left behind.
	end := make(chan struct{})
	defer close(end)
	err = within(t.Context(), time.Millisecond, func(context.Context) error { <-end; return nil })
	assert.True(t, fault.Is(err, "late"), "%v", err)

	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	err = within(interrupted, time.Minute, func(context.Context) error { <-end; return nil })
	assert.ErrorIs(t, err, context.Canceled)
}
