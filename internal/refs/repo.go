package refs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// Repo is an open repository. It is safe for concurrent use. Close it.
type Repo struct {
	Runner *gitexec.Runner

	GitDir    string // of this worktree
	CommonDir string // shared by all worktrees
	Objects   string // where objects are written
	Worktree  string // its top; empty in a bare repository
	Bare      bool
	Head      string // commit id; empty while unborn
	Branch    string // short name; empty when detached or unborn
	Config    Config

	reader   reader
	updater  updater
	supposed map[string]string // see Suppose
	warming  sync.WaitGroup
}

// Open discovers the repository of the runner's directory, as git does it. A
// bare repository that lies inside somebody's work tree is not discovered: it
// could have come with a clone. Exactly says that the directory was named by
// the user and is meant. The process that serves all reads ends with ctx.
//
// What is in early is called before anything is known of the repository, so that
// what WarmUp or WarmReads start there starts beside what discovers it. Nothing may
// be asked of them before Open is done: git could run what a repository says.
func Open(ctx context.Context, run *gitexec.Runner, exactly bool, early ...func(*Repo)) (*Repo, error) {
	r := &Repo{Runner: run}
	r.reader.repo, r.updater.repo = r, r
	r.reader.begin = func() (*gitexec.Process, error) {
		// git says how large an object is before it reads it, whole if it is no blob.
		return run.Start(ctx, gitexec.Cmd{Args: []string{"cat-file", "--batch"}, Env: []string{gitexec.MaxAlloc(32)}})
	}
	named := has(run.Env, "GIT_DIR")
	if exactly && !named && looksBare(run.Dir) {
		run.Env = append(run.Env, "GIT_DIR=.")
		named = true
	}
	for _, begin := range early {
		begin(r)
	}
	var wg sync.WaitGroup
	var configErr error
	wg.Go(func() { r.Config, configErr = readConfig(ctx, run) })
	err := r.discover(ctx)
	wg.Wait()
	if err == nil {
		err = configErr
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	if r.Bare && !named && insideWorktree(ctx, run, r.GitDir) {
		r.Close()
		return nil, fault.New(fault.Unavailable, "not_a_repository",
			"the bare repository %s lies inside a work tree and is not used unasked", r.GitDir).
			WithHints(fault.Fact("-C %s uses it, if it is trusted", fault.Arg(r.GitDir)))
	}
	return r, nil
}

func (r *Repo) discover(ctx context.Context) error {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{
		"rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--git-path", "objects",
		"--show-object-format", "--is-bare-repository", "--is-inside-work-tree", "--show-cdup",
		"HEAD", "--symbolic-full-name", "HEAD",
	}})
	line := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(line) < 6 {
		why := ""
		var e *gitexec.Error
		if errors.As(err, &e) {
			why, _, _ = strings.Cut(e.Stderr, "\n")
		}
		if why == "" && err != nil { // it did not get so far
			return fault.New(fault.Unavailable, "git_failed", "%w", err).WithHints(fault.Fact("git must be installed, and in PATH"))
		}
		return fault.New(fault.Unavailable, "not_a_repository", "%s", strconv.QuoteToGraphic(strings.TrimPrefix(why, "fatal: "))).
			WithHints(fault.Fact("githandoff runs inside a git repository, or in the one that -C names"))
	}
	r.GitDir, r.CommonDir, r.Objects = line[0], line[1], line[2]
	if line[3] != "sha1" {
		return fault.New(fault.Unavailable, "object_format", "repositories with object format %s are not supported", line[3]).
			WithHints(fault.Fact("githandoff works in repositories of object format sha1"))
	}
	r.Bare = line[4] == "true"
	inside, rest := line[5] == "true", line[6:]
	switch {
	case inside:
		r.Worktree = filepath.Clean(filepath.Join(r.dir(), rest[0]))
		rest = rest[1:]
	case !r.Bare && len(rest) > 0 && filepath.IsAbs(rest[0]):
		r.Worktree, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 && len(rest[0]) == 40 {
		r.Head = rest[0]
	}
	if len(rest) > 1 {
		r.Branch, _ = strings.CutPrefix(rest[1], "refs/heads/")
		if r.Branch == rest[1] {
			r.Branch = ""
		}
	}
	return nil
}

func (r *Repo) dir() string {
	if filepath.IsAbs(r.Runner.Dir) {
		return r.Runner.Dir
	}
	wd, err := os.Getwd()
	if err != nil {
		return r.Runner.Dir
	}
	return filepath.Join(wd, r.Runner.Dir)
}

// WarmUp starts the processes that read objects and move refs while its caller
// does something else: for commands that will surely apply a transaction.
func (r *Repo) WarmUp(ctx context.Context) {
	r.warming.Go(r.reader.warm)
	r.warming.Go(func() { r.updater.warm(ctx) })
}

// WarmReads is WarmUp for commands that will surely read objects and move nothing.
func (r *Repo) WarmReads() { r.warming.Go(r.reader.warm) }

// Close ends the processes that serve this repository.
func (r *Repo) Close() {
	r.warming.Wait()
	var wg sync.WaitGroup
	wg.Go(r.reader.close)
	wg.Go(r.updater.close)
	wg.Wait()
}

// Own is the directory of githandoff's own files that all worktrees share;
// OwnWorktree the one of this worktree only.
func (r *Repo) Own(name string) string { return filepath.Join(r.CommonDir, "githandoff", name) }

// OwnWorktree is like Own, for this worktree only.
func (r *Repo) OwnWorktree(name string) string { return filepath.Join(r.GitDir, "githandoff", name) }

// OwnDirs are the directories of this repository in which githandoff writes files:
// its own, that of each worktree, and the one of info/exclude.
func (r *Repo) OwnDirs() []string {
	dirs := []string{r.Own(""), filepath.Join(r.CommonDir, "info")}
	worktrees, _ := os.ReadDir(filepath.Join(r.CommonDir, "worktrees")) // most have none
	for _, w := range worktrees {
		dirs = append(dirs, filepath.Join(r.CommonDir, "worktrees", w.Name(), "githandoff"))
	}
	return dirs
}

// Paths are the paths under which others may know this repository as a hub.
func (r *Repo) Paths() []string {
	paths := []string{r.CommonDir}
	if base, ok := strings.CutSuffix(r.CommonDir, "/.git"); ok {
		paths = append(paths, base)
	}
	return paths
}

// looksBare is git's own test (setup.c, is_git_directory), by names only.
func looksBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if !exists(filepath.Join(dir, name)) {
			return false
		}
	}
	return true
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func insideWorktree(ctx context.Context, run *gitexec.Runner, gitDir string) bool {
	parent := &gitexec.Runner{Dir: filepath.Dir(gitDir), Env: run.Env}
	out, err := parent.Run(ctx, gitexec.Cmd{Args: []string{"rev-parse", "--is-inside-work-tree"}})
	return err == nil && strings.TrimSpace(string(out)) == "true"
}

func has(env []string, name string) bool {
	for _, kv := range env {
		if strings.HasPrefix(kv, name+"=") {
			return true
		}
	}
	return false
}
