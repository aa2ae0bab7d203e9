package hold_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/hold"
	"githandoff/internal/fault"
)

// claim gives each renewal a lease of an hour and the next of its answers.
type claim struct {
	now     time.Time
	answers []error
	at      []time.Duration // time of each renewal, since the start
	start   time.Time
}

func (c *claim) Renew(context.Context) (time.Time, error) {
	c.at = append(c.at, c.now.Sub(c.start))
	err := c.answers[len(c.at)-1]
	return c.now.Add(time.Hour), err
}

// run runs a handler until all answers were given or the claim was lost. told has the errors that were reported
// as a loss.
func run(t *testing.T, answers ...error) (c *claim, code int, warned, told []error, lost error) {
	t.Helper()
	start := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	c = &claim{now: start, start: start, answers: answers}
	over := make(chan struct{})
	h := &hold.Handler{
		Renew: c.Renew, Now: func() time.Time { return c.now },
		Warn: func(err error) { warned = append(warned, err) },
		Lost: func(err error) {
			told = append(told, err)
			close(over)
		},
		Wait: func(ctx context.Context, d time.Duration) error {
			if len(c.at) == len(c.answers) {
				close(over)
				<-ctx.Done()
				return ctx.Err()
			}
			c.now = c.now.Add(d)
			return nil
		},
	}
	code, lost, err := h.Handle(t.Context(), start.Add(time.Hour), func(context.Context) (int, error) {
		<-over
		return 7, nil
	})
	require.NoError(t, err)
	return c, code, warned, told, lost
}

func TestHoldRenewsAtHalf(t *testing.T) {
	c, code, warned, told, lost := run(t, nil, nil, nil)
	assert.Equal(t, []time.Duration{30 * time.Minute, time.Hour, 90 * time.Minute}, c.at)
	assert.Equal(t, 7, code)
	require.NoError(t, lost)
	assert.Empty(t, warned)
	assert.Empty(t, told)
}

// While a hub is down the renewal is tried again.
func TestHoldTriesAgain(t *testing.T) {
	down := fault.New(fault.Unavailable, fault.HubRefused, "origin is down")
	c, _, warned, _, lost := run(t, down, down, nil)
	assert.Equal(t, []time.Duration{30 * time.Minute, 45 * time.Minute, 52*time.Minute + 30*time.Second}, c.at)
	require.NoError(t, lost)
	assert.Len(t, warned, 2)
}

// A claim that another agent ended is reported at once and not renewed again. The program runs to its end.
func TestHoldLost(t *testing.T) {
	gone := fault.New(fault.Conflict, fault.NotHolder, "the claim was lost")
	c, code, warned, told, lost := run(t, nil, gone)
	assert.Len(t, c.at, 2)
	assert.Equal(t, 7, code)
	assert.True(t, errors.Is(lost, gone))
	assert.Equal(t, []error{gone}, told)
	assert.Empty(t, warned, "a loss is told once")
}
