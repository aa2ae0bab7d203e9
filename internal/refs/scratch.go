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
	s, err := newScratch(r, r.Own(""), "ref: "+branches+cmp.Or(r.Branch, "main"))
	if err != nil {
		return nil, err
	}
	objects := filepath.Join(s.dir.Path, "objects")
	s.Env = append(s.Env, "GIT_OBJECT_DIRECTORY="+objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=")
	if err = os.Mkdir(filepath.Join(objects, "pack"), 0o700); err == nil {
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

// comparing are the settings by which git compares the files of a work tree with its index. None of
// them names a program.
var comparing = []string{
	"fileMode", "ignoreCase", "symlinks", "precomposeUnicode", "autocrlf", "eol", "checkStat", "trustctime", "excludesFile",
}

// WithoutPrograms makes a repository with the objects, the commit, the index and the work tree of
// another one. Of the settings it has only those of the user and those for comparing files. So no
// filter runs that the repository names. It is in a directory of this user: whoever made the other
// repository could change the settings of one in it before git reads them. Its caller closes it.
func WithoutPrograms(r *Repo, dir string) (*Scratch, error) {
	s, err := newScratch(r, dir, cmp.Or(r.Head, "ref: "+branches+"main"))
	if err != nil {
		return nil, err
	}
	s.Env = append(s.Env, "GIT_OBJECT_DIRECTORY="+r.Objects, "GIT_INDEX_FILE="+filepath.Join(r.GitDir, "index"))
	cfg := s.format()
	for _, name := range comparing {
		if value := r.Config.Get("core." + strings.ToLower(name)); value != "" {
			cfg.AddOption("core", config.NoSubsection, name, value)
		}
	}
	info := filepath.Join(s.dir.Path, "info")
	if err = s.writeSettings(cfg); err == nil {
		err = os.Mkdir(info, 0o700)
	}
	if err == nil {
		err = os.Symlink(filepath.Join(r.CommonDir, "info", "exclude"), filepath.Join(info, "exclude"))
	}
	if err != nil {
		s.Close()
		return nil, DiskFault(err)
	}
	return s, nil
}

// newScratch makes a repository without objects and settings below a directory.
func newScratch(r *Repo, dir, head string) (*Scratch, error) {
	own, err := durable.NewDir(dir, ScratchName)
	if err != nil {
		return nil, DiskFault(err)
	}
	dir = own.Path
	s := &Scratch{Env: []string{"GIT_DIR=" + dir, "GIT_COMMON_DIR=" + dir}, repo: r, dir: own}
	if r.Worktree != "" { // git changes to the top of the work tree, where a relative URL begins
		s.Env = append(s.Env, "GIT_WORK_TREE="+r.Worktree)
	}
	err = errors.Join(os.Mkdir(filepath.Join(dir, "objects"), 0o700), os.Mkdir(filepath.Join(dir, "refs"), 0o700),
		os.WriteFile(filepath.Join(dir, "HEAD"), []byte(head+"\n"), 0o600))
	if err != nil {
		s.Close()
		return nil, DiskFault(err)
	}
	return s, nil
}

// format returns the settings with the object format. git ignores them in an included file.
func (s *Scratch) format() *config.Config {
	cfg := config.New()
	if s.repo.Format == gitobj.SHA256 {
		cfg.AddOption("core", config.NoSubsection, "repositoryFormatVersion", "1")
		cfg.AddOption("extensions", config.NoSubsection, "objectFormat", string(gitobj.SHA256))
	}
	return cfg
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
	cfg := s.format()
	if err := s.writeSettings(cfg); err != nil {
		return err
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
			files = append(files, RealPath(name))
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
