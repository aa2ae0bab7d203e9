package refs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/durable"
	"githandoff/internal/gitexec"
)

// Scratch is a new repository without refs and objects, for a fetch that no ref and no damaged object of
// another one disturbs. It has the settings of that one, and so reaches hubs as that one does.
type Scratch struct {
	Env []string // of a git that works there

	repo *Repo
	dir  string
}

// NewScratch makes a repository beside the packs of r, and removes those of killed processes. Its caller
// closes it.
func NewScratch(ctx context.Context, r *Repo) (*Scratch, error) {
	packs := filepath.Join(r.Objects, "pack")
	if err := os.MkdirAll(packs, 0o777); err != nil {
		return nil, DiskFault(err)
	}
	durable.Sweep(packs)
	dir, err := os.MkdirTemp(packs, fmt.Sprintf("%d-githandoff-", os.Getpid()))
	if err != nil {
		return nil, DiskFault(err)
	}
	objects := filepath.Join(dir, "objects")
	s := &Scratch{
		Env:  []string{"GIT_DIR=" + dir, "GIT_COMMON_DIR=" + dir, "GIT_OBJECT_DIRECTORY=" + objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="},
		repo: r, dir: dir,
	}
	if r.Worktree != "" { // git goes to its top, where a relative URL begins
		s.Env = append(s.Env, "GIT_WORK_TREE="+r.Worktree)
	}
	err = errors.Join(os.MkdirAll(filepath.Join(objects, "pack"), 0o700), os.Mkdir(filepath.Join(dir, "refs"), 0o700),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: "+branches+cmp.Or(r.Branch, "main")+"\n"), 0o600))
	if err == nil {
		err = s.includeSettings(ctx)
	}
	if err != nil {
		s.Close()
		return nil, DiskFault(err)
	}
	return s, nil
}

// Close removes the repository.
func (s *Scratch) Close() { _ = os.RemoveAll(s.dir) }

// includeSettings includes the files of settings that git reads in the other repository and not in this one:
// those of that repository, and those included for its place.
func (s *Scratch) includeSettings(ctx context.Context) error {
	want, err := settingsFiles(ctx, s.repo, nil)
	if err != nil {
		return err
	}
	if own := filepath.Join(s.repo.CommonDir, "config"); slices.Contains(want, own) {
		want = slices.Insert(want, 0, own) // it may decide about an include of the user's
	}
	for range want {
		have, err := settingsFiles(ctx, s.repo, s.Env)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(want, func(file string) bool { return !slices.Contains(have, file) })
		if i < 0 {
			return nil
		}
		if _, err := s.repo.Runner.Run(ctx, gitexec.Cmd{
			Args: []string{"config", "--file", filepath.Join(s.dir, "config"), "--add", "include.path", want[i]},
		}); err != nil {
			return err
		}
	}
	return nil
}

// settingsFiles lists the files from which git reads its settings, in the order in which it does.
func settingsFiles(ctx context.Context, r *Repo, env []string) (files []string, err error) {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "-z", "--list", "--show-origin", "--name-only"}, Env: env})
	for origin := range strings.SplitSeq(string(out), "\x00") {
		if name, ok := strings.CutPrefix(origin, "file:"); ok {
			files = append(files, realPath(below(cmp.Or(r.Worktree, r.GitDir), name)))
		}
	}
	return slices.Compact(files), err
}

// Adopt moves the objects into the other repository, where they replace those whose files are damaged.
func (s *Scratch) Adopt(ctx context.Context) error {
	brought, err := s.repo.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)"}, Env: s.Env, MaxOutput: 1 << 30,
	})
	if err != nil {
		return err
	}
	if err := s.repo.Store.takePacks(filepath.Join(s.dir, "objects", "pack")); err != nil {
		return DiskFault(err)
	}
	for oid := range strings.Lines(string(brought)) {
		// Only these: "git prune-packed" would remove a whole file if a damaged pack has its object as well.
		if _, err := s.repo.Store.DropDamaged(strings.TrimSpace(oid)); err != nil {
			return DiskFault(err)
		}
	}
	return nil
}

// takePacks moves the packs of a directory here. git finds a pack by its index, which comes last.
func (st *Store) takePacks(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, index := range []bool{false, true} {
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".idx") != index {
				continue
			}
			from, to := filepath.Join(dir, f.Name()), filepath.Join(st.repo.Objects, "pack", f.Name())
			info, err := f.Info()
			if err == nil {
				err = errors.Join(os.Chmod(from, st.shared(info.Mode())), os.Rename(from, to))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
