package cli

import (
	"context"
	"strings"

	"githandoff/internal/app/workcopy"
	"githandoff/internal/fault"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
)

// checkSnapshots looks for snapshots whose handoff is gone, and for work copies that a
// kill cut short.
func (d *doctor) checkSnapshots(ctx context.Context, repo *refs.Repo, list []refs.Ref) {
	strays, err := receipt.Strays(ctx, repo, list)
	if err != nil {
		d.problem("snapshots", err)
		return
	}
	for _, s := range strays {
		d.wrong("snapshots", fault.Run("githandoff", "gc").Because("removes it"), "%s leads to the snapshot of a handoff that is gone", s.Ref)
	}
	unfinished, err := (&workcopy.Handler{Repo: repo}).Unfinished()
	if err != nil {
		d.problem("snapshots", err)
		return
	}
	for _, one := range unfinished {
		d.problem("snapshots", one)
	}
	if len(strays)+len(unfinished) == 0 {
		d.ok("snapshots", "none without a handoff, no work copy unfinished")
	}
}

// waiting counts the refs of the outbox in a list.
func waiting(list []refs.Ref) (n int) {
	for _, ref := range list {
		if strings.HasPrefix(ref.Name, refs.Root+"outbox/") {
			n++
		}
	}
	return n
}
