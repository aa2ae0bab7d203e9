package audit

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
)

// snapshots reports snapshots whose handoff is gone, and returns the other refs. The copy of a hub
// has a snapshot only while somebody here looks at its files. A snapshot that a killed command left
// there is no finding about the hub: doctor reports it.
func (c *comparison) snapshots(ctx context.Context, list []refs.Ref) ([]refs.Ref, error) {
	var strays []receipt.Stray
	if lifecycle.IsLocal(c.home) {
		var err error
		if strays, err = receipt.Strays(ctx, c.repo, list); err != nil {
			return nil, err
		}
		c.work = map[string]string{}
	}
	for _, s := range strays {
		f := Finding{Reason: fault.Unswept, ID: s.ID, Text: s.Ref + " is still there, and its handoff is not (githandoff gc)"}
		if err := c.finding(c.home.Namespace().Lane(s.ID), f); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(ref refs.Ref) bool {
		_, ok := c.home.Namespace().ParseWork(ref.Name)
		if ok && c.work != nil {
			c.work[ref.Name] = ref.OID
		}
		return ok
	}), nil
}

// carried reports an open handoff whose snapshot is gone, or is another one. Lanes do not mention
// snapshots, so the envelope is read, by the git that reads the commits.
func (c *comparison) carried(ctx context.Context, lane string, id handoff.ID, at *openRef) error {
	if c.work == nil {
		return nil
	}
	p, _ := c.home.Namespace().ParseHandoffRef(at.ref)
	ref := c.home.Namespace().Work(p.Agent, id)
	named, err := lifecycle.WorkAt(ctx, c.repo, at.tip)
	if err != nil || named == nil || c.work[ref] == named.Commit || c.moving(ctx, at) {
		return err
	}
	f := Finding{Reason: fault.Lost, ID: id, Lane: lane, Text: ref + " is gone, and the envelope of the open handoff names it"}
	if c.work[ref] != "" {
		f.Reason, f.Text = fault.DigestMismatch, ref+" is not the snapshot that the envelope of the handoff names"
	}
	commit, err := c.repo.Read(ctx, named.Commit, lifecycle.MaxWork)
	if err != nil && fault.CodeOf(err) != fault.Denied {
		return err
	}
	if commit != nil {
		f.Hints = []fault.Hint{fault.Run("git", "update-ref", ref, named.Commit, c.work[ref]).Because("brings it back: git still has the commit")}
	}
	return c.finding(lane, f)
}

// moving reports whether a step is taking the handoff away while the refs are compared: the
// snapshot goes first.
func (c *comparison) moving(ctx context.Context, at *openRef) bool {
	if _, err := os.Lstat(filepath.Join(c.repo.CommonDir, at.ref+".lock")); err == nil {
		return true
	}
	now, err := c.repo.Resolve(ctx, at.ref)
	return err == nil && now != at.tip
}
