package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// Request says what to capture, and which home receives it.
type Request struct {
	// Remote is the remote whose branches the home is known to have; "" if this repository is
	// the home itself, and lacks nothing.
	Remote string
	// Away: the home is another repository.
	Away bool

	Actor, Mail string // name and mail address of the author of the commits
	Now         time.Time
	Limit       int64    // limit of the unpacked objects that the home lacks, in bytes
	Allow       []string // paths to send even if the content policy refuses them
}

// Snapshot is a captured state, not yet written.
type Snapshot struct {
	Work    handoff.Work
	Objects []*refs.Object // objects that the commit needs and HEAD lacks; the commit is last
	Changed bool           // whether something is not committed

	// UnderWay is an operation that git has begun in the work tree, such as a merge; "" for none.
	// Its files are in the snapshot, but git's notes about it are not.
	UnderWay string
}

// tries bounds how often a capture begins again because a file changed meanwhile.
const tries = 3

// Capture records the state of the work tree. It changes nothing in the repository.
func Capture(ctx context.Context, repo *refs.Repo, q Request) (*Snapshot, error) {
	switch {
	case repo.Worktree == "":
		return nil, fault.New(fault.Usage, fault.BareRepository, "a bare repository has no work tree to take a snapshot of")
	case repo.Head == "":
		return nil, cannot("HEAD has no commit yet").WithHints(fault.Run("git", "commit", "--allow-empty", "-m", "begin").Because("makes the first one"))
	}
	if err := refuseElsewhere(repo); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := capture(ctx, repo, q)
		if !fault.Is(err, fault.WorkChanged) || try == tries {
			return s, err
		}
		if err := refs.Pause(ctx, 3); err != nil {
			return nil, err
		}
	}
}

func cannot(format string, args ...any) *fault.Error {
	return fault.New(fault.Policy, fault.CannotTravel, "no snapshot: "+format, args...)
}

func changedMeanwhile(what string) error {
	return fault.New(fault.Conflict, fault.WorkChanged, "no snapshot: %s changed while it was taken", what).
		WithHints(fault.Fact("run the same command again when no other program writes there"))
}

// shot is one try of a capture.
type shot struct {
	repo    *refs.Repo
	req     Request
	scratch *scratch
	changes []change                // sorted by path
	read    map[string]file         // files of the work tree, by path
	blobs   map[string]*refs.Object // blobs of these files and of staged ones, by id
	trees   *trees
}

func capture(ctx context.Context, repo *refs.Repo, q Request) (*Snapshot, error) {
	var a *ahead
	var aheadErr error
	var wg sync.WaitGroup
	wg.Go(func() { a, aheadErr = lookAhead(ctx, repo, q) })
	c := &shot{repo: repo, req: q, blobs: map[string]*refs.Object{}, trees: newTrees(repo)}
	err := c.take(ctx)
	wg.Wait()
	if err := cmp.Or(err, aheadErr); err != nil {
		return nil, err
	}
	s, err := c.snapshot(ctx, a)
	if err != nil {
		return nil, err
	}
	return s, c.judge(ctx, s, a)
}

// take reads the work tree between two looks at its state.
func (c *shot) take(ctx context.Context) error {
	run := inTop(c.repo)
	var err error
	if c.changes, err = readStatus(ctx, run, "all"); err != nil {
		return err
	}
	c.changes = slices.DeleteFunc(c.changes, c.isSpecial)
	if err := c.canTravel(); err != nil {
		return err
	}
	if len(c.changes) == 0 {
		return nil
	}
	before, size, err := c.look()
	if err != nil {
		return err
	}
	if err := c.req.fits(len(before), size); err != nil {
		return err
	}
	if c.scratch, err = newScratch(c.repo); err != nil {
		return err
	}
	defer c.scratch.close()
	if err := c.hash(ctx); err != nil {
		if moved := c.moved(before); moved != nil && fault.Is(err, fault.CannotTravel) {
			return moved // another program changed the file meanwhile, hence the other bytes
		}
		return err
	}
	// A file that appeared meanwhile is not part of the captured state; untracked files are
	// compared below.
	again, err := readStatus(ctx, run, "no") // without untracked files, which takes a third of the time
	if err != nil {
		return err
	}
	tracked := slices.DeleteFunc(slices.Clone(c.changes), func(one change) bool { return one.isUntracked() })
	if !slices.Equal(tracked, again) {
		return changedMeanwhile("the work tree")
	}
	return c.moved(before)
}

// isSpecial reports whether a path unknown to git is a device, a FIFO or a socket. git adds none, and
// lists one only if it is mounted over the name of a file, as the sandbox of Claude Code does.
func (c *shot) isSpecial(one change) bool {
	if !one.isUntracked() {
		return false
	}
	info, err := os.Lstat(filepath.Join(c.repo.Worktree, one.path))
	return err == nil && info.Mode()&(os.ModeDevice|os.ModeNamedPipe|os.ModeSocket) != 0
}

// moved refuses a file changed since an earlier look.
func (c *shot) moved(before map[string]os.FileInfo) error {
	after, _, err := c.look()
	if err != nil {
		return err
	}
	for path, then := range before {
		if now := after[path]; !os.SameFile(then, now) || then.Size() != now.Size() || !then.ModTime().Equal(now.ModTime()) || then.Mode() != now.Mode() {
			return changedMeanwhile(show(path))
		}
	}
	return nil
}

// look reads the file system's data about the files whose content travels.
func (c *shot) look() (map[string]os.FileInfo, int64, error) {
	found, size := map[string]os.FileInfo{}, int64(0)
	for _, one := range c.changes {
		if !one.isRead() {
			continue
		}
		info, err := os.Lstat(filepath.Join(c.repo.Worktree, one.path))
		if err != nil {
			return nil, 0, changedMeanwhile(show(one.path))
		}
		if info.Mode()&os.ModeType&^os.ModeSymlink != 0 {
			return nil, 0, cannot("%s is not a regular file", show(one.path))
		}
		found[one.path] = info
		size += info.Size()
	}
	return found, size, nil
}

// hash reads the content of the files and of staged entries.
func (c *shot) hash(ctx context.Context) error {
	known := map[string]file{}
	var paths []string
	for _, one := range c.changes {
		if !one.isRead() {
			continue
		}
		paths = append(paths, one.path)
		if !one.isUntracked() && !one.isIntent() {
			known[one.path] = file{one.inIndex, one.oid}
		}
	}
	var err error
	if c.read, err = c.scratch.hash(ctx, known, paths); err != nil {
		if _, _, gone := c.look(); gone != nil {
			return gone
		}
		return err
	}
	for _, path := range paths {
		if c.read[path].oid == "" { // git skips such a name without an error
			return cannot("git stores no file under the name %s", show(path)).
				WithHints(fault.Fact("rename it, or list it in .gitignore: ignored files do not travel"))
		}
	}
	if err := c.load(ctx); err != nil {
		return err
	}
	return c.rehearse(ctx, paths)
}

// load reads the new blobs, to screen and keep them.
func (c *shot) load(ctx context.Context) error {
	for _, one := range c.changes {
		for _, f := range []file{c.read[one.path], one.stagedFile()} {
			if f.oid == "" || f.mode == gitobj.Gitlink || c.blobs[f.oid] != nil {
				continue
			}
			var err error
			if c.blobs[f.oid], err = c.scratch.read(ctx, f.oid, c.req.Limit); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshot makes the trees and commits.
func (c *shot) snapshot(ctx context.Context, a *ahead) (*Snapshot, error) {
	head, err := c.repo.Read(ctx, c.repo.Head, maxTree)
	if err != nil {
		return nil, err
	}
	if head == nil || head.Type != "commit" {
		return nil, fmt.Errorf("read HEAD: %s is not a commit", c.repo.Head)
	}
	staged, work, loose, intents := map[string]file{}, map[string]file{}, map[string]file{}, []string(nil)
	for _, one := range c.changes {
		if one.isUntracked() {
			loose[one.path] = c.read[one.path]
			continue
		}
		if one.staged != '.' {
			staged[one.path] = one.stagedFile()
		}
		if one.isIntent() {
			intents = append(intents, one.path)
		}
		if one.unstaged != '.' {
			work[one.path] = c.read[one.path]
		}
	}
	modes, err := intentModes(ctx, inTop(c.repo), intents)
	if err != nil {
		return nil, err
	}
	index, err := c.trees.edit(ctx, gitobj.Tree(head.Body), staged)
	if err != nil {
		return nil, err
	}
	for _, one := range c.changes {
		if !one.mayBeGoneIntent() {
			continue
		}
		if there, err := c.trees.has(ctx, index, one.path); err != nil || !there {
			return nil, cmp.Or(err, goneIntent(c.repo, one.path))
		}
	}
	tracked, err := c.trees.edit(ctx, index, work)
	if err != nil {
		return nil, err
	}
	w := &writer{q: c.req, label: label(c.repo, head.Body)}
	parents := []string{c.repo.Head, w.commit(index, w.indexMessage(intents, modes), c.repo.Head)}
	if len(loose) > 0 {
		others, err := c.trees.edit(ctx, "", loose)
		if err != nil {
			return nil, err
		}
		parents = append(parents, w.commit(others, "untracked files on "+w.label+"\n"))
	}
	top := w.commit(tracked, "WIP on "+w.label+"\n", parents...)
	s := &Snapshot{
		Work: handoff.Work{
			Commit: top, Head: c.repo.Head, Base: a.base, Branch: c.repo.Branch, Commits: len(a.commits),
			Files: c.countFiles(a), Bytes: a.bytes,
		},
		Objects: slices.Concat(sorted(c.blobs), sorted(c.trees.made), w.objects),
		Changed: len(c.changes) > 0, UnderWay: underWay(ctx, c.repo),
	}
	for _, o := range s.Objects {
		s.Work.Bytes += int64(len(o.Body))
	}
	return s, nil
}

// countFiles counts the paths that differ from the home's version.
func (c *shot) countFiles(a *ahead) int {
	paths := map[string]bool{}
	for _, one := range c.changes {
		paths[one.path] = true
	}
	for _, d := range a.changed {
		paths[d.path] = true
	}
	return len(paths)
}

func sorted(m map[string]*refs.Object) []*refs.Object {
	return slices.SortedFunc(maps.Values(m), func(a, b *refs.Object) int { return strings.Compare(a.OID, b.OID) })
}

// canTravel refuses changes that a commit cannot hold.
func (c *shot) canTravel() error {
	for _, one := range c.changes {
		path := show(one.path)
		switch {
		case one.staged == 'u':
			return cannot("%s has a merge conflict", path).WithHints(fault.Run("git", "status").Because("lists the conflicts"))
		case one.isRead() && one.inTree == gitobj.Gitlink:
			hint := fault.Run("git", "-C", fromHere(c.repo, one.path), "status").Because("shows them; commit and push them there")
			if strings.HasSuffix(one.sub, "..") { // no file in the submodule is changed
				hint = fault.Run("git", "add", "--", fromHere(c.repo, one.path)).Because("stages its commit; push it there, too")
			}
			return cannot("%s is a submodule with changes of its own", path).WithHints(hint)
		case one.isUntracked() && strings.HasSuffix(one.path, "/"):
			return cannot("%s is a repository of its own", path).
				WithHints(fault.Fact("move it away, or list it in .gitignore: ignored files do not travel"))
		case one.unstaged == 'D' && one.staged == 'D':
			return goneIntent(c.repo, one.path)
		}
	}
	return nil
}

// goneIntent refuses a path that was added with "git add --intent-to-add" and whose file is gone,
// because no tree can hold it.
func goneIntent(repo *refs.Repo, path string) error {
	return cannot("%s was staged for addition and is gone", show(path)).
		WithHints(fault.Run("git", "rm", "--cached", "--", fromHere(repo, path)).Because("makes git forget it"))
}
