package crossrepo

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// A "git gc --prune=now" beside a fetch removes loose objects fetched before their refs moved. It
// also removes those which git did not fetch, because they were here: a step whose process was
// killed after its push left them. Objects in a pack stay.

// packFetched packs the loose objects of the copies of a hub, because a gc at work removes the
// objects it chose before the refs moved. If it has begun to, packFetched drops the copies that
// remember nothing, and the next try of the fetch brings them again.
func packFetched(ctx context.Context, h *remote) error {
	list, err := h.Repo.List(ctx, string(h.Namespace()), string(h.Mirror()))
	if err != nil {
		return err
	}
	var tips strings.Builder
	var copies []refs.Edit
	for _, ref := range list {
		tips.WriteString(ref.OID + "\n")
		if isPlainCopy(h, ref.Name) {
			copies = append(copies, refs.Edit{Ref: ref.Name, Old: ref.OID})
		}
	}
	_, err = h.Repo.Runner.Run(ctx, gitexec.Cmd{
		Args:  []string{"pack-objects", "--quiet", "--revs", "--unpacked", "--incremental", "--non-empty", filepath.Join(h.Repo.Objects, "pack", "pack")},
		Stdin: strings.NewReader(tips.String()), Finish: true,
	})
	if err == nil {
		return nil
	}
	return errors.Join(err, h.Repo.Apply(ctx, refs.Transaction{Edits: copies}))
}

// isPlainCopy reports whether the copy of a ref only says what the hub does: it is no memory of a lane
// or of a key.
func isPlainCopy(h *remote, ref string) bool {
	name, copied := strings.CutPrefix(ref, string(h.Namespace()))
	return strings.HasPrefix(ref, string(h.Mirror())) ||
		copied && (strings.HasPrefix(name, "inbox/") || strings.HasPrefix(name, "work/") || ref == h.NotesCopy())
}
