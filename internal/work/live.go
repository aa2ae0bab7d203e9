package work

import (
	"context"

	"githandoff/internal/fault"
)

// stillLive leaves out the claims that allow nothing any more, as far as this clone knows: somebody
// else ended them, or their lease or token is over. If there is no other, all are kept.
func (w *Held) stillLive(ctx context.Context, held []*Claim) ([]*Claim, error) {
	var live []*Claim
	for _, h := range held {
		switch _, err := w.LiveClaim(ctx, h); {
		case err == nil:
			live = append(live, h)
		case fault.CodeOf(err) != fault.Policy:
			return nil, err
		}
	}
	if len(live) == 0 {
		return held, nil
	}
	return live, nil
}
