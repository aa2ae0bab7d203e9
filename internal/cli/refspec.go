package cli

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/refs"
)

// keepOut is the refspec that keeps "git fetch --prune" off our refs. Where nothing is
// fetched into refs/handoffs it does nothing, and go-git, libgit2 and what is built on them
// open no repository that has one: so it stands only where it is needed.
const keepOut = "^refs/handoffs/*"

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

// refspecState says of a remote whether the refspec is needed, and whether it is there.
func refspecState(repo *refs.Repo, remote string) (needed, there bool) {
	specs := repo.Config["remote."+remote+".fetch"]
	return slices.ContainsFunc(specs, reaches), slices.Contains(specs, keepOut)
}

// keepOut adds the refspec where it is needed, and takes it away where it is not.
func (s settings) keepOut(ctx context.Context, remote string) error {
	key := "remote." + remote + ".fetch"
	switch needed, there := refspecState(s.repo, remote); {
	case needed && !there:
		return s.add(ctx, key, keepOut)
	case there && !needed:
		return s.drop(ctx, key, keepOut)
	}
	return nil
}
