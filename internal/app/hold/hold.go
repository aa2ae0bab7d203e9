// Package hold keeps a claim alive while a program works on it.
//
// A lease is the time for which a claim stands without a word from its holder. A program which
// takes longer, and is no agent with hooks to renew it, runs below "githandoff hold": the lease
// is renewed whenever half of it is over. If somebody else ends the claim, this is reported at
// once; the program goes on, and decides what to do about it.
package hold

import (
	"context"
	"time"

	"githandoff/internal/fault"
)

// Handler runs programs.
type Handler struct {
	// Renew gives the lease its full length again, and returns its end. A refusal with code
	// Conflict means that the claim is lost.
	Renew func(ctx context.Context) (until time.Time, err error)

	Now  func() time.Time
	Wait func(ctx context.Context, d time.Duration) error // returns early with an error when ctx ends
	Warn func(err error)                                  // for errors which do not end the hold
	Lost func(err error)                                  // reports the lost claim at once, while the program runs on
}

// soonest is the shortest wait before a renewal, for short leases.
const soonest = time.Second

// Handle runs a program to its end and meanwhile renews the lease, which ends at until. It
// returns the exit code of the program, and why the claim was lost, if it was: Lost has reported
// it already.
func (h *Handler) Handle(ctx context.Context, until time.Time, run func(ctx context.Context) (int, error)) (code int, lost, err error) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.renew(ctx, until) }()
	code, err = run(ctx)
	stop()
	return code, <-ended, err
}

// renew renews the lease until ctx ends or the claim is lost.
func (h *Handler) renew(ctx context.Context, until time.Time) error {
	ended := func() bool { return ctx.Err() != nil } // the error of an ended ctx is not the claim's
	for {
		_ = h.Wait(ctx, max(soonest, until.Sub(h.Now())/2)) // ends early only with ctx
		if ended() {
			return nil
		}
		next, err := h.Renew(ctx)
		if ended() {
			return nil
		}
		switch {
		case fault.CodeOf(err) == fault.Conflict:
			h.Lost(err)
			return err
		case err != nil:
			h.Warn(err) // a hub that is down may come back in time
			if later := h.Now().Add(2 * retry); later.After(until) {
				until = later
			}
		default:
			until = next
		}
	}
}

// retry is how long a failed renewal waits where half of the lease is over sooner.
const retry = 15 * time.Second
