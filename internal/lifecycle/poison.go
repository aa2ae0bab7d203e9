package lifecycle

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/record"
)

// Wary is a Home that keeps copies of lanes, and refuses what the home itself says of
// some.
type Wary interface {
	// Refused says why a lane cannot be believed; nil where it can.
	Refused(lane string) error
}

// MayMove says why the copy of a lane must not move from one tip to another; nil if it
// may: the new tip leads to the old one, and no merge is new that a root key did not
// sign. From is "" where there is no copy yet.
func (l *Lanes) MayMove(ctx context.Context, from, to string) error {
	index, err := l.index(ctx, to)
	if err != nil || from == "" {
		return err
	}
	oid, err := hex.DecodeString(from)
	if err != nil {
		return fmt.Errorf("read lane: %w", err)
	}
	if !slices.ContainsFunc(index, func(at indexed) bool { return string(at.oid[:]) == string(oid) }) {
		return denied(fault.Rollback, "lane entry %s does not follow %s", to, from)
	}
	return nil
}

// Cut finds the tip that a lane had before somebody put a merge on it that no root key
// signed. Below is the hub's tip of the lane, "" if it has none. Of two parents it takes
// the one that descends from below; if both do, the one with only entries by trusted keys
// since. Not ok means that neither can be chosen. A tip of "" means that no part of the
// lane is worth keeping.
func (l *Lanes) Cut(ctx context.Context, tip, below string) (cut string, ok bool, err error) {
	for range maxLane {
		if tip == "" {
			return "", below == "", nil
		}
		o, err := l.read(ctx, tip)
		if err != nil {
			return "", false, err
		}
		parents := parentsOf(o.Body)
		if len(parents) < 2 || l.joins(ctx, o) == nil {
			tip = firstParent(o.Body)
			continue
		}
		var good []string
		anything := false
		for _, p := range parents {
			signed, all, err := l.vouchedAbove(ctx, p, below)
			if err != nil {
				return "", false, err
			}
			anything = anything || signed
			if all {
				good = append(good, p)
			}
		}
		switch {
		case len(good) == 1:
			return good[0], true, nil
		case !anything && below == "":
			return "", true, nil
		}
		return "", false, nil
	}
	return "", false, nil
}

// vouchedAbove walks first parents down to an entry that is known: whether a trusted
// key signed any of those above it, and whether they signed all and it was met.
func (l *Lanes) vouchedAbove(ctx context.Context, tip, below string) (anything, all bool, err error) {
	all = true
	for oid := tip; oid != below; {
		if oid == "" {
			return anything, false, nil
		}
		o, err := l.read(ctx, oid)
		if err != nil {
			return false, false, err
		}
		c, perr := record.ParseCommit(o.Body)
		good := perr == nil && l.Keys.CheckTrustedSigner(c) == nil && (len(c.Parents) < 2 || l.joins(ctx, o) == nil)
		anything, all = anything || good, all && good
		oid = firstParent(o.Body)
	}
	return anything, all, nil
}

// PutBack is the refusal of a lane on which somebody put a merge, with the command by
// which the hub's administrator takes it off again: in the hub, to the tip that the
// lane had.
func PutBack(hub, lane, tip, was string, why error) error {
	f := fault.New(fault.Denied, fault.Rollback, "%s has a history in %s that this clone refuses: %w", hub, lane, why)
	if was == "" {
		return f
	}
	return f.WithHints(fault.Run("git", "update-ref", lane, was, tip).
		Because("the administrator of the hub, in the hub: puts the lane back"))
}
