package refs

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/private"
)

// Repo is an open repository. It is safe for concurrent use. Close it.
type Repo struct {
	Runner *gitexec.Runner

	GitDir    string // git directory of this worktree
	CommonDir string // git directory shared by all worktrees
	Objects   string // directory where objects are written
	Worktree  string // top of the work tree; empty in a bare repository
	Bare      bool
	Head      string // commit id of HEAD; empty while unborn
	Branch    string // short name of the branch; empty when detached or unborn
	Config    Config
	Format    gitobj.Format

	Store *Store // writes the objects of this repository
	Locks *Locks // finds lock files that block a transaction

	// NameOf is the name by which this repository keeps a ref, for reads of single refs; nil
	// where each has its own name.
	NameOf func(ref string) string

	settings settingsList // Config, with its sources
	reader   reader
	updater  updater
	overlay  map[string]string // refs that reads see at other values; see Overlay
	held     sync.Map          // *Object by id; see Hold
	warming  sync.WaitGroup
	reads    atomic.Int64 // number of reads; see fewReads
}

// Open discovers the repository of the runner's directory, as git does it, and with git's own
// check of its owner. A GIT_DIR would switch the check off: githandoff sets it only to a repository that it
// has opened without one. A bare repository inside a work tree could have come with a clone. It is refused, wherever the
// command was started: only a GIT_DIR of the user names it. The process for all reads ends with
// ctx.
//
// The files say where a plain repository is: ".git" at the top of a work tree, or a linked
// worktree. "git config" says whether git agrees: it reads the configuration of a repository
// only after its own checks, the check of the owner among them, and names each file it read.
// Wherever the two differ, "git rev-parse" is asked.
func Open(ctx context.Context, run *gitexec.Runner) (*Repo, error) { return openFor(ctx, run, false) }

// OpenToWrite is like Open, for a command that is sure to apply a transaction: the process for
// moving refs starts beside the one that reads the settings. A failure of it shows again when the
// transaction is applied.
func OpenToWrite(ctx context.Context, run *gitexec.Runner) (*Repo, error) {
	return openFor(ctx, run, true)
}

func openFor(ctx context.Context, run *gitexec.Runner, writes bool) (*Repo, error) {
	r := &Repo{Runner: run}
	r.reader.repo, r.updater.repo = r, r
	r.reader.launch = func() (*gitexec.Process, error) {
		// git names the size of an object before it reads it, and reads all but blobs whole.
		return run.Start(ctx, gitexec.Cmd{Args: []string{"cat-file", "--batch"}, Env: []string{gitexec.MaxAlloc(32)}})
	}
	r.updater.launch = func() (*gitexec.Process, error) {
		return run.Start(ctx, gitexec.Cmd{
			Args:   []string{"update-ref", "--stdin"},
			Env:    []string{"GIT_COMMITTER_NAME=githandoff", "GIT_COMMITTER_EMAIL=githandoff@localhost"},
			Finish: true,
		})
	}
	answer := askSettings(ctx, run)
	if writes {
		r.warming.Go(func() {
			r.updater.mu.Lock()
			defer r.updater.mu.Unlock()
			_ = r.updater.start()
		})
	}
	plain, err := discoverPlain(ctx, r, answer)
	if names := r.Config.Subsections("hook", "event"); len(names) > 0 {
		r.warming.Wait()
		r.updater.stop((*gitexec.Process).Kill) // the git already started would run the hooks, even at the end of its input
		run.NoHooks = names
	}
	if env := r.Config.withinTransports(run.Env); env != nil {
		r.warming.Wait()
		r.updater.stop((*gitexec.Process).Kill) // it could fetch what a partial clone lacks
		run.Env = env
	}
	if _, named := gitexec.Lookup(run.Env, "GIT_DIR"); err == nil && !named {
		err = believe(ctx, r)
	}
	if err == nil && plain {
		err = readHead(ctx, r)
	}
	if err == nil && r.Config.Get("extensions.compatobjectformat") != "" {
		err = fault.New(fault.Unavailable, fault.ObjectFormat, "repositories with two object formats (extensions.compatObjectFormat) are not supported")
	}
	if err == nil {
		err = checkOwn(r)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	r.Store = &Store{r}
	r.Locks = &Locks{CommonDir: r.CommonDir}
	return r, nil
}

func workDir(r *Repo) string {
	if filepath.IsAbs(r.Runner.Dir) {
		return r.Runner.Dir
	}
	wd, err := os.Getwd()
	if err != nil {
		return r.Runner.Dir
	}
	return filepath.Join(wd, r.Runner.Dir)
}

// Close ends the processes of this repository.
func (r *Repo) Close() {
	r.warming.Wait()
	var wg sync.WaitGroup
	wg.Go(r.reader.close)
	wg.Go(r.updater.close)
	wg.Wait()
}

// Own returns the directory of githandoff's own files shared by all worktrees; OwnWorktree the one
// of this worktree only.
func (r *Repo) Own(name string) string { return filepath.Join(r.CommonDir, "githandoff", name) }

// OwnWorktree is like Own, for this worktree only.
func (r *Repo) OwnWorktree(name string) string { return filepath.Join(r.GitDir, "githandoff", name) }

// checkOwn refuses githandoff's own files if another user could have written them: claims,
// queued steps, the name of this worktree's agent, the trust list. The owner of the
// repository is not another user: git runs what its configuration says.
func checkOwn(r *Repo) error {
	owners := []uint32{0}
	if info, err := os.Stat(r.CommonDir); err == nil {
		owners = append(owners, private.Owner(info))
	}
	for _, dir := range slices.Compact([]string{r.Own(""), r.OwnWorktree("")}) { // they are one in the main worktree
		if err := private.CheckTree(dir, owners...); err != nil {
			return err
		}
	}
	return nil
}

// OwnDirs returns the directories of this repository with files of githandoff: its own, that of
// each worktree, and the one of info/exclude.
func (r *Repo) OwnDirs() []string {
	dirs := []string{r.Own(""), filepath.Join(r.CommonDir, "info")}
	worktrees, _ := os.ReadDir(filepath.Join(r.CommonDir, "worktrees")) // most repositories have none
	for _, w := range worktrees {
		dirs = append(dirs, filepath.Join(r.CommonDir, "worktrees", w.Name(), "githandoff"))
	}
	return dirs
}

// Paths returns the paths under which others may know this repository as a hub.
func (r *Repo) Paths() []string {
	paths := []string{r.CommonDir}
	if base, ok := strings.CutSuffix(r.CommonDir, "/.git"); ok {
		paths = append(paths, base)
	}
	return paths
}

// Uncommitted counts the tracked files of this worktree different from HEAD; 0 if they cannot
// be counted in time.
func Uncommitted(ctx context.Context, r *Repo) int {
	if r.Worktree == "" || r.Head == "" {
		return 0
	}
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules"}})
	if err != nil {
		return 0
	}
	return bytes.Count(out, []byte{0})
}

// Unpushed reports whether a git remote is tracked here and none of its
// branches, as last fetched, holds a commit.
func Unpushed(ctx context.Context, r *Repo, remote, commit string) bool {
	prefix := "refs/remotes/" + remote + "/"
	known, err := r.List(ctx, prefix)
	if err != nil || len(known) == 0 {
		return false
	}
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"for-each-ref", "--count=1", "--contains=" + commit, prefix}})
	return err == nil && len(out) == 0
}
