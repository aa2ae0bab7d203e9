package gitconfig

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/refs"
)

// KeepOut is the refspec that keeps "git fetch --prune" off our refs. It does nothing where
// nothing is fetched into refs/handoffs, and go-git and libgit2 cannot open a repository
// that has one. So a remote has it only if it needs it.
const KeepOut = "^refs/handoffs/*"

// reaches reports whether a fetch refspec writes into refs/handoffs, as that of a mirror does.
func reaches(spec string) bool {
	spec = strings.TrimPrefix(spec, "+")
	_, dst, ok := strings.Cut(spec, ":")
	if !ok || strings.HasPrefix(spec, "^") {
		return false
	}
	prefix, _, pattern := strings.Cut(dst, "*")
	return strings.HasPrefix(prefix, refs.Root) || pattern && strings.HasPrefix(refs.Root, prefix)
}

// KeepOutState reports whether a remote needs the refspec, and whether it has it.
func (s Settings) KeepOutState(remote string) (needed, present bool) {
	specs := s.repo.Config["remote."+remote+".fetch"]
	return slices.ContainsFunc(specs, reaches), slices.Contains(specs, KeepOut)
}

// SetKeepOut adds the refspec to a remote that needs it, and removes it from any other.
func (s Settings) SetKeepOut(ctx context.Context, remote string) error {
	key := "remote." + remote + ".fetch"
	switch needed, present := s.KeepOutState(remote); {
	case needed && !present:
		return s.Add(ctx, key, KeepOut)
	case present && !needed:
		return s.Drop(ctx, key, KeepOut)
	}
	return nil
}
