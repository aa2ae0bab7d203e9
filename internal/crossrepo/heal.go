package crossrepo

import (
	"context"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// dropBroken drops copies of the hub's refs whose objects are gone, as a "gc
// --prune=now" beside a fetch leaves them: git would fetch nothing more into a
// clone that has such refs. It returns them: those of lanes are the memory of how
// far each had come.
func (h *remote) dropBroken(ctx context.Context) ([]refs.Ref, error) {
	var gone []refs.Ref
	var drop []refs.Edit
	err := refs.Commits(ctx, h.Repo, func(ref refs.Ref, raw []byte) error {
		if raw != nil {
			return nil
		}
		if o, err := h.Repo.Read(ctx, ref.OID, record.MaxCommit); o == nil && err == nil {
			drop = append(drop, refs.Edit{Ref: ref.Name, Old: ref.OID})
			gone = append(gone, ref)
		}
		return nil
	}, strings.TrimSuffix(string(h.Namespace()), "/"), strings.TrimSuffix(string(h.Mirror()), "/"))
	if err != nil {
		return nil, err
	}
	return gone, h.Repo.Apply(ctx, refs.Transaction{Edits: drop})
}

// Refetch reads the copy of an inbox ref whose object was gone, from the hub.
func (h *Hub) Refetch(ctx context.Context, p lifecycle.Place, ref string) (*refs.Object, error) {
	memory, err := h.dropBroken(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.Refresh(ctx, WholeHandoff(p)); err != nil {
		return nil, err
	}
	if err := h.checkNotRewound(ctx, memory); err != nil {
		return nil, err
	}
	return h.Repo.Read(ctx, ref, record.MaxCommit)
}

// checkNotRewound refuses a hub whose lanes do not contain what this clone remembers
// of them.
func (h *remote) checkNotRewound(ctx context.Context, memory []refs.Ref) error {
	for _, lane := range memory {
		if !strings.HasPrefix(lane.Name, h.Namespace().Lanes()) {
			continue
		}
		now, err := h.Repo.Resolve(ctx, h.mirrored(lane.Name))
		if err != nil {
			return err
		}
		if now != "" && !h.ancestor(ctx, lane.OID, now) {
			return h.errRollback(h.RemoteName(lane.Name))
		}
	}
	return nil
}

func (h *remote) errRollback(lane string) error {
	return fault.New(fault.Denied, fault.Rollback, "%s has rewritten %s of its log, which this clone has seen", h.Alias.Name, lane).
		WithHints(fault.Run("githandoff", "sync", h.Alias.Name).Because("brings a restored hub up to date"),
			fault.Run("githandoff", "audit").Because("shows what is missing"))
}
