package workspace

import (
	"context"
	"slices"

	"githandoff/internal/refs"
	"githandoff/internal/work"
)

// UsedHomes returns the repo ids of the repositories where handoffs of this clone may be open, sorted: it sent
// them and knows no receipt, or holds them.
func UsedHomes(ctx context.Context, repo *refs.Repo) ([]string, error) {
	var ids []string
	held, err := work.OfClone(repo)
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		if h.Held() || h.Pending != nil {
			ids = append(ids, h.Home)
		}
	}
	err = refs.Commits(ctx, repo, func(ref refs.Ref, raw []byte) error {
		if it := itemOf(nil, refs.LocalNamespace, ref); it != nil {
			if it.Scan(raw); it.Fault == nil {
				ids = append(ids, it.Record.Home)
			}
		}
		return nil
	}, refs.Root+"outbox/", refs.Root+"sent/")
	slices.Sort(ids)
	return slices.Compact(ids), err
}
