package snapshot

import (
	"context"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
)

// Sound refuses trees that git would not check out, before anything is written: names by
// which git's own directory is reached, entries out of order, a name twice. It looks at the
// directories in which the snapshot differs from its HEAD. git itself refuses the others.
func Sound(ctx context.Context, c *Contents) error {
	if c.sound {
		return nil
	}
	head, err := readCommit(ctx, c.repo, c.Head)
	if err != nil {
		return err
	}
	t := newTrees(c.repo)
	for _, one := range []struct{ before, after string }{{treeOf(head), c.Tracked}, {treeOf(head), c.Index}, {"", c.Others}} {
		path, err := t.unsound(ctx, one.before, one.after, "")
		switch {
		case err != nil && fault.Is(err, fault.CannotTravel):
			return fault.New(fault.Denied, fault.MalformedObject, "snapshot %s: a tree in it is in no form in which git writes one: %q", c.Commit, path)
		case err != nil:
			return err
		case path != "":
			return fault.New(fault.Denied, fault.MalformedObject, "snapshot %s: git checks out no path %s", c.Commit, show(path))
		}
	}
	c.sound = true
	return nil
}

// unsound is the first path of a tree that git does not check out, of those in which it differs
// from another tree. With an error it is the path of the tree that cannot be read.
func (t *trees) unsound(ctx context.Context, before, after, below string) (string, error) {
	if before == after {
		return "", nil
	}
	now, err := t.read(ctx, after)
	if err != nil {
		return below, err
	}
	had, err := t.byName(ctx, before)
	if err != nil {
		return below, err
	}
	for _, e := range now {
		path := below + e.Name
		if handoff.NamesGitDir(e.Name) || e.Mode == gitobj.Symlink && strings.EqualFold(e.Name, ".gitmodules") {
			return path, nil
		}
		if e.Mode != gitobj.Dir {
			continue
		}
		was := ""
		if had[e.Name].Mode == gitobj.Dir {
			was = had[e.Name].OID
		}
		if bad, err := t.unsound(ctx, was, e.OID, path+"/"); err != nil || bad != "" {
			return bad, err
		}
	}
	return "", nil
}
