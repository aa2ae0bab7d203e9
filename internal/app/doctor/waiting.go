package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/outbox"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
	"githandoff/internal/work"
	"githandoff/internal/workcopy"
)

// checkLeftovers looks for files that the next command tidies up by itself, packs that were
// kept from a git gc and transactions that a kill cut short, and for files that gc removes.
func (d *checkup) checkLeftovers(ctx context.Context) {
	found := false
	for _, l := range []struct{ dir, what string }{
		{"kept", "packs kept from a git gc"},
		{"intents", "transactions begun and not ended"},
	} {
		files, err := os.ReadDir(d.repo.Own(l.dir))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			d.problem("leftovers", err)
			found = true
		case len(files) > 0:
			d.ok("leftovers", "%s: %d; the next command that changes something finishes them", l.what, len(files))
			found = true
		}
	}
	switch files, err := outbox.Leftovers(ctx, d.repo, d.Now, d.Dirs...); {
	case err != nil:
		d.problem("leftovers", err)
		found = true
	case len(files) > 0:
		d.ok("leftovers", "incomplete files: %d; githandoff gc removes them", len(files))
		found = true
	}
	if !found {
		d.ok("leftovers", "none")
	}
}

func (d *checkup) checkWaiting(ctx context.Context) {
	steps, err := work.ClaimsOf(d.repo).Waiting()
	if err != nil {
		d.problem("waiting", err)
		return
	}
	list, err := d.repo.List(ctx, receipt.WorkRefs()...)
	if err != nil {
		d.problem("waiting", err)
		return
	}
	defer d.checkSnapshots(ctx, list)
	queued := waiting(list)
	if len(steps)+queued == 0 {
		d.ok("waiting", "nothing to deliver, no queued steps")
		return
	}
	d.wrong("waiting", fault.Run("githandoff", "sync").Because("delivers handoffs and sends queued steps"), "handoffs to deliver: %d, queued steps: %d", queued, len(steps))
}

// checkSnapshots looks for snapshots whose handoff is gone, and for work copies that a
// kill cut short.
func (d *checkup) checkSnapshots(ctx context.Context, list []refs.Ref) {
	strays, err := receipt.Strays(ctx, d.repo, list)
	if err != nil {
		d.problem("snapshots", err)
		return
	}
	for _, s := range strays {
		d.wrong("snapshots", fault.Run("githandoff", "gc").Because("removes it"), "%s leads to the snapshot of a handoff that is gone", s.Ref)
	}
	unfinished, err := (&workcopy.Handler{Repo: d.repo}).Unfinished()
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
