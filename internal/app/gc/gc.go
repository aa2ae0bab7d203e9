package gc

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/snapshot"
	"githandoff/internal/workspace"
)

// Collected is one thing removed by Run, or to be removed.
type Collected struct {
	What string // "leftover", "expired", "swept", "checkpoint", "snapshot", "copy"
	ID   handoff.ID
	Ref  string
	Path string // path of a leftover, the incomplete file of a killed writer
}

// Run collects leftovers, then inbox refs whose receipt is in the lane, checkpoints of ended
// handoffs, refs to snapshots whose handoff is gone, and records of unfinished work copies. With
// expired, expired handoffs get their receipt, never under a live claim; only their source or a
// root key may write it. Those that wait for delivery to a repository without an alias are dropped.
func (h *Handler) Run(ctx context.Context, expired, dryRun bool, visit func(Collected)) error {
	c := &collection{Handler: h, dryRun: dryRun, visit: visit, down: map[string]bool{}, unreached: fault.First{Warn: h.Workspace.Warn}}
	if err := c.files(ctx); err != nil {
		return err
	}
	inboxes, err := h.inboxes(ctx)
	if err != nil {
		return err
	}
	for _, it := range inboxes {
		if c.down[it.Home.ID()] {
			continue
		}
		if err := c.keepBack(it.Home, c.inbox(ctx, it, expired)); err != nil {
			return err
		}
	}
	if expired {
		if err := c.outbox(ctx); err != nil {
			return err
		}
	}
	list, err := h.Engine.Repo.List(ctx, append(receipt.WorkRefs(), refs.Root+"checkpoints/")...)
	if err != nil {
		return err
	}
	if err := c.checkpoints(ctx, list); err != nil {
		return err
	}
	if err := c.snapshots(ctx, list); err != nil {
		return err
	}
	if err := c.copies(ctx); err != nil {
		return err
	}
	return c.unreached.Err
}

// collection is one run.
type collection struct {
	*Handler
	dryRun bool
	visit  func(Collected)

	down      map[string]bool // ids of hubs that could not be reached
	unreached fault.First     // the first error of an unreachable hub; the others are warnings
}

// remove removes a thing, and visits it once it is gone. A dry run only visits it.
func (c *collection) remove(one Collected, drop func() error) error {
	if !c.dryRun {
		if err := drop(); err != nil {
			return err
		}
	}
	c.visit(one)
	return nil
}

// inboxes lists the handoffs in inboxes, lane by lane, so that each lane is read once.
func (h *Handler) inboxes(ctx context.Context) (items []*workspace.Item, err error) {
	err = h.Workspace.List(ctx, true, func(it *workspace.Item) error {
		if it.Kind == refs.KindInbox && it.Fault == nil {
			items = append(items, it)
		}
		return nil
	})
	slices.SortStableFunc(items, func(a, b *workspace.Item) int {
		return cmp.Or(cmp.Compare(a.Home.ID(), b.Home.ID()), cmp.Compare(a.Place.ID.Lane(), b.Place.ID.Lane()))
	})
	return items, err
}

// keepBack keeps the error of a hub that is down until the end of the run, so that the hub does not
// keep other handoffs from being collected. It returns any other error.
func (c *collection) keepBack(home lifecycle.Home, err error) error {
	if lifecycle.IsLocal(home) || fault.CodeOf(err) != fault.Unavailable {
		return err
	}
	c.down[home.ID()] = true
	c.unreached.Keep(err)
	return nil
}

// inbox deletes an inbox ref whose receipt is in the lane, or ends an expired handoff.
func (c *collection) inbox(ctx context.Context, it *workspace.Item, expired bool) error {
	s, err := c.Engine.Reader.Load(ctx, it.Home, it.Place)
	if err != nil {
		c.Workspace.Warn(err)
		return nil
	}
	switch {
	case s.Phase() == lifecycle.Ended && s.Tip != "":
		return c.remove(Collected{What: "swept", ID: it.Place.ID, Ref: it.Ref}, func() error {
			return c.Engine.Sweep(ctx, it.Home, it.Place)
		})
	case expired && c.mayExpire(s):
		return c.expire(ctx, it)
	}
	return nil
}

// outbox deletes the expired handoffs in the outbox for homes without an alias: nothing can deliver
// them.
func (c *collection) outbox(ctx context.Context) error {
	outgoing, err := c.Workspace.Outgoing(ctx)
	if err != nil {
		return err
	}
	for _, it := range outgoing {
		if it.Kind != refs.KindOutbox || !fault.Is(it.Fault, fault.UnknownHome) || !c.Engine.Now().After(it.Record.Expires) {
			continue
		}
		err := c.remove(Collected{What: "expired", ID: it.Place.ID, Ref: it.Ref}, func() error {
			if err := c.Engine.Repo.Apply(ctx, refs.Transaction{Edits: c.Receipts.OwnRefs(ctx, it.Place)}); err != nil {
				return err
			}
			return c.Staged.Drop(it.Place.ID)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// files removes the incomplete files of killed writers and the stamps of old sessions.
func (c *collection) files(ctx context.Context) error {
	now := c.Engine.Now()
	files, err := outbox.Leftovers(ctx, c.Engine.Repo, now, c.Dirs...)
	if err != nil {
		return err
	}
	for _, path := range files {
		c.visit(Collected{What: "leftover", Path: path})
	}
	if c.dryRun {
		return nil
	}
	if err := c.SweepStamps(c.Engine.Repo.OwnWorktree("sessions"), now); err != nil {
		return err
	}
	for _, dir := range c.Engine.Repo.OwnDirs() {
		below, err := filepath.Rel(c.Engine.Repo.CommonDir, dir)
		if err != nil {
			return err
		}
		for _, name := range []string{refs.ScratchName, snapshot.ScratchName} { // of killed fetches of lost objects, and snapshots
			durable.Sweep(c.Engine.Repo.CommonDir, filepath.Join(below, name))
		}
	}
	return durable.RemoveAll(files)
}

// expire gives an expired handoff its receipt. A refusal means that somebody else has to do it, or has
// ended the handoff, and is reported.
func (c *collection) expire(ctx context.Context, it *workspace.Item) error {
	err := c.remove(Collected{What: "expired", ID: it.Place.ID, Ref: it.Ref}, func() error {
		_, err := c.Receipts.Withdraw(ctx, it.Home, it.Place, record.Expired, lifecycle.Outcome{LocalEdits: c.Receipts.OwnRefs(ctx, it.Place)})
		return err
	})
	if fault.As(err) == nil || fault.CodeOf(err) == fault.Unavailable {
		return err
	}
	c.Workspace.Warn(err)
	return nil
}

func (h *Handler) mayExpire(s *lifecycle.State) bool {
	now := h.Engine.Now()
	if s.Offer == nil || !now.After(s.Offer.Expires) || s.Claim != nil && !s.Overdue(now) {
		return false
	}
	return h.Engine.Author.MayAct(sign.RoleSender, s.Offer.From)
}

// checkpoints drops the checkpoints of work that is over. After a failure the work goes on in the
// return handoff; after a reroute or an answer, in the child.
func (c *collection) checkpoints(ctx context.Context, list []refs.Ref) error {
	for _, ref := range list {
		rest, ok := strings.CutPrefix(ref.Name, refs.Root+"checkpoints/")
		id, err := handoff.ParseID(rest)
		if !ok || err != nil {
			continue
		}
		over, err := c.isOver(ctx, id)
		if err != nil {
			return err
		}
		if !over {
			continue
		}
		err = c.remove(Collected{What: "checkpoint", ID: id, Ref: ref.Name}, func() error {
			return c.Engine.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref.Name, Old: ref.OID}}})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isOver reports whether a handoff has ended, and with it the handoffs in which its work went on.
func (h *Handler) isOver(ctx context.Context, id handoff.ID) (bool, error) {
	for range handoff.MaxChain {
		f, err := h.Workspace.Find(ctx, string(id), workspace.Never)
		if fault.CodeOf(err) == fault.NotFound {
			return false, nil // an unknown handoff does not count as over
		}
		if err != nil {
			return false, err
		}
		r := f.State.Receipt
		if r == nil {
			return false, nil
		}
		if r.Next == "" {
			return true, nil
		}
		if err := f.Home.Refresh(ctx, lifecycle.FetchSpec{Lanes: []handoff.ID{r.Next}}); err != nil {
			h.Workspace.Warn(err)
			return false, nil
		}
		id = r.Next
	}
	return false, nil
}
