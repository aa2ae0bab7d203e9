package refs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
)

// believe refuses a repository discovered by git that may not be the user's: a bare repository
// inside a work tree, and, if git is too old to check it, a repository of another user. A
// repository's config names programs for git to run.
//
// The config of the repository is not evidence. A config from a clone can set core.bare=false,
// or include a file to do so.
func believe(ctx context.Context, r *Repo) error {
	if err := refuseEmbedded(workDir(r), r.GitDir); err != nil {
		return err
	}
	place := cmp.Or(r.Worktree, r.GitDir)
	foreign := foreignTo(place, r.GitDir)
	if foreign == "" {
		return nil
	}
	// git let it pass, because the place is listed or because this git checks no owners.
	checks, err := r.HasGit(ctx, looksAtOwners)
	if err != nil || checks {
		return err
	}
	listed, err := safeDirectory(ctx, r, place)
	if err != nil || listed {
		return err
	}
	return fault.New(fault.Usage, fault.NotARepository, "%s belongs to another user", foreign).WithHints(trustDirectory(place))
}

// IsDoubtful reports whether a bare repository may not be the user's: a GIT_DIR with its path would switch off the
// checks of git and of [Open].
func IsDoubtful(dir string) bool {
	dir = RealPath(dir)
	return foreignTo(dir) != "" || embeddedIn(dir, dir) != ""
}

// refuseEmbedded refuses a bare git directory, found from dir, that lies inside a work tree.
func refuseEmbedded(dir, gitDir string) error {
	outer := embeddedIn(dir, gitDir)
	if outer == "" {
		return nil
	}
	return fault.New(fault.Usage, fault.NotARepository,
		"ignored %s: it lies inside the work tree %s and may have come with it", gitDir, outer).
		WithHints(fault.Run("githandoff", "-C", outer, "status").Because("works in the repository around it"))
}

// embeddedIn returns the work tree around a bare git directory at dir or above it; "" if there is
// none, or if the path of the git directory contains ".git": a clone cannot bring a file or
// directory of that name.
func embeddedIn(dir, gitDir string) string {
	dir, gitDir = RealPath(dir), RealPath(gitDir)
	if dir != gitDir && !strings.HasPrefix(dir, gitDir+"/") {
		return ""
	}
	if strings.Contains(gitDir+"/", "/.git/") {
		return ""
	}
	for above := filepath.Dir(gitDir); ; above = filepath.Dir(above) {
		if exists(filepath.Join(above, ".git")) {
			return above
		}
		if above == "/" {
			return ""
		}
	}
}

// candidate returns the directory, dir or one above it, that git takes for a repository, by names
// only: the top of a work tree, or a bare one.
func candidate(dir string) string {
	for dir = RealPath(dir); ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, ".git")) || looksBare(dir) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// looksBare applies git's own test (setup.c, is_git_directory), by names only.
func looksBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if !exists(filepath.Join(dir, name)) {
			return false
		}
	}
	return true
}

// foreignTo returns the first path that belongs to another user, as git counts users: root under
// sudo is also the user who ran sudo.
func foreignTo(paths ...string) string {
	mine := map[uint32]bool{uint32(os.Geteuid()): true}
	if os.Geteuid() == 0 {
		if uid, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32); err == nil {
			mine[uint32(uid)] = true
		}
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok && !mine[s.Uid] {
			return path
		}
	}
	return ""
}

// looksAtOwners is the first version with the check of owners in each of its releases. Older lines
// got it in fix releases, which the version numbers of distributions do not tell apart.
const looksAtOwners = "2.36"

// HasGit reports whether the git that runs here is of a version or a later one.
func (r *Repo) HasGit(ctx context.Context, version string) (bool, error) {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"version"}})
	if err != nil {
		return false, err
	}
	return !gitexec.OlderThan(gitexec.Version(out), version), nil
}

// safeDirectory reads safe.directory as git does: not from the repository itself, the
// last empty value forgets those before it, "*" is every repository.
func safeDirectory(ctx context.Context, r *Repo, place string) (bool, error) {
	values, err := UserValues(ctx, r, "safe.directory", "--type=path")
	if err != nil {
		return false, err
	}
	listed := false
	for _, value := range values {
		switch value {
		case "":
			listed = false
		case "*", place:
			listed = true
		}
	}
	return listed, nil
}

// UserValues returns the values of a setting, as git reads them with some options, in which the
// repository itself has no say.
func UserValues(ctx context.Context, r *Repo, key string, options ...string) ([]string, error) {
	run := &gitexec.Runner{Dir: "/", Env: r.Runner.Env}
	out, err := run.Run(ctx, gitexec.Cmd{Args: slices.Concat([]string{"config", "-z"}, options, []string{"--get-all", key})})
	if gitexec.ExitCode(err) == 1 { // it is not set
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", key, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// RealParent returns a path with the links above it followed. Its last part may be a link, or nothing.
func RealParent(path string) string {
	return filepath.Join(RealPath(filepath.Dir(path)), filepath.Base(path))
}

// RealPath returns a path with its links followed, or as it is if it leads to nothing.
func RealPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
