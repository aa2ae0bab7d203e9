package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Join makes the entry that joins two histories of a lane, theirs (the hub's, its first parent)
// and ours. Our entries are read after the hub's, so a second end or claim among them does not
// count. The entry bears the id of our newest one. Both histories are here already.
func (e *Engine) Join(ctx context.Context, theirs, ours string) (*refs.Object, error) {
	o, err := e.Reader.Lanes.read(ctx, ours)
	if err != nil {
		return nil, err
	}
	c, err := record.ParseCommit(o.Body)
	if err != nil {
		return nil, denied(fault.MalformedObject, "lane entry %s: %w", ours, err)
	}
	last := c.Record
	rec := record.Record{
		ID: last.ID, From: last.From, To: last.To, Home: last.Home, Digest: last.Digest, Expires: last.Expires,
		Task: last.Task, Token: last.Token, Payload: last.Payload,
	}
	if err := e.Author.stamp(&rec, record.Joined, ""); err != nil {
		return nil, err
	}
	return e.Author.commit(ctx, sign.Mail(e.Author.Actor), &rec, gitobj.FormatOf(ours).EmptyTree(), theirs, ours)
}

// joins refuses a lane entry with several parents, unless a root key signed it: as a
// fast-forward it could hide a receipt behind another history.
func (l *Lanes) joins(ctx context.Context, o *refs.Object) error {
	c, err := record.ParseCommit(o.Body)
	if err != nil {
		return refuseJoin(o.OID, err)
	}
	key, err := l.Keys.SignerOf("it", c)
	if err != nil {
		return refuseJoin(o.OID, err)
	}
	return l.joined(ctx, o.OID, c, key)
}

// joined is like joins for an entry with a checked signature. A former root key joined only what
// this clone had seen when the key was retired: a thief of the key could give any date.
func (l *Lanes) joined(ctx context.Context, oid string, c *record.Commit, key sign.Key) error {
	if c.Record.Event != record.Joined || len(c.Parents) != 2 || !gitobj.IsEmptyTree(c.Tree) {
		return refuseJoin(oid, fmt.Errorf("as %q with %d parents", c.Record.Event, len(c.Parents)))
	}
	var err error
	if key.ValidAt(l.Keys.now()) != nil {
		key, err = l.checkWitnessed(ctx, key, c.Record.ID.Lane(), oid)
	}
	if err == nil {
		err = mayDecide(key, c.Record.At)
	}
	if err == nil {
		err = checkNames(key, c)
	}
	if err != nil {
		return refuseJoin(oid, err)
	}
	return nil
}

func refuseJoin(oid string, why error) error {
	return denied(fault.Rollback, "lane entry %s joins histories: %w", oid, why)
}

// MayMove says why the copy of a lane must not move from one tip to another; nil if it may. The
// new tip must lead to the old one, and each new merge must be signed by a root key. From is ""
// if there is no copy yet.
func (l *Lanes) MayMove(ctx context.Context, from, to string) error {
	index, err := l.index(ctx, to)
	if err != nil || from == "" {
		return err
	}
	if !slices.ContainsFunc(index, func(at indexed) bool { return at.name() == from }) {
		return denied(fault.Rollback, "lane entry %s does not follow %s", to, from)
	}
	return nil
}

// Cut finds the tip that a lane had before somebody put a merge without a root key's signature on it.
// Below is the hub's tip of the lane, "" if it has none. Of two parents Cut takes the one
// descending from below; if both do, the one with only entries by trusted keys since. Not ok
// means neither can be chosen. A tip of "" means no part of the lane is worth keeping.
func (l *Lanes) Cut(ctx context.Context, tip, below string) (cut string, ok bool, err error) {
	for range maxLane {
		if tip == "" {
			return "", below == "", nil
		}
		o, err := l.read(ctx, tip)
		if err != nil {
			return "", false, err
		}
		parents := gitobj.Parents(o.Body)
		if len(parents) < 2 || l.joins(ctx, o) == nil {
			tip = gitobj.FirstParent(o.Body)
			continue
		}
		var good []string
		anything := false
		for _, p := range parents {
			signed, all, err := l.vouchedAbove(ctx, p, below)
			if err != nil {
				return "", false, err
			}
			anything = anything || signed
			if all {
				good = append(good, p)
			}
		}
		switch {
		case len(good) == 1:
			return good[0], true, nil
		case !anything && below == "":
			return "", true, nil
		}
		return "", false, nil
	}
	return "", false, nil
}

// Unsigned reports whether nobody signed an entry of a lane at a tip, but for those to which another tip
// leads. git filter-branch, git filter-repo and git fast-import take the signatures from all that they
// rewrite, and git lfs migrate keeps them above other bytes. Such an entry counts nowhere.
func (l *Lanes) Unsigned(ctx context.Context, tip, but string) (bool, error) {
	ours, err := l.index(ctx, but)
	if err != nil {
		return false, err
	}
	index, err := l.index(ctx, tip)
	if err != nil {
		return false, err
	}
	known := map[string]bool{}
	for _, at := range ours {
		known[at.name()] = true
	}
	for _, at := range index {
		if known[at.name()] {
			continue
		}
		o, err := l.read(ctx, at.name())
		if err != nil {
			return false, err
		}
		signed, signature := gitobj.SplitSignature(gitobj.FormatOf(tip), o.Body)
		_, err = l.Keys.Trust.Verify(sign.NamespaceGit, signed, signature)
		rewritten := fault.Is(err, fault.Unsigned) || fault.Is(err, fault.SignatureInvalid) && !errors.Is(err, sign.ErrUnread)
		if !rewritten {
			return false, nil
		}
	}
	return true, nil
}

// vouchedAbove walks first parents from tip down to below. It reports whether a trusted key
// signed any of the entries on the way, and whether below was met and trusted keys signed all
// of them.
func (l *Lanes) vouchedAbove(ctx context.Context, tip, below string) (anything, all bool, err error) {
	all = true
	for oid := tip; oid != below; {
		if oid == "" {
			return anything, false, nil
		}
		o, err := l.read(ctx, oid)
		if err != nil {
			return false, false, err
		}
		c, perr := record.ParseCommit(o.Body)
		good := perr == nil && l.Keys.CheckTrustedSigner(c) == nil && (len(c.Parents) < 2 || l.joins(ctx, o) == nil)
		anything, all = anything || good, all && good
		oid = gitobj.FirstParent(o.Body)
	}
	return anything, all, nil
}

// A retired key may have been stolen, and a thief dates its entries at will. The lanes as they were
// when the key was retired tell true entries from others. The trust list's entry of the key records
// their tips: for each namespace the object id of a tree, with an entry "160000 <cc>" for each
// lane.

// checkSeen refuses an entry of a retired key, or of one that its owner revoked, if the lanes
// recorded then do not contain it. It returns the key that judges the entry. A key without such a
// record is judged by dates alone.
func (l *Lanes) checkSeen(ctx context.Context, key sign.Key, entry *Entry) (sign.Key, error) {
	if len(key.Seen()) == 0 || key.Entry().Retired == "" && key.Revoked(l.Keys.now()) == nil {
		return key, nil
	}
	return l.checkWitnessed(ctx, key, entry.Record().ID.Lane(), entry.OID)
}

// checkWitnessed refuses an entry by a key no longer valid, unless this clone had seen the entry
// before. Then the entry counted, even if its date is that of the retirement, or ahead of it by no more
// than clocks differ: the order in the lane decides.
func (l *Lanes) checkWitnessed(ctx context.Context, key sign.Key, lane, oid string) (sign.Key, error) {
	for _, tree := range key.Seen() {
		tip, err := l.seenTip(ctx, tree, lane)
		if err != nil {
			return key, err
		}
		below, err := l.belowTip(ctx, tip)
		if err != nil {
			return key, err
		}
		if below[oid] {
			return key.Late(ClockSkew + time.Second), nil
		}
	}
	return key, denied(fault.KeyRevoked, "entry %s by key %s was not here when that key was retired", oid, key.KID())
}

// witnesses caches trees of tips, and the commits below those tips.
type witnesses struct {
	tips  map[string]map[string]string // tips by id of the tree, then by lane
	below map[string]map[string]bool   // sets of commits, by tip
}

// seenTip returns the tip of a lane in a tree of tips; "" if the lane or the tree is not there.
func (l *Lanes) seenTip(ctx context.Context, tree, lane string) (string, error) {
	if l.witness.tips == nil {
		l.witness.tips, l.witness.below = map[string]map[string]string{}, map[string]map[string]bool{}
	}
	tips, ok := l.witness.tips[tree]
	if !ok {
		o, err := l.Repo.Read(ctx, tree, MaxTips)
		if err != nil {
			return "", err
		}
		if o != nil && o.Type == "tree" {
			tips = parseTips(o)
		}
		l.witness.tips[tree] = tips
	}
	return tips[lane], nil
}

// belowTip returns the commits in the history of a tip, itself included.
func (l *Lanes) belowTip(ctx context.Context, tip string) (map[string]bool, error) {
	if below, ok := l.witness.below[tip]; ok || tip == "" {
		return below, nil
	}
	below, err := (&laneWalk{lanes: l}).below(ctx, tip, nil)
	if err != nil {
		return nil, fmt.Errorf("read the known tips of a lane: %w", err)
	}
	l.witness.below[tip] = below
	return below, nil
}

// Tips are the tips of lanes, by namespace and by lane.
type Tips map[string]map[string]string

// LaneTips returns the tips of all lanes present here, of this repository and of its hubs.
// Named namespaces are included even without a lane.
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
		if !handoff.IsLane(lane) {
			continue
		}
		if namespaces[namespace] == nil {
			namespaces[namespace] = map[string]string{}
		}
		namespaces[namespace][lane] = r.OID
	}
	return namespaces, nil
}

// Seen records the tips of all lanes present here and returns the tree of each namespace, for
// retiring a key.
func Seen(ctx context.Context, repo *refs.Repo, named ...string) (map[string]string, error) {
	tips, err := LaneTips(ctx, repo, named...)
	if err != nil {
		return nil, err
	}
	return KeepTips(ctx, repo, tips)
}

// KeepTips writes tips as trees, each kept by a ref, and returns the tree of each namespace.
func KeepTips(ctx context.Context, repo *refs.Repo, namespaces Tips) (map[string]string, error) {
	seen := map[string]string{}
	var t refs.Transaction
	for namespace, tips := range namespaces {
		tree, err := encodeTips(repo.Format, tips)
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
func encodeTips(format gitobj.Format, tips map[string]string) (*refs.Object, error) {
	entries := make([]gitobj.TreeEntry, 0, len(tips))
	for lane, tip := range tips {
		entries = append(entries, gitobj.TreeEntry{Mode: gitobj.Gitlink, Name: lane, OID: tip})
	}
	body, err := gitobj.EncodeTree(entries)
	if err != nil {
		return nil, fmt.Errorf("write down the tips of lanes: %w", err)
	}
	return refs.NewObject(format, "tree", body), nil
}

// parseTips reads the output of encodeTips. Any other tree has no tips.
func parseTips(tree *refs.Object) map[string]string {
	entries, err := gitobj.FormatOf(tree.OID).ParseTree(tree.Body)
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

// IsTips reports whether a tree holds tips of lanes and nothing else. Such a tree brings no
// object along: a tip is named like a submodule's commit.
func IsTips(tree *refs.Object) bool { return len(parseTips(tree)) > 0 }

// MaxTips bounds a tree of tips: one entry each for 1,024 lanes, with an id of SHA-256.
const MaxTips = int64(1024 * len("160000 cc\x0001234567890123456789012345678901"))

// seenNamespace is the name of this repository's own namespace in [Tips]; a hub's is the hash
// in the ref names of its copies.
const seenNamespace = "local"
