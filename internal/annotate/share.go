package annotate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/notes"
	"githandoff/internal/refs"
)

// Share shares notes with a hub, which is the source's own origin: notes point to its code. Lines
// are taken from there one by one (take.go), and the hub gets a tree without a history. Notes are
// hints, so only an unreachable hub is an error: the rest is one warning.
func (n *Notes) Share(ctx context.Context, hub *crossrepo.Hub) error {
	onTop := false
	for round := 0; ; round++ {
		s, err := n.look(ctx, hub)
		if s == nil {
			return err
		}
		if len(s.take) > 0 {
			take, err := n.followed(ctx, s.take)
			if err != nil {
				return err
			}
			err = n.update(ctx, "Notes taken by githandoff", func(tree string, w *collector) (string, error) {
				return notes.AddTo(ctx, w, w, tree, take)
			})
			if err != nil {
				return n.warnBad(hub, err)
			}
		}
		done, err := n.push(ctx, hub, s, onTop || round > 1)
		if err == nil && done {
			return nil
		}
		refused := errors.Is(err, refs.ErrRefused)
		if full := refs.DiskFault(err); !refused && fault.Is(full, fault.DiskFull) { // the disk here is full, not the hub's
			n.Workspace.Warn(fmt.Errorf("notes at %s are not merged: %w", hub.Alias.Name, full))
			return nil
		}
		if round == 3 || refused && onTop {
			n.Workspace.Warn(fmt.Errorf("notes at %s are not merged: it refuses them: %s", hub.Alias.Name, crossrepo.GitSaid(err)))
			return nil // to delete the hub's notes would not help
		}
		onTop = onTop || refused
		if err := refs.Pause(ctx, round); err != nil {
			return err
		}
	}
}

// look fetches the notes of a hub and compares them with ours. It returns nil where it cannot, and no
// error if it has warned of that. If a gc took objects just fetched, it fetches all of them again.
func (n *Notes) look(ctx context.Context, hub *crossrepo.Hub) (*sharing, error) {
	for again := false; ; again = true {
		before, err := n.fetch(ctx, hub)
		if err != nil {
			return nil, n.errFetch(ctx, hub, err)
		}
		s, err := n.compare(ctx, hub, before)
		switch {
		case err == nil:
			return s, nil
		case again || !fault.Is(err, fault.MissingObject):
			return nil, n.warnBad(hub, err)
		}
		if err := crossrepo.MendNotes(ctx, hub); err != nil {
			return nil, err
		}
	}
}

// fetch brings the notes of a hub, unless an earlier fetch of this command brought them.
// before is the tip of this clone's copy of them as it was before.
func (n *Notes) fetch(ctx context.Context, hub *crossrepo.Hub) (before string, err error) {
	if before, ok := hub.FetchedNotes(); ok {
		return before, nil
	}
	if before, err = n.Engine.Repo.Resolve(ctx, hub.NotesCopy()); err != nil {
		before = "" // an unreadable ref counts as none
	}
	return before, hub.FetchNotes(ctx)
}

// errFetch distinguishes a hub that is down from one with unfetchable notes.
func (n *Notes) errFetch(ctx context.Context, hub *crossrepo.Hub, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, down := hub.RemoteLanes(ctx); down != nil {
		return down
	}
	// The fault is in this clone: the hub's notes may be sound.
	if gitexec.Damaged(err, n.Engine.Repo.Objects) || gitexec.CouldNotStore(err) || gitexec.Unexplained(err) {
		n.Workspace.Warn(fmt.Errorf("notes at %s are not merged: this clone cannot take them: %s", hub.Alias.Name, crossrepo.GitSaid(err)))
		return nil
	}
	if fault.As(err) != nil { // a refusal by githandoff explains itself
		n.Workspace.Warn(fmt.Errorf("notes at %s are not merged: %w", hub.Alias.Name, err))
		return nil //nolint:nilerr // the warning has told the error
	}
	return n.warnBad(hub, fmt.Errorf("they cannot be fetched: %s", crossrepo.GitSaid(err)))
}

// warnBad warns in one line of an error in the notes of a hub, with the command to correct it.
func (n *Notes) warnBad(hub *crossrepo.Hub, err error) error {
	if fault.As(err) == nil && strings.Contains(err.Error(), context.Canceled.Error()) {
		return err
	}
	if fault.Is(err, fault.MissingObject) || gitexec.Unexplained(err) { // this clone lacks the object, or its git ended, not the hub's
		n.Workspace.Warn(fmt.Errorf("notes at %s are not merged: %w", hub.Alias.Name, err))
		return nil
	}
	n.Workspace.Warn(fmt.Errorf("notes at %s are not merged: %w (with permission to delete there, remove them: git push %s --delete %s)",
		hub.Alias.Name, err, fault.Arg(hub.Alias.Name), hub.RemoteName(hub.NotesCopy())))
	return nil
}

// push gives the hub its missing lines, and corrects malformed ones. It reports whether nothing
// is left to do. A hub may refuse to replace a commit. For such a hub, onTop makes the hub's commit
// the parent of the new one. This repository keeps no ref to it.
func (n *Notes) push(ctx context.Context, hub *crossrepo.Hub, s *sharing, onTop bool) (bool, error) {
	if err := n.atHub(ctx, hub, s); err != nil {
		return false, err
	}
	w := &collector{repo: n.Engine.Repo}
	tree, err := notes.Set(ctx, w, w, s.theirs, s.give)
	if err != nil {
		return false, err
	}
	if tree == s.theirs || tree == "" {
		return true, nil
	}
	parent := ""
	if onTop {
		parent = s.tip
	}
	oid, err := w.Put("commit", notes.Snapshot(tree, parent))
	if err != nil {
		return false, err
	}
	if err := n.Engine.Repo.Store.Write(w.objects...); err != nil {
		return false, err
	}
	t := refs.Transaction{Edits: []refs.Edit{{Ref: hub.NotesCopy(), Old: s.tip, New: oid}}, Objects: w.objects}
	report, err := hub.Push(ctx, t)
	if err != nil && report.RefusedForGood(t.Edits) {
		return false, fmt.Errorf("%w: %s", refs.ErrRefused, crossrepo.GitSaid(err))
	}
	if err != nil || !report.Accepted(t.Edits) {
		return false, err
	}
	return true, n.Engine.Repo.Apply(ctx, t)
}

// atHub removes the notes of commits missing at the hub, as far as this clone knows: they would
// be useless there.
func (n *Notes) atHub(ctx context.Context, hub *crossrepo.Hub, s *sharing) error {
	if len(s.added) == 0 {
		return nil
	}
	var ask strings.Builder
	for target := range s.added {
		ask.WriteString(target + "\n")
	}
	out, err := n.Engine.Repo.Runner.Run(ctx, gitexec.Cmd{
		Args:  []string{"rev-list", "--stdin", "--not", "--remotes=" + hub.Alias.Name},
		Stdin: strings.NewReader(ask.String()), MaxOutput: 1 << 28,
	})
	if err != nil {
		return fmt.Errorf("list the commits of %s: %w", hub.Alias.Name, err)
	}
	for line := range strings.Lines(string(out)) {
		target := strings.TrimSuffix(line, "\n")
		lines, ours := s.added[target]
		switch {
		case !ours:
		case lines == nil:
			delete(s.give, target)
		default:
			s.give[target] = lines
		}
	}
	return nil
}
