package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// Tips are the tips of lanes, by namespace and by lane.
type Tips map[string]map[string]string

// LaneTips are those of all lanes that are here, of this repository and of the hubs
// that it knows. The namespaces that are named are in it also where they have no lane.
func LaneTips(ctx context.Context, repo *refs.Repo, named ...string) (Tips, error) {
	list, err := repo.List(ctx, refs.LocalNamespace.Lanes(), refs.Root+"remotes/")
	if err != nil {
		return nil, err
	}
	namespaces := Tips{seenNamespace: {}}
	for _, namespace := range named {
		namespaces[namespace] = map[string]string{}
	}
	for _, r := range list {
		namespace, lane := seenNamespace, strings.TrimPrefix(r.Name, refs.LocalNamespace.Lanes())
		if rest, ok := strings.CutPrefix(r.Name, refs.Root+"remotes/"); ok {
			hash, below, _ := strings.Cut(rest, "/")
			if lane, ok = strings.CutPrefix(below, "log/"); !ok || !handoff.IsHex(hash, 12) {
				continue
			}
			namespace = hash
		}
		if _, err := handoff.ParseID("ho_" + strings.Repeat("0", 24) + lane); err != nil {
			continue
		}
		if namespaces[namespace] == nil {
			namespaces[namespace] = map[string]string{}
		}
		namespaces[namespace][lane] = r.OID
	}
	return namespaces, nil
}

// Seen writes the tips of all lanes that are here down, and says in which trees:
// what to retire a key with.
func Seen(ctx context.Context, repo *refs.Repo, named ...string) (map[string]string, error) {
	tips, err := LaneTips(ctx, repo, named...)
	if err != nil {
		return nil, err
	}
	return KeepTips(ctx, repo, tips)
}

// KeepTips writes tips down as trees, each with a ref that keeps it, and says which
// tree is which namespace's.
func KeepTips(ctx context.Context, repo *refs.Repo, namespaces Tips) (map[string]string, error) {
	seen := map[string]string{}
	var t refs.Transaction
	for namespace, tips := range namespaces {
		tree, err := encodeTips(tips)
		if err != nil {
			return nil, err
		}
		seen[namespace] = tree.OID
		old, err := repo.Resolve(ctx, refs.Seen(tree.OID))
		if err != nil {
			return nil, err
		}
		edit := refs.Edit{Ref: refs.Seen(tree.OID), New: tree.OID}
		if old == "" && !slices.Contains(t.Edits, edit) {
			t.Edits = append(t.Edits, edit)
		}
		t.Objects = append(t.Objects, tree)
	}
	return seen, repo.Apply(ctx, t)
}

// encodeTips makes the tree of the tips of lanes.
func encodeTips(tips map[string]string) (*refs.Object, error) {
	entries := make([]gitobj.TreeEntry, 0, len(tips))
	for lane, tip := range tips {
		entries = append(entries, gitobj.TreeEntry{Mode: gitobj.Gitlink, Name: lane, OID: tip})
	}
	body, err := gitobj.EncodeTree(entries)
	if err != nil {
		return nil, fmt.Errorf("write down the tips of lanes: %w", err)
	}
	return refs.NewObject("tree", body), nil
}

// parseTips reads the output of encodeTips. Any other text has no tips.
func parseTips(body []byte) map[string]string {
	entries, err := gitobj.ParseTree(body)
	if err != nil {
		return nil
	}
	tips := map[string]string{}
	for _, e := range entries {
		if e.Mode != gitobj.Gitlink {
			return nil
		}
		tips[e.Name] = e.OID
	}
	return tips
}

// IsTips reports whether a tree holds tips of lanes and nothing else. Such a tree brings
// no object along: a tip is named as a submodule's commit is.
func IsTips(body []byte) bool { return len(parseTips(body)) > 0 }

// MaxTips bounds a tree of tips: one entry each for 1,024 lanes.
const MaxTips = int64(1024 * len("160000 cc\x0001234567890123456789"))

// seenNamespace is the name of this repository's own namespace in such a list; that of a
// hub is the hash by which its copies go.
const seenNamespace = "local"
