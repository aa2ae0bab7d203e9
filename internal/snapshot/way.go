package snapshot

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"githandoff/internal/gitobj"
)

// inTheWay lists the files unknown to git where the snapshot has a file, or a directory. It
// refuses the snapshot if it reaches into a repository inside this work tree.
func (c *Contents) inTheWay(ctx context.Context, whole string) ([]string, error) {
	head, err := treeOf(ctx, c.repo, c.repo.Head)
	if err != nil {
		return nil, err
	}
	w := &way{c: c, t: newTrees(c.repo)}
	if err := w.compare(ctx, head, whole, ""); err != nil {
		return nil, err
	}
	return w.lost, repositoriesStay(w.repositories)
}

// way looks for files about to be lost.
type way struct {
	c            *Contents
	t            *trees
	lost         []string
	repositories []string // submodules and other repositories in the way
}

func (w *way) onDisk(path string) string { return filepath.Join(w.c.repo.Worktree, path) }

// compare looks at each path in which two trees differ, and finds files in its place that the tree
// before does not know.
func (w *way) compare(ctx context.Context, before, after, below string) error {
	if before == after {
		return nil
	}
	had, err := w.t.byName(ctx, before)
	if err != nil {
		return err
	}
	now, err := w.t.byName(ctx, after)
	if err != nil {
		return err
	}
	for name, was := range had {
		if _, stays := now[name]; !stays {
			err = w.removed(ctx, was, below+name)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if had[name] == now[name] {
			continue
		}
		if err := w.written(ctx, had[name], now[name], below+name); err != nil {
			return err
		}
	}
	return nil
}

// removed looks at a path that the tree after does not have. Files unknown to git stay there.
func (w *way) removed(ctx context.Context, was gitobj.TreeEntry, path string) error {
	switch {
	case isRepository(w.onDisk(path)):
		w.repositories = append(w.repositories, path)
	case was.Mode == gitobj.Dir:
		return w.compare(ctx, was.OID, "", path+"/")
	}
	return nil
}

// written looks at a path of the tree after. In the tree before it was another one, or none: the
// zero value.
func (w *way) written(ctx context.Context, was, e gitobj.TreeEntry, path string) error {
	there := was.Mode != ""
	info, err := os.Lstat(w.onDisk(path))
	onDisk := err == nil
	switch {
	case was.Mode == gitobj.Gitlink && e.Mode == gitobj.Gitlink: // git does not touch the files of a submodule
	case isRepository(w.onDisk(path)):
		w.repositories = append(w.repositories, path)
	case e.Mode == gitobj.Dir && was.Mode == gitobj.Dir:
		return w.compare(ctx, was.OID, e.OID, path+"/")
	case e.Mode == gitobj.Dir && there && was.Mode != gitobj.Gitlink: // git removes a tracked file to make the directory
	case !onDisk:
	case (e.Mode == gitobj.Dir || e.Mode == gitobj.Gitlink) && !info.IsDir() && !there:
		w.lost = append(w.lost, path)
	case e.Mode == gitobj.Dir:
		return w.compare(ctx, "", e.OID, path+"/")
	case e.Mode == gitobj.Gitlink:
		if was.Mode == gitobj.Dir {
			return w.compare(ctx, was.OID, "", path+"/")
		}
	case info.IsDir():
		return w.within(ctx, was, path)
	case !there:
		w.lost = append(w.lost, path)
	}
	return nil
}

// within lists the files unknown to git below a directory that a file of the snapshot replaces.
func (w *way) within(ctx context.Context, was gitobj.TreeEntry, dir string) error {
	known := map[string]file{}
	if was.Mode == gitobj.Dir {
		if err := w.t.list(ctx, was.OID, dir+"/", known); err != nil {
			return err
		}
	}
	return filepath.WalkDir(w.onDisk(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(w.c.repo.Worktree, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && isRepository(path):
			w.repositories = append(w.repositories, filepath.ToSlash(rel))
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if _, ok := known[filepath.ToSlash(rel)]; !ok {
			w.lost = append(w.lost, filepath.ToSlash(rel))
		}
		return nil
	})
}

// isRepository reports whether a directory has a repository of its own, as a populated submodule
// has. From outside, git looks only at the HEAD of such a repository.
func isRepository(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}
