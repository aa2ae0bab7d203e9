package snapshot

import (
	"context"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
)

const (
	maxHeadPaths = 2_000_000 // paths in the commit below a snapshot that differ from HEAD here
	maxPath      = 4096      // bytes; no system opens a longer path
	maxNames     = 256 << 20 // bytes of all these paths together: git keeps them in memory
)

// Sound refuses trees git would not check out, before anything is written: names by which
// git's own directory is reached, entries out of order, a name twice. It also refuses more
// files, and longer paths, than a disk takes: trees naming each other need few bytes for that.
// It looks at the directories in which the snapshot differs from its HEAD, and at those in
// which its HEAD differs from the one here.
func Sound(ctx context.Context, c *Contents) error {
	if c.sound {
		return nil
	}
	head, err := treeOf(ctx, c.repo, c.Head)
	if err != nil {
		return err
	}
	here := ""
	if c.repo.Head != "" {
		if here, err = treeOf(ctx, c.repo, c.repo.Head); err != nil {
			return err
		}
	}
	l := &treeCheck{trees: newTrees(c.repo), snapshot: c.Commit, known: map[[2]string]extent{}}
	for _, one := range []struct {
		before, after string
		limit         int
	}{{here, head, maxHeadPaths}, {head, c.Tracked, maxPaths}, {head, c.Index, maxPaths}, {"", c.Others, maxPaths}} {
		e, err := l.at(ctx, one.before, one.after, "")
		if err != nil {
			return err
		}
		if e.paths > one.limit {
			return fault.New(fault.Denied, fault.TooLarge, "snapshot %s: it brings more than %d paths", c.Commit, one.limit)
		}
		if e.names > maxNames {
			return fault.New(fault.Denied, fault.TooLarge, "snapshot %s: its paths have more than %d bytes", c.Commit, maxNames)
		}
	}
	c.sound = true
	return nil
}

// treeCheck compares the trees of a snapshot with those of its HEAD, and of the HEAD here.
type treeCheck struct {
	*trees
	snapshot string
	known    map[[2]string]extent // results by the pair of trees compared
}

// extent counts the paths different in two trees.
type extent struct {
	paths   int // number of files and directories, up to a bound
	longest int // length of the longest path in bytes
	names   int // length of all paths in bytes, up to a bound
}

// at compares the tree after with the tree before, both at the directory below. A pair of trees is
// compared once, however often it occurs.
func (l *treeCheck) at(ctx context.Context, before, after, below string) (extent, error) {
	pair := [2]string{before, after}
	sum, compared := l.known[pair]
	if !compared && before != after && len(below) <= maxPath {
		var err error
		if sum, err = l.compare(ctx, before, after, below); err != nil {
			return extent{}, err
		}
		l.known[pair] = sum
	}
	if len(below)+sum.longest > maxPath {
		return extent{}, fault.New(fault.Denied, fault.TooLarge, "snapshot %s: a path of more than %d bytes", l.snapshot, maxPath)
	}
	return sum, nil
}

func (l *treeCheck) compare(ctx context.Context, before, after, below string) (extent, error) {
	sum := extent{}
	now, err := l.read(ctx, after)
	if err != nil {
		return sum, l.unreadable(below, err)
	}
	had, err := l.byName(ctx, before)
	if err != nil && !fault.Is(err, fault.CannotTravel) { // ignore an unusable tree of this repository
		return sum, err
	}
	for _, e := range now {
		path := below + e.Name
		if handoff.NamesGitDir(e.Name) || e.Mode == gitobj.Symlink && strings.EqualFold(e.Name, ".gitmodules") {
			return sum, fault.New(fault.Denied, fault.MalformedObject, "snapshot %s: git checks out no path %s", l.snapshot, show(path))
		}
		inside := extent{}
		if e.Mode == gitobj.Dir {
			was := ""
			if had[e.Name].Mode == gitobj.Dir {
				was = had[e.Name].OID
			}
			if inside, err = l.at(ctx, was, e.OID, path+"/"); err != nil {
				return sum, err
			}
			inside.longest++ // for the slash
		}
		sum.names = min(sum.names+len(e.Name)+inside.names+inside.paths*(len(e.Name)+1), 2*maxNames)
		sum.paths = min(sum.paths+1+inside.paths, 2*maxHeadPaths)
		sum.longest = max(sum.longest, len(e.Name)+inside.longest)
	}
	return sum, nil
}

// unreadable names the place of a tree whose form git never writes.
func (l *treeCheck) unreadable(path string, err error) error {
	if fault.Is(err, fault.CannotTravel) {
		return fault.New(fault.Denied, fault.MalformedObject, "snapshot %s: a tree in it is not in the form that git writes: %+q", l.snapshot, path)
	}
	return err
}
