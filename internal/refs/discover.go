package refs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
)

// OldestGit is the oldest git that githandoff works with. Before 2.31, rev-parse knows no
// --path-format; before 2.33.1, "update-ref --stdin" confirms a step only when it ends.
const OldestGit = "2.34"

func errTooOld() error {
	return fault.New(fault.Unavailable, fault.GitTooOld, "this git is too old: githandoff needs %s or newer", OldestGit).
		WithHints(fault.Run("git", "version").Because("says which git is in PATH"))
}

// discoverPlain finds a plain repository by its files, and has git confirm it with its answer
// about the settings. Otherwise it asks git where the repository is.
func discoverPlain(ctx context.Context, r *Repo, answer func() (settings, error)) (plain bool, err error) {
	dir := RealPath(workDir(r))
	dirs, ok := Locate(dir, r.Runner.Env)
	if _, elsewhere := gitexec.Lookup(r.Runner.Env, "GIT_OBJECT_DIRECTORY"); !ok || elsewhere {
		err := discover(ctx, r) // runs while another git reads the settings
		known, cerr := answer()
		r.Config, r.settings = known.config, known.list
		if err == nil && cerr != nil {
			err = notStarted(cerr)
		}
		return false, err
	}
	known, err := answer()
	if err != nil {
		return false, cmp.Or(discover(ctx, r), notStarted(err))
	}
	r.Config, r.settings = known.config, known.list
	own := filepath.Join(dirs.CommonDir, "config")
	if !isPlain(r.Config, dirs) || !readFrom(known.origins, dirs.Top, own) {
		return false, discover(ctx, r)
	}
	// git takes the format from this file alone, and only if it has a version as well.
	if _, set := r.Config[objectFormat]; set {
		for _, key := range formatKeys {
			if from := known.list.sources(key, ""); len(from) != 1 || !readFrom(from, dirs.Top, own) {
				return false, discover(ctx, r)
			}
		}
	}
	if err := takeFormat(r, cmp.Or(r.Config.Get(objectFormat), string(gitobj.SHA1))); err != nil {
		return false, err
	}
	r.GitDir, r.CommonDir, r.Worktree = RealPath(dirs.GitDir), RealPath(dirs.CommonDir), dirs.Top
	if dir == dirs.Top {
		r.Worktree = filepath.Clean(workDir(r)) // keep the spelling of the user's path
	}
	r.Objects = filepath.Join(r.CommonDir, "objects")
	return true, nil
}

// isPlain reports whether the settings agree with the files of a repository about its place.
func isPlain(config Config, dirs Dirs) bool {
	top := config.Get("core.worktree") // set in a submodule
	if top != "" && RealPath(below(dirs.GitDir, top)) != dirs.Top {
		return false
	}
	return !config.Bool("core.bare")
}

const objectFormat = "extensions.objectformat"

// formatKeys are the settings from which git takes the object format.
var formatKeys = []string{"core.repositoryformatversion", objectFormat}

// takeFormat sets the object format by git's name for it.
func takeFormat(r *Repo, name string) error {
	r.Format = gitobj.Format(name)
	if r.Format != gitobj.SHA1 && r.Format != gitobj.SHA256 {
		return fault.New(fault.Unavailable, fault.ObjectFormat, "repositories with object format %q are not supported", name).
			WithHints(fault.Fact("githandoff works in repositories of object format sha1 or sha256"))
	}
	return nil
}

// readFrom reports whether git read its configuration from a file. git names files relative to the
// top of the work tree.
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

// discover asks git where this repository is, all in one process.
func discover(ctx context.Context, r *Repo) error {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{
		"rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--git-path", "objects",
		"--show-object-format", "--is-bare-repository", "--is-inside-work-tree", "--show-cdup",
		"HEAD", "--symbolic-full-name", "HEAD",
	}})
	line := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	switch {
	case gitexec.Unexplained(err):
		return notStarted(err)
	case line[0] == "--path-format=absolute": // an older git prints an option that it does not know
		return errTooOld()
	case len(line) < 6:
		return notFound(r, err)
	case !answersDiscovery(line):
		return discoverOneByOne(ctx, r)
	}
	r.GitDir, r.CommonDir, r.Objects = line[0], line[1], line[2]
	if err := takeFormat(r, line[3]); err != nil {
		return err
	}
	r.Bare = line[4] == "true"
	takeHead(r, line[5] == "true", line[6:])
	return nil
}

// answersDiscovery reports whether each of the first lines answers its question. A path with a line
// break shifts the others.
func answersDiscovery(line []string) bool {
	for _, path := range line[:3] {
		if !filepath.IsAbs(path) {
			return false
		}
	}
	for _, answer := range line[4:6] {
		if answer != "true" && answer != "false" {
			return false
		}
	}
	return strings.HasPrefix(line[3], "sha")
}

// takeHead reads git's answers after the fixed lines: the top of the work tree, which git writes
// differently inside of it and outside, and HEAD.
func takeHead(r *Repo, inside bool, rest []string) {
	switch {
	case inside && len(rest) > 0:
		r.Worktree = filepath.Clean(workDir(r))
		if rest[0] != "" { // resolve links first: ".." of a linked directory leads above its target
			r.Worktree = filepath.Join(RealPath(r.Worktree), rest[0])
		}
		rest = rest[1:]
	case !r.Bare && len(rest) > 0 && filepath.IsAbs(rest[0]):
		r.Worktree, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 && gitobj.IsID(rest[0]) {
		r.Head = rest[0]
	}
	if len(rest) > 1 {
		if branch, ok := strings.CutPrefix(rest[1], "refs/heads/"); ok {
			r.Branch = branch
		}
	}
}

// discoverOneByOne starts one process for each question, for paths with a line break: an answer is
// then all of git's output but its last byte.
func discoverOneByOne(ctx context.Context, r *Repo) error {
	var first error
	ask := func(args ...string) string {
		args = append([]string{"rev-parse", "--path-format=absolute"}, args...)
		out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: args})
		first = cmp.Or(first, err)
		return strings.TrimSuffix(string(out), "\n")
	}
	r.GitDir, r.CommonDir, r.Objects = ask("--git-dir"), ask("--git-common-dir"), ask("--git-path", "objects")
	format := ask("--show-object-format")
	r.Bare = ask("--is-bare-repository") == "true"
	inside := ask("--is-inside-work-tree") == "true"
	if inside {
		r.Worktree = ask("--show-toplevel")
	}
	if first != nil {
		return notFound(r, first)
	}
	if err := takeFormat(r, format); err != nil {
		return err
	}
	return askHead(ctx, r)
}

// notFound returns the refusal of git's discovery: no repository, one of another user, or one that
// cannot be read.
func notFound(r *Repo, err error) error {
	why := ""
	if e, ok := errors.AsType[*gitexec.Error](err); ok {
		var rest string
		why, rest, _ = strings.Cut(e.Stderr, "\n")
		if strings.HasSuffix(why, ":") { // git lists the details in the following lines
			why += " " + strings.Join(strings.Fields(rest), ", ")
		}
	}
	if why == "" && err != nil { // git did not run
		return notStarted(err)
	}
	why = strings.TrimPrefix(why, "fatal: ")
	if quoted := strconv.QuoteToGraphic(why); quoted != `"`+why+`"` {
		why = quoted
	}
	f := fault.New(fault.Usage, fault.NotARepository, "%s", why)
	for _, name := range []string{"GIT_DIR", "GIT_COMMON_DIR"} {
		if _, set := gitexec.Lookup(r.Runner.Env, name); set {
			return f.WithHints(fault.Fact("%s is set, as git sets it for a hook: unset it, or set it to the repository that is meant", name))
		}
	}
	if place := candidate(workDir(r)); place != "" {
		if foreign := foreignTo(place, filepath.Join(place, ".git")); foreign != "" {
			return f.WithHints(trustDirectory(place))
		}
		if strings.HasPrefix(why, "cannot use bare repository") {
			if err := refuseEmbedded(place, place); err != nil {
				return err
			}
			return f.WithHints(fault.Run("env", "GIT_DIR="+place, "githandoff", "doctor").Because("names the repository for one command, as safe.bareRepository requires"))
		}
		return f.WithHints(lostWorktree(place)...)
	}
	return f.WithHints(fault.Fact("githandoff runs inside a git repository, or in the one that -C names"))
}

// lostWorktree returns how to bring back a linked worktree whose git directory is gone. Another
// repository that git refuses is only named.
func lostWorktree(place string) []fault.Hint {
	git, err := GitDirOf(place)
	worktrees := filepath.Dir(git)
	switch {
	case err != nil || exists(git) || filepath.Base(worktrees) != "worktrees":
		return []fault.Hint{fault.Fact("this git cannot read the repository in %s: another version may, if its settings are in order", place)}
	case exists(filepath.Dir(worktrees)):
		return []fault.Hint{fault.Fact("git forgot this worktree: move its directory away, and git worktree add makes it again")}
	}
	return []fault.Hint{fault.Fact("if its repository was moved, run git worktree repair there, with the path of this worktree")}
}

// trustDirectory returns git's own cure for a repository of another user.
func trustDirectory(path string) fault.Hint {
	return fault.Run("git", "config", "--global", "--add", "safe.directory", path).
		Because("makes git trust this repository, which belongs to another user")
}

// notStarted returns the error of a git that could not be started, or that said nothing.
func notStarted(err error) error {
	hint := fault.Fact("git must be installed, and in PATH")
	if gitexec.Ran(err) {
		hint = fault.Fact("git was ended before it had answered: run the same command again")
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok && path.Op == "open" {
		hint = fault.Fact("no program can be started here without %s: the container must have it", path.Path)
	}
	for _, none := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, none) {
			hint = fault.Run("sh", "-c", "ulimit -a").Because("lists the limits of this user: too many processes or files are open, or there is no memory left")
		}
	}
	return fault.New(fault.Unavailable, fault.GitFailed, "%w", err).WithHints(hint)
}

// readHead reads HEAD of a plain repository from its file, which names the branch or the
// commit. If the file or the branch is not the usual one, readHead asks "git rev-parse". An
// unborn HEAD has no commit, and counts as no branch.
func readHead(ctx context.Context, r *Repo) error {
	if keepsRefsInTables(r) {
		if headInTables(r) {
			return nil
		}
		return askHead(ctx, r)
	}
	path := filepath.Join(r.GitDir, "HEAD")
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return askHead(ctx, r)
	}
	if name, err := ReadFile(path, "ref: "); err == nil && strings.HasPrefix(name, branches) {
		if tip, ok := r.tipInFiles(name); ok {
			if r.Head = tip; tip != "" {
				r.Branch = strings.TrimPrefix(name, branches)
			}
			return nil
		}
	} else if oid, err := ReadFile(path, ""); err == nil && isTip(r, oid) {
		r.Head = oid
		return nil
	}
	return askHead(ctx, r)
}

const branches = "refs/heads/"

// HasHead reports whether a worktree has a ref beside HEAD, by which git remembers what it is doing,
// such as CHERRY_PICK_HEAD. MERGE_HEAD and FETCH_HEAD are no refs: git keeps them in files alone.
func HasHead(ctx context.Context, r *Repo, name string) bool {
	if keepsRefsInFiles(r) {
		return exists(filepath.Join(r.GitDir, name))
	}
	if keepsRefsInTables(r) {
		if ref, ok := ownInTables(r, name); ok {
			return ref.oid != "" || ref.target != ""
		}
	}
	oid, err := r.RevParse(ctx, name)
	return err == nil && oid != ""
}

// askHead asks "git rev-parse" for HEAD.
func askHead(ctx context.Context, r *Repo) error {
	out, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"rev-parse", "HEAD", "--symbolic-full-name", "HEAD"}})
	if gitexec.Unexplained(err) { // a HEAD without a commit is named
		return notStarted(err)
	}
	if err == nil {
		takeHead(r, false, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"))
	}
	return ctx.Err()
}
