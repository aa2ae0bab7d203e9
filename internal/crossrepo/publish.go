package crossrepo

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// Publish pushes one ref that belongs to no handoff, leased at what was read.
func (h *remote) Publish(ctx context.Context, edit refs.Edit) error {
	report, err := h.push(ctx, []refs.Edit{edit})
	if h.guardRefusal(err) == nil && report.refusedForGood([]refs.Edit{edit}) {
		return h.errPushRefused([]refs.Edit{edit}, report, err)
	}
	if err != nil || !report.accepted([]refs.Edit{edit}) {
		return fault.New(fault.Unavailable, fault.HubRefused, "%s does not take %s: %s", h.Alias.Name, h.RemoteName(edit.Ref), GitSaid(err)).
			WithHints(fault.Run("githandoff", "doctor").Because("shows what the hub takes"))
	}
	return h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{edit}})
}

// FetchPublished fetches the hub's refs of some copies, or those that begin with their
// names: one round trip.
func (h *remote) FetchPublished(ctx context.Context, copies ...string) error {
	var specs []string
	for _, ref := range copies {
		specs = append(specs, "+"+h.RemoteName(ref)+"*:"+ref+"*")
	}
	return h.errUnreachable(h.fetch(ctx, []string{"--no-prune", "--no-show-forced-updates"}, specs))
}

// FetchNotes brings the notes of a hub here, whatever they are. git writes large
// files of them to the disk piece by piece, and is stopped where it would need much
// memory.
func (h *remote) FetchNotes(ctx context.Context) error {
	return fetchNotes(ctx, h, nil, nil)
}

// fetchNotes is FetchNotes together with other refs, within a bound, which may be nil.
func fetchNotes(ctx context.Context, h *remote, also []string, b *bound) error {
	args := append([]string{"-c", "core.bigFileThreshold=128k"}, fetchArgs...)
	args = append(args, "--prune", "--force", "--no-show-forced-updates", "--", h.Alias.target(),
		"+"+refs.NotesRef+"*:"+h.NotesCopy()+"*", "^"+refs.NotesRef+"/*", "^"+refs.NotesRef+"-*")
	_, err := connect(ctx, h, b.on(gitexec.Cmd{
		Args: append(args, also...), Timeout: gitexec.RemoteTimeout, Env: []string{gitexec.MaxAlloc(32)},
	}))
	if b.over() {
		return errTooMuch
	}
	return err
}

// NotesCopy is the ref under which the copy of the hub's notes stands.
func (h *remote) NotesCopy() string { return string(h.Namespace()) + "notes" }
