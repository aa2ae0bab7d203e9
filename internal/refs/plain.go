package refs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"githandoff/internal/gitexec"
)

// OpenPlain is [Open] for callers that need no HEAD, with one process less where the
// repository is a plain one: ".git" at the top of a work tree, or a linked worktree.
// Head and Branch are empty then.
//
// The files say where such a repository is, and "git config" says whether git agrees: it
// reads the configuration of a repository only after its own checks, that of the owner
// among them, and names each file that it read. Wherever the two differ, git is asked as
// Open asks it.
func OpenPlain(ctx context.Context, run *gitexec.Runner, early ...func(*Repo)) (*Repo, error) {
	return openWith(ctx, run, discoverPlain, early)
}

func discoverPlain(ctx context.Context, r *Repo) error {
	top, dirs, ok := locate(realPath(workDir(r)), r.Runner.Env)
	if !ok || has(r.Runner.Env, "GIT_OBJECT_DIRECTORY") {
		return discoverBoth(ctx, r)
	}
	config, origins, err := readOrigins(ctx, r.Runner)
	if err != nil {
		return discoverBoth(ctx, r)
	}
	r.Config = config
	if !plain(config) || !readFrom(origins, top, filepath.Join(dirs.CommonDir, "config")) {
		return discover(ctx, r)
	}
	r.GitDir, r.CommonDir, r.Worktree = realPath(dirs.GitDir), realPath(dirs.CommonDir), top
	r.Objects = filepath.Join(r.CommonDir, "objects")
	return nil
}

// discoverBoth asks git where the repository is and for its settings, at once.
func discoverBoth(ctx context.Context, r *Repo) error {
	var wg sync.WaitGroup
	var configErr error
	wg.Go(func() { r.Config, configErr = readConfig(ctx, r.Runner) })
	err := discover(ctx, r)
	wg.Wait()
	if err == nil {
		err = configErr
	}
	return err
}

// plain reports whether nothing in a configuration moves a part of the repository.
func plain(c Config) bool {
	format := c.Get("extensions.objectformat")
	return !c.Bool("core.bare") && c.Get("core.worktree") == "" && (format == "" || format == "sha1")
}

// readFrom reports whether git read its configuration from a file. It names files as
// they are seen from the top of the work tree.
func readFrom(origins map[string]bool, top, path string) bool {
	want, err := os.Stat(path)
	if err != nil {
		return false
	}
	for origin := range origins {
		name, ok := strings.CutPrefix(origin, "file:")
		if !ok {
			continue
		}
		if info, err := os.Stat(below(top, name)); err == nil && os.SameFile(info, want) {
			return true
		}
	}
	return false
}
