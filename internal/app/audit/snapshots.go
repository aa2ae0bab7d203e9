package audit

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
)

// snapshots tells of snapshots whose handoff is gone, and returns the refs that are not
// those of snapshots.
func (c *comparison) snapshots(ctx context.Context, repo *refs.Repo, list []refs.Ref) ([]refs.Ref, error) {
	strays, err := receipt.Strays(ctx, repo, list)
	if err != nil {
		return nil, err
	}
	for _, s := range strays {
		f := Finding{Reason: fault.Unswept, ID: s.ID, Text: s.Ref + " is still there, and its handoff is not (githandoff gc)"}
		if err := c.finding(c.home.Namespace().Lane(s.ID), f); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(list, func(ref refs.Ref) bool {
		_, ok := c.home.Namespace().ParseWork(ref.Name)
		return ok
	}), nil
}
