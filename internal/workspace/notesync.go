package workspace

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

// SyncNotes shares notes with a hub, which is the source's own origin: notes point
// to its code. Lines are taken from there one by one (notetake.go), and the hub is
// given a tree without a history. Notes are hints, so that nothing but a hub that is
// down is an error: the rest is one warning.
func (d *Workspace) SyncNotes(ctx context.Context, hub *crossrepo.Hub) error {
	onTop := false
	for round := 0; ; round++ {
		before, err := d.Repo.Resolve(ctx, hub.NotesCopy())
		if err != nil {
			before = "" // it leads to something large
		}
		if err := hub.FetchNotes(ctx); err != nil {
			return d.noNotes(ctx, hub, err)
		}
		s, err := d.compareNotes(ctx, hub, before)
		if err != nil {
			return d.badNotes(hub, err)
		}
		if len(s.take) > 0 {
			err := d.updateNotes(ctx, "Notes taken by githandoff", func(tree string, w *collector) (string, error) {
				return notes.AddTo(ctx, objectReader{d.Repo, w}, w, tree, s.take)
			})
			if err != nil {
				return d.badNotes(hub, err)
			}
		}
		done, err := d.pushNotes(ctx, hub, s, onTop || round > 1)
		if err == nil && done {
			return nil
		}
		refused := errors.Is(err, refs.ErrRefused)
		if round == 3 || refused && onTop {
			return d.badNotes(hub, fault.New(fault.Unavailable, fault.HubRefused, "it does not take them: %s", crossrepo.GitSaid(err)))
		}
		onTop = onTop || refused
		if err := refs.Pause(ctx, round); err != nil {
			return err
		}
	}
}

// noNotes tells a hub that is down from one whose notes cannot be fetched.
func (d *Workspace) noNotes(ctx context.Context, hub *crossrepo.Hub, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, down := hub.RemoteLanes(ctx); down != nil {
		return down
	}
	return d.badNotes(hub, fmt.Errorf("they cannot be fetched: %s", crossrepo.GitSaid(err)))
}

// badNotes says in one line what is wrong with the notes of a hub, and what mends it.
func (d *Workspace) badNotes(hub *crossrepo.Hub, err error) error {
	if fault.As(err) == nil && strings.Contains(err.Error(), context.Canceled.Error()) {
		return err
	}
	d.Warn(fmt.Errorf("the notes at %s are left alone: %w (who may delete there mends it: git push %s --delete %s)",
		hub.Alias.Name, err, fault.Arg(hub.Alias.Name), refs.NotesRef))
	return nil
}

// pushNotes gives the hub what it lacks, and lines in form for those that are not.
// It reports whether nothing is left to do. A hub may refuse to replace a commit by
// another: for that, onTop makes the new one stand on what is there, which this
// repository keeps no ref to.
func (d *Workspace) pushNotes(ctx context.Context, hub *crossrepo.Hub, s *sharing, onTop bool) (bool, error) {
	if err := d.atHub(ctx, hub, s); err != nil {
		return false, err
	}
	w := &collector{}
	tree, err := notes.Set(ctx, objectReader{d.Repo, w}, w, s.theirs, s.give)
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
	if err := d.Repo.Write(w.objects...); err != nil {
		return false, err
	}
	edit := []refs.Edit{{Ref: hub.NotesCopy(), Old: s.tip, New: oid}}
	report, err := hub.PushAs(ctx, edit, func(string) string { return refs.NotesRef })
	if err != nil && report.RefusedForGood() {
		return false, fmt.Errorf("%w: %s", refs.ErrRefused, crossrepo.GitSaid(err))
	}
	if err != nil || !report.AcceptedAll() {
		return false, err
	}
	return true, d.Repo.Apply(ctx, refs.Transaction{Edits: edit})
}

// atHub leaves out of what is given the notes of commits that the hub does not have,
// as far as this clone knows: nobody there could look at them.
func (d *Workspace) atHub(ctx context.Context, hub *crossrepo.Hub, s *sharing) error {
	if len(s.added) == 0 {
		return nil
	}
	var ask strings.Builder
	for target := range s.added {
		ask.WriteString(target + "\n")
	}
	out, err := d.Repo.Runner.Run(ctx, gitexec.Cmd{
		Args:  []string{"rev-list", "--stdin", "--not", "--remotes=" + hub.Alias.Name},
		Stdin: strings.NewReader(ask.String()), MaxOutput: 1 << 28,
	})
	if err != nil {
		return fmt.Errorf("find out which commits %s has: %w", hub.Alias.Name, err)
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
