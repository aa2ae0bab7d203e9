package initrepo

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/refs"
)

// configure pins the ids of this repository and its remotes, keeps handoffs out of ordinary
// refspecs, and lets plain git keep the notes, and show them on request.
func (h *Handler) configure(ctx context.Context, repo *refs.Repo, aliases crossrepo.Aliases, shown bool) error {
	for _, name := range aliases.Names() {
		if _, err := aliases.Get(ctx, name); err != nil {
			h.Warn(err)
		}
	}
	if repo.Config.Get("handoff.repoid") == "" {
		id, err := handoff.RandomHex(h.Random)
		if err != nil {
			return err
		}
		// Two inits in two worktrees at once: the first to write wins.
		if err := setRepoID(ctx, repo, "local:"+id); err != nil {
			return err
		}
	}
	for _, remote := range repo.Config.Subsections("remote", "fetch") {
		if err := gitconfig.Of(repo).SetKeepOuts(ctx, remote); err != nil {
			return err
		}
	}
	var notes [][2]string
	if !slices.Contains(repo.Config["notes.rewriteref"], refs.NotesRef) { // an earlier version set this value
		notes = append(notes, [2]string{"notes.rewriteref", refs.NotesPattern})
	}
	if shown {
		notes = append(notes, [2]string{"notes.displayref", refs.ShownRef})
	}
	for _, n := range notes {
		if !slices.Contains(repo.Config[n[0]], n[1]) {
			if err := gitconfig.Of(repo).Add(ctx, n[0], n[1]); err != nil {
				return err
			}
		}
	}
	if repo.Config.Get("notes.rewritemode") == "" {
		return gitconfig.Of(repo).Set(ctx, "notes.rewritemode", "cat_sort_uniq")
	}
	return nil
}

// refuseMirror refuses a repository with a mirror among its remotes.
func refuseMirror(aliases crossrepo.Aliases) error {
	for _, name := range aliases.Names() {
		if _, _, err := aliases.Resolve(name); fault.Is(err, fault.MirrorRemote) {
			return err
		}
	}
	return nil
}

// setRepoID gives the repository an id unless another process did meanwhile: a marker file, which only one of
// them can create, decides.
func setRepoID(ctx context.Context, repo *refs.Repo, id string) error {
	marker := repo.Own("repo-id")
	err := durable.CreateFile(marker, []byte(id+"\n"))
	if errors.Is(err, fs.ErrExist) {
		var b []byte
		b, err = private.ReadState(marker)
		id = cmp.Or(strings.TrimSpace(string(b)), id) // an earlier version left it empty if the disk was full
	}
	if err != nil {
		return err
	}
	return gitconfig.Of(repo).Set(ctx, "handoff.repoid", id)
}
