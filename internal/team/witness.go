// Package team publishes keys and lists of trusted keys at a hub, and adopts those signed by the
// roots of this clone.
package team

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/gitobj"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for a team's lists.
type Workspace interface {
	Hub(ctx context.Context, alias string) (*crossrepo.Hub, error)
	Warn(err error)
}

// Team publishes and fetches the keys shared by a team through a hub.
type Team struct {
	Aliases   crossrepo.Aliases
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Workspace Workspace
}

// New makes the team of a workspace.
func New(w *workspace.Workspace) *Team {
	return &Team{Aliases: w.Aliases, Engine: w.Engine, Local: w.Local, Workspace: w}
}

// Witness records the tips of the lanes seen so far, for each key which is no longer valid and
// has no such record. It runs before anything is fetched: later arrivals are no evidence. Before
// are the tips seen before a fetch; nil: the present ones.
func (t *Team) Witness(ctx context.Context, before lifecycle.Tips) error {
	kids := t.Engine.Keys.Trust.Unwitnessed(t.Engine.Now())
	if len(kids) == 0 || t.Local.RepoID == "" {
		return nil
	}
	if before == nil {
		var err error
		if before, err = lifecycle.LaneTips(ctx, t.Engine.Repo); err != nil {
			return err
		}
	}
	seen, err := lifecycle.KeepTips(ctx, t.Engine.Repo, before)
	if err != nil {
		return err
	}
	empty := true
	for _, tips := range before {
		empty = empty && len(tips) == 0
	}
	kids = slices.DeleteFunc(kids, func(kid sign.KID) bool {
		// A clone that has fetched nothing yet is no evidence against the past that a revoked key keeps.
		key, _ := t.Engine.Keys.Trust.Lookup(kid)
		return empty && key.Entry().Retired == "" && key.Entry().Until == ""
	})
	if err := t.Engine.Keys.Trust.Witness(kids, seen); err != nil {
		return fmt.Errorf("record the copies of the log seen by keys that ended: %w", err)
	}
	return nil
}

// spaceName returns how a list of keys names the copies of a hub.
func spaceName(hub *crossrepo.Hub) string {
	return strings.TrimSuffix(strings.TrimPrefix(string(hub.Namespace()), refs.Root+"remotes/"), "/")
}

// seenAt adds to the entries of a team's next list the tips of this hub's lanes seen when each
// key was retired, and none of other homes. Tips of the previous list stay. If no such lane is
// known here, the lanes are fetched: their present tips are the evidence for the team.
func (t *Team) seenAt(ctx context.Context, hub *crossrepo.Hub, listed, entries []sign.TrustEntry) error {
	now := ""
	for i := range entries {
		e := &entries[i]
		e.Seen = nil
		if e.Retired == "" {
			continue
		}
		before := slices.IndexFunc(listed, func(old sign.TrustEntry) bool { return old.KID == e.KID && len(old.Seen) > 0 })
		if before >= 0 {
			e.Seen = listed[before].Seen
			continue
		}
		key, _ := t.Engine.Keys.Trust.Lookup(e.KID)
		tree := key.SeenAt(spaceName(hub))
		if tree == "" && now == "" {
			if err := hub.RefreshAllLanes(ctx); err != nil {
				return err
			}
			all, err := lifecycle.Seen(ctx, t.Engine.Repo, spaceName(hub))
			if err != nil {
				return err
			}
			now = all[spaceName(hub)]
		}
		e.Seen = map[string]string{spaceName(hub): cmp.Or(tree, now)}
	}
	return nil
}

// seenTrees returns the trees named by a list, as entries of the tree of its commit: so they travel
// along. An empty one stays out, since a guard takes it for no tree of tips, and a reader needs no copy.
func (t *Team) seenTrees(ctx context.Context, entries []sign.TrustEntry) ([]gitobj.TreeEntry, error) {
	var trees []gitobj.TreeEntry
	for _, e := range entries {
		for _, tree := range e.Seen {
			o, err := t.Engine.Repo.Read(ctx, tree, lifecycle.MaxTips)
			if err != nil {
				return nil, err
			}
			entry := gitobj.TreeEntry{Mode: gitobj.Dir, Name: sign.SeenPrefix + tree, OID: tree}
			if o != nil && o.Type == "tree" && len(o.Body) > 0 && !slices.Contains(trees, entry) {
				trees = append(trees, entry)
			}
		}
	}
	return trees, nil
}
