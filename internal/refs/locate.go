package refs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"githandoff/internal/gitexec"
)

// Dirs are the directories of a repository as its files name them.
type Dirs struct {
	Top       string // top of the work tree
	GitDir    string // git directory of the worktree
	CommonDir string // git directory shared by all worktrees
}

// Locate finds the repository around dir by its files, without git, and only in the plain case:
// a directory ".git", or a file of that name as linked worktrees have it. It makes none of
// git's checks. So the result only serves to see whether git's last answer can have changed.
func Locate(dir string, env []string) (Dirs, bool) {
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"} {
		if _, set := gitexec.Lookup(env, name); set {
			return Dirs{}, false
		}
	}
	if !filepath.IsAbs(dir) {
		return Dirs{}, false
	}
	for top := filepath.Clean(dir); ; top = filepath.Dir(top) {
		if exists(filepath.Join(top, ".git")) {
			git, err := GitDirOf(top)
			if err != nil {
				return Dirs{}, false
			}
			common := git
			if to, err := ReadFile(filepath.Join(git, "commondir"), ""); err == nil {
				common = below(git, to)
			}
			return Dirs{Top: top, GitDir: git, CommonDir: common}, exists(filepath.Join(git, "HEAD"))
		}
		if exists(filepath.Join(top, "HEAD")) || top == filepath.Dir(top) {
			return Dirs{}, false // it may be a bare repository
		}
		if _, set := gitexec.Lookup(env, "GIT_CEILING_DIRECTORIES"); set {
			return Dirs{}, false // git decides how far up to search
		}
	}
}

// Enclosing lists the tops of all work trees around an absolute path without links, the
// innermost first, as Locate finds them. The path need not exist, and may lie in the directory
// ".git" of a work tree.
func Enclosing(path string, env []string) []string {
	var tops []string
	for dir := filepath.Clean(path); dir != filepath.Dir(dir); {
		dir = filepath.Dir(dir)
		if !exists(filepath.Join(dir, ".git")) {
			continue
		}
		if dirs, ok := Locate(dir, env); ok {
			tops = append(tops, dirs.Top)
		}
	}
	return tops
}

// GitDirOf returns git's directory of the worktree whose top is given: its entry ".git", or the one named by that file.
func GitDirOf(top string) (string, error) {
	own := filepath.Join(top, ".git")
	if info, err := os.Stat(own); err != nil || info.IsDir() {
		return own, err
	}
	to, err := ReadFile(own, "gitdir: ")
	if err != nil {
		return "", fmt.Errorf("%s names no git directory", own)
	}
	return below(top, to), nil
}

// LinkOf returns the entry ".git" of the linked worktree whose git directory is given; "" if git was cut off
// before it wrote that. For a main worktree the error is [fs.ErrNotExist].
func LinkOf(gitDir string) (string, error) {
	link, err := ReadFile(filepath.Join(gitDir, "gitdir"), "")
	if link == "" {
		return "", err
	}
	return below(gitDir, link), nil // git 2.48 and newer can write relative paths
}

// maxFile is the most bytes of a file that git writes for itself, such as ".git" of a linked worktree.
const maxFile = 1 << 20

// ReadFile reads a file that git writes for itself, and returns what follows a prefix, without the line break at its
// end. An agent may have made the repository: a pipe would block its reader, and a file without an end would
// fill the memory.
func ReadFile(path, prefix string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b []byte
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		b, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	}
	if err != nil {
		return "", err
	}
	rest, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), prefix)
	if !ok || !info.Mode().IsRegular() || len(b) > maxFile {
		return "", fmt.Errorf("%s is not a file that git writes", path)
	}
	return rest, nil
}

func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// Kept lists the files and directories for some inboxes and lanes, of this repository and of
// the hubs it has copies of: each ref that comes, moves or goes changes one of them. Some may
// not exist yet.
func Kept(commonDir string, inboxes, lanes []string) []string {
	all := []string{"packed-refs", "reftable/tables.list", "refs/handoffs/remotes"}
	namespaces := []string{"refs/handoffs"}
	hubs, err := os.ReadDir(filepath.Join(commonDir, "refs/handoffs/remotes"))
	if err == nil { // on an error there are no copies of hubs
		for _, hub := range hubs {
			namespaces = append(namespaces, "refs/handoffs/remotes/"+hub.Name())
		}
	}
	for _, namespace := range namespaces {
		for _, agent := range inboxes {
			all = append(all, namespace+"/inbox/"+agent)
		}
		for _, lane := range lanes {
			all = append(all, namespace+"/log/"+lane)
		}
	}
	for i, name := range all {
		all[i] = filepath.Join(commonDir, filepath.FromSlash(name))
	}
	return all
}
