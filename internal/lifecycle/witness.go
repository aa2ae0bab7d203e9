package lifecycle

import (
	"context"
	"fmt"

	"githandoff/internal/fault"
	"githandoff/internal/sign"
)

// A key that is retired may have been stolen, and then it dates its entries as it likes.
// The lanes as they were when the key was retired tell true entries from others. Their tips
// are recorded in the entry of the key, as the object id of a tree for each namespace: an
// entry a lane, "160000 <cc>".

// unseen refuses what a retired key signed and the lanes that were written down
// at that time do not contain. A key of which nothing was written down is judged
// by dates alone.
func (l *Lanes) unseen(ctx context.Context, key sign.Key, entry *Entry) error {
	if key.Entry().Retired == "" || len(key.Seen()) == 0 {
		return nil
	}
	return l.witnessed(ctx, key, entry.Record().ID.Lane(), entry.OID)
}

// witnessed refuses an entry by a key that is not valid any more, unless this clone had
// seen the entry before.
func (l *Lanes) witnessed(ctx context.Context, key sign.Key, lane, oid string) error {
	for _, tree := range key.Seen() {
		tip, err := l.seenTip(ctx, tree, lane)
		if err != nil {
			return err
		}
		below, err := l.belowTip(ctx, tip)
		if err != nil {
			return err
		}
		if below[oid] {
			return nil
		}
	}
	return denied(fault.KeyRevoked, "entry %s by key %s was not here when that key was retired", oid, key.KID())
}

// witnesses caches trees of tips, and the commits below those tips.
type witnesses struct {
	tips  map[string]map[string]string // by tree, by lane
	below map[string]map[string]bool   // by tip
}

// seenTip is the tip of a lane in a tree of them; "" where it has none, or is not
// here.
func (l *Lanes) seenTip(ctx context.Context, tree, lane string) (string, error) {
	if l.witness.tips == nil {
		l.witness.tips, l.witness.below = map[string]map[string]string{}, map[string]map[string]bool{}
	}
	tips, ok := l.witness.tips[tree]
	if !ok {
		o, err := l.Repo.Read(ctx, tree, MaxTips)
		if err != nil {
			return "", err
		}
		if o != nil && o.Type == "tree" {
			tips = parseTips(o.Body)
		}
		l.witness.tips[tree] = tips
	}
	return tips[lane], nil
}

// belowTip are the commits that a tip contains, itself among them.
func (l *Lanes) belowTip(ctx context.Context, tip string) (map[string]bool, error) {
	if below, ok := l.witness.below[tip]; ok || tip == "" {
		return below, nil
	}
	w := &laneWalk{lanes: l}
	defer w.close()
	below, err := w.below(ctx, tip, nil)
	if err != nil {
		return nil, fmt.Errorf("read the known tips of a lane: %w", err)
	}
	l.witness.below[tip] = below
	return below, nil
}
