package initrepo

import (
	"context"
	"slices"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/refs"
	"githandoff/internal/team"
	"githandoff/internal/workspace"
)

// MissingPrefix finds a hub with handoffs below branches, which came with the clone, while its
// alias names no prefix. It is nil if there is none.
func MissingPrefix(ctx context.Context, repo *refs.Repo) (hub *crossrepo.Alias, prefix string) {
	aliases := crossrepo.Aliases{Repo: repo}
	for _, name := range aliases.Names() {
		al, _, err := aliases.Resolve(name)
		if err != nil || al.Prefix != "" {
			continue
		}
		// A clone that was a mirror has copies below the usual prefix, where it looks.
		if homes, err := aliases.CopiedPrefixes(ctx, name); err == nil && len(homes) > 0 && !slices.Contains(homes, crossrepo.UsualPrefix) {
			return al, homes[0]
		}
	}
	return nil, ""
}

// publishTime bounds how long init waits for an unneeded hub.
const publishTime = 10 * time.Second

// Publish publishes the key of this worktree at the hub of its branch, for "trust review" and for
// advice there. Nothing depends on it: an invitation brings the key as well. If it is not the first
// time, a key that the hub has is brought up to date there.
func Publish(ctx context.Context, w *workspace.Workspace, first bool) error {
	remote := w.MainRemote()
	if remote == "" || w.Repo.Config.Off("handoff.publish") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	hub, err := w.Hub(ctx, remote)
	if err != nil {
		return err
	}
	return team.New(w).PublishOwn(ctx, hub, w.Engine.Author.Signer.Public(), first)
}
