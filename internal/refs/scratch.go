package refs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing/format/config"

	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
)

// Scratch is a new repository without refs and objects, for a fetch that no ref and no damaged object of
// another one disturbs. It has the settings of that one, and so reaches hubs as that one does.
type Scratch struct {
	Env []string // environment of a git that works in this repository

	repo   *Repo
	dir    *durable.Dir
	reader reader
}

// ScratchName is the directory of these repositories, see [Repo.Own].
const ScratchName = "scratch"

// NewScratch makes a repository, and removes those of killed processes. Its caller closes it.
func NewScratch(ctx context.Context, r *Repo) (*Scratch, error) {
	own, err := durable.NewDir(r.Own(ScratchName))
	if err != nil {
		return nil, DiskFault(err)
	}
	dir := own.Path
	objects := filepath.Join(dir, "objects")
	s := &Scratch{
		Env:  []string{"GIT_DIR=" + dir, "GIT_COMMON_DIR=" + dir, "GIT_OBJECT_DIRECTORY=" + objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="},
		repo: r, dir: own,
	}
	if r.Worktree != "" { // git changes to the top of the work tree, where a relative URL begins
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
	s.reader.launch = func() (*gitexec.Process, error) {
		return r.Runner.Start(ctx, gitexec.Cmd{Args: []string{"cat-file", "--batch"}, Env: s.Env})
	}
	return s, nil
}

// Close removes the repository.
func (s *Scratch) Close() {
	s.reader.close()
	s.dir.Remove()
}

// includeSettings includes the files of settings that git reads in the other repository and not in this one:
// those of that repository, and those included for its place.
func (s *Scratch) includeSettings(ctx context.Context) error {
	want, err := settingsFiles(ctx, s.repo, []string{"GIT_DIR=" + s.repo.GitDir})
	if err != nil {
		return err
	}
	if own := filepath.Join(s.repo.CommonDir, "config"); slices.Contains(want, own) {
		want = slices.Insert(want, 0, own) // this file may decide whether a file of the user is included
	}
	cfg := config.New()
	if s.repo.Format == gitobj.SHA256 { // git ignores these two settings in an included file
		cfg.AddOption("core", config.NoSubsection, "repositoryFormatVersion", "1")
		cfg.AddOption("extensions", config.NoSubsection, "objectFormat", string(gitobj.SHA256))
		if err := s.writeSettings(cfg); err != nil {
			return err
		}
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
		if err := s.writeSettings(cfg.AddOption("include", config.NoSubsection, "path", want[i])); err != nil {
			return err
		}
	}
	return nil
}

func (s *Scratch) writeSettings(cfg *config.Config) error {
	var text bytes.Buffer
	if err := config.NewEncoder(&text).Encode(cfg); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir.Path, "config"), text.Bytes(), 0o600)
}

// settingsFiles lists the files from which git reads its settings in a git directory, in the order in which it
// does. git names the others by their absolute paths.
func settingsFiles(ctx context.Context, r *Repo, env []string) (files []string, err error) {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "-z", "--list", "--show-origin", "--name-only"}, Env: env})
	for origin := range strings.SplitSeq(string(out), "\x00") {
		if name, ok := strings.CutPrefix(origin, "file:"); ok {
			files = append(files, realPath(name))
		}
	}
	return slices.Compact(files), err
}

// Restore writes the objects of refs which the other repository lost, or whose files are damaged there, and
// which s has. It returns the refs that still lack one. It brings nothing else: an object that no ref leads to
// may be taken for present by a fetch while a gc removes it.
func (s *Scratch) Restore(ctx context.Context, list []Ref) ([]Lost, error) {
	const (
		most  = 32 << 20 // bytes of objects held in memory at once
		extra = 512      // bytes of an object besides its body
	)
	var found []*Object
	size := 0
	write := func() error {
		err := s.repo.Store.restore(ctx, found)
		found, size = nil, 0
		return err
	}
	lost, err := findLost(list, func(oid string) (*Object, error) {
		o, err := readWhole(ctx, s.repo, oid)
		if o != nil || err != nil {
			return o, err
		}
		o, err = s.reader.read(oid, maxTop)
		if fault.Is(err, fault.TooLarge) { // no object of a handoff is so large
			return nil, nil
		}
		if o == nil || err != nil {
			return nil, err
		}
		found = append(found, o)
		if size += len(o.Body) + extra; size > most {
			err = write()
		}
		return o, err
	})
	return lost, errors.Join(err, write())
}

// restore writes objects to which refs lead already, even if a running gc took them.
func (st *Store) restore(ctx context.Context, objects []*Object) error {
	for _, o := range objects {
		if err := st.DropDamaged(o.OID); err != nil {
			return DiskFault(err)
		}
	}
	if err := st.Write(objects...); err != nil {
		return err
	}
	return st.secure(context.WithoutCancel(ctx), time.Time{}, objects)
}
