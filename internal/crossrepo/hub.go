package crossrepo

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// Hub is the repository behind an alias, as a home. It implements
// lifecycle.Home.
type Hub struct {
	asking
	scouted sync.Map // tips of the lanes that were looked at before a first try
}

// NewHub makes the hub behind an alias. Copies of its refs are kept in repo. The
// judge says which lanes may be copied; nil where nothing is believed of them.
func NewHub(a *Alias, repo *refs.Repo, judge LaneJudge) *Hub {
	return &Hub{asking: asking{lanes: lanes{remote: remote{Alias: a, Repo: repo}, judge: judge}}}
}

// ID implements lifecycle.Home.
func (h *Hub) ID() string { return h.Alias.RepoID }

// Is implements lifecycle.Home.
func (h *Hub) Is(repoID string) bool { return h.Alias.Is(repoID) }

// Apply implements lifecycle.Home with one atomic push. Each ref is leased at the value
// that was validated; a push is believed only if every ref reports a change. A refused push
// may still have moved a ref: git at the hub leaves out each ref whose history it could not
// look into, also from an atomic push, and moves the others. Then half of a step is there,
// and the next fetch shows which half.
func (h *Hub) Apply(ctx context.Context, t refs.Transaction) error {
	// A copy that is elsewhere already saves the trip. It must not be made, either:
	// a ref that is at its new value is up to date for git, whatever its lease
	// says, and the others would move.
	if err := h.checkRefused(t.Edits); err != nil {
		return err
	}
	if _, moved, err := h.compare(ctx, t.Edits); err != nil {
		return err
	} else if len(moved) > 0 {
		return &refs.StaleError{Refs: moved}
	}
	edits := t.Edits
	const tries = 5
	for try := 0; ; try++ {
		// Again with each try: a gc may have taken what no ref leads to yet.
		if err := h.Repo.Store.Write(t.Objects...); err != nil {
			return err
		}
		report, err := h.push(ctx, edits)
		if err == nil && report.accepted(edits) {
			if deletes(t.Edits) {
				forgetKeeping(&h.remote)
			}
			met(h, t.Edits, nil)
			return h.follow(ctx, t)
		}
		if h.guardRefusal(err) == nil && report.refusedForGood(t.Edits) {
			return h.errPushRefused(t.Edits, report, err)
		}
		if rerr := h.Refresh(ctx, lifecycle.FetchSpecFor(h, t.Edits)); rerr != nil {
			return rerr
		}
		if err := h.checkRefused(t.Edits); err != nil {
			return err
		}
		done, moved, cerr := h.compare(ctx, t.Edits)
		if cerr == nil && (done || len(moved) == 0) {
			edits, cerr = h.remaining(ctx, edits, done)
		}
		switch {
		case cerr != nil:
			return cerr
		case done && len(edits) == 0: // it was applied and the answer got lost
			return h.follow(ctx, t)
		case len(moved) > 0:
			met(h, t.Edits, moved)
			return &refs.StaleError{Refs: moved, Read: true}
		case try+1 == tries, try > 0 && len(report.flag) == 0, // it said nothing of any ref
			h.guardRefusal(err) != nil:
			return h.diagnose(ctx, t.Edits, report, err)
		}
		if perr := refs.Pause(ctx, try); perr != nil {
			return perr
		}
	}
}

// compare reads the copies after a refresh: whether every edit is in place, and
// which refs are not where the edits expected them.
func (h *Hub) compare(ctx context.Context, edits []refs.Edit) (done bool, moved []string, err error) {
	done = true
	for _, e := range h.copied(edits) {
		now, err := h.Repo.Resolve(ctx, e.Ref)
		if err != nil {
			return false, nil, err
		}
		done = done && now == e.New
		if now != e.Old {
			moved = append(moved, h.RemoteName(e.Ref))
		}
	}
	return done, moved, nil
}

// follow lets this repository's copies and its own refs follow an accepted
// push. A copy that somebody else's fetch moved meanwhile is newer: it stays.
func (h *Hub) follow(ctx context.Context, t refs.Transaction) error {
	h.pushed(t.Edits)
	edits, err := h.followed(ctx, t.Edits)
	if err != nil {
		return err
	}
	err = h.Repo.Apply(ctx, refs.Transaction{Edits: edits, Objects: t.Objects, LocalEdits: t.LocalEdits})
	var stale *refs.StaleError
	if !errors.As(err, &stale) {
		return err
	}
	var behind []refs.Edit
	for _, e := range edits {
		if now, rerr := h.Repo.Resolve(ctx, e.Ref); rerr == nil && now == e.Old {
			behind = append(behind, e)
		}
	}
	if err := h.Repo.Apply(ctx, refs.Transaction{Edits: behind, LocalEdits: t.LocalEdits}); err != nil {
		return fmt.Errorf("note what %s accepted: %w", h.Alias.Name, err)
	}
	return nil
}
