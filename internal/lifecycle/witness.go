package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// A key that is retired may have been stolen, and then it dates its entries as it
// likes. What tells true ones from others is what was seen: the lanes as they were
// when the key was retired. Their tips are written down in the entry of the key, as
// the object id of a tree for each space: an entry a lane, "160000 <cc>".

// seenSpace is the name of this repository's own space in such a list; that of a
// hub is the hash by which its copies go.
const seenSpace = "local"

// unseen refuses what a retired key signed and the lanes that were written down
// at that time do not contain. A key of which nothing was written down is judged
// by dates alone.
func (e *Engine) unseen(ctx context.Context, key sign.Key, entry *Entry) error {
	if key.Entry().Retired == "" || len(key.Seen()) == 0 {
		return nil
	}
	return e.witnessed(ctx, key, entry.Record().ID.Lane(), entry.OID)
}

// witnessed says why an entry does not count that is by a key which is not valid
// any more: nobody here had seen it.
func (e *Engine) witnessed(ctx context.Context, key sign.Key, lane, oid string) error {
	for _, tree := range key.Seen() {
		tip, err := e.seenTip(ctx, tree, lane)
		if err != nil {
			return err
		}
		below, err := e.belowTip(ctx, tip)
		if err != nil {
			return err
		}
		if below[oid] {
			return nil
		}
	}
	return denied(fault.KeyRevoked, "entry %s by key %s was not here when that key was retired", oid, key.KID())
}

// witnesses are trees of tips, and what those contain, that were read already.
type witnesses struct {
	tips  map[string]map[string]string // by tree, by lane
	below map[string]map[string]bool   // by tip
}

// seenTip is the tip of a lane in a tree of them; "" where it has none, or is not
// here.
func (e *Engine) seenTip(ctx context.Context, tree, lane string) (string, error) {
	if e.witness.tips == nil {
		e.witness.tips, e.witness.below = map[string]map[string]string{}, map[string]map[string]bool{}
	}
	tips, ok := e.witness.tips[tree]
	if !ok {
		o, err := e.Repo.Read(ctx, tree, MaxTips)
		if err != nil {
			return "", err
		}
		if o != nil && o.Type == "tree" {
			tips = parseTips(o.Body)
		}
		e.witness.tips[tree] = tips
	}
	return tips[lane], nil
}

// belowTip are the commits that a tip contains, itself among them.
func (e *Engine) belowTip(ctx context.Context, tip string) (map[string]bool, error) {
	if below, ok := e.witness.below[tip]; ok || tip == "" {
		return below, nil
	}
	w := &laneWalk{engine: e}
	defer w.close()
	below, err := w.below(ctx, tip, nil)
	if err != nil {
		return nil, fmt.Errorf("read what was seen of a lane: %w", err)
	}
	e.witness.below[tip] = below
	return below, nil
}

// MaxTips bounds a tree of tips: one entry each for 1,024 lanes.
const MaxTips = int64(1024 * len("160000 cc\x0001234567890123456789"))

// encodeTips makes the tree of the tips of lanes.
func encodeTips(tips map[string]string) (*refs.Object, error) {
	entries := make([]gitobj.Entry, 0, len(tips))
	for lane, tip := range tips {
		entries = append(entries, gitobj.Entry{Mode: gitobj.Gitlink, Name: lane, OID: tip})
	}
	body, err := gitobj.EncodeTree(entries)
	if err != nil {
		return nil, fmt.Errorf("write down the tips of lanes: %w", err)
	}
	return refs.NewObject("tree", body), nil
}

// parseTips reads what encodeTips wrote. What is anything else has no tips.
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

// Tips are the tips of lanes, by space and by lane.
type Tips map[string]map[string]string

// Tips are those of all lanes that are here, of this repository and of the hubs
// that it knows. The spaces that are named are in it also where they have no lane.
func (e *Engine) Tips(ctx context.Context, named ...string) (Tips, error) {
	list, err := e.Repo.List(ctx, refs.LocalSpace.Lanes(), refs.Root+"remotes/")
	if err != nil {
		return nil, err
	}
	spaces := Tips{seenSpace: {}}
	for _, space := range named {
		spaces[space] = map[string]string{}
	}
	for _, r := range list {
		space, lane := seenSpace, strings.TrimPrefix(r.Name, refs.LocalSpace.Lanes())
		if rest, ok := strings.CutPrefix(r.Name, refs.Root+"remotes/"); ok {
			hash, below, _ := strings.Cut(rest, "/")
			if lane, ok = strings.CutPrefix(below, "log/"); !ok || !handoff.IsHex(hash, 12) {
				continue
			}
			space = hash
		}
		if _, err := handoff.ParseID("ho_" + strings.Repeat("0", 24) + lane); err != nil {
			continue
		}
		if spaces[space] == nil {
			spaces[space] = map[string]string{}
		}
		spaces[space][lane] = r.OID
	}
	return spaces, nil
}

// Seen writes the tips of all lanes that are here down, and says in which trees:
// what to retire a key with.
func (e *Engine) Seen(ctx context.Context, named ...string) (map[string]string, error) {
	tips, err := e.Tips(ctx, named...)
	if err != nil {
		return nil, err
	}
	return e.Keep(ctx, tips)
}

// Keep writes tips down as trees, each with a ref that keeps it, and says which
// tree is which space's.
func (e *Engine) Keep(ctx context.Context, spaces Tips) (map[string]string, error) {
	seen := map[string]string{}
	var t refs.Transaction
	for space, tips := range spaces {
		tree, err := encodeTips(tips)
		if err != nil {
			return nil, err
		}
		seen[space] = tree.OID
		old, err := e.Repo.Resolve(ctx, refs.Seen(tree.OID))
		if err != nil {
			return nil, err
		}
		edit := refs.Edit{Ref: refs.Seen(tree.OID), New: tree.OID}
		if old == "" && !slices.Contains(t.Edits, edit) {
			t.Edits = append(t.Edits, edit)
		}
		t.Objects = append(t.Objects, tree)
	}
	return seen, e.Repo.Apply(ctx, t)
}
