package snapshot_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/refs"
	"githandoff/internal/snapshot"
)

// open opens a repository as a command does.
func open(t require.TestingT, dir string, env []string) *refs.Repo {
	repo, err := refs.Open(ctx(), &gitexec.Runner{Dir: dir, Env: gitexec.Environ(env)})
	require.NoError(t, err)
	return repo
}

func request() snapshot.Request {
	return snapshot.Request{
		Actor: "investigator", Mail: "investigator@githandoff.invalid", Now: time.Unix(1_790_000_000, 0),
		Limit: snapshot.DefaultLimit,
	}
}

// capture takes a snapshot and writes it, under a ref that keeps it.
func capture(t require.TestingT, git *gittest.Repo) (*snapshot.Snapshot, *snapshot.Contents, *refs.Repo) {
	repo := open(t, git.Dir, git.Env)
	s, err := snapshot.Capture(ctx(), repo, request())
	require.NoError(t, err)
	require.NoError(t, repo.Apply(ctx(), refs.Transaction{
		Edits: []refs.Edit{{Ref: "refs/handoffs/work/fixer/x", New: s.Work.Commit}}, Objects: s.Objects,
	}))
	c, err := snapshot.Open(ctx(), repo, s.Work.Commit)
	require.NoError(t, err)
	return s, c, repo
}

// fingerprint describes a directory completely: names, modes, times, content.
func fingerprint(t require.TestingT, dir string, skip ...string) string {
	var b strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, s := range skip {
			if path == filepath.Join(dir, s) {
				return filepath.SkipDir
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%q %v", strings.TrimPrefix(path, dir), info.Mode())
		if !d.IsDir() { // some file systems count the entries of a directory
			fmt.Fprintf(&b, " %d", info.Size())
		}
		// git updates the time of an object that exists, so that no gc removes it.
		if !d.IsDir() && !strings.Contains(path, "/.git/objects/") {
			fmt.Fprintf(&b, " %d", info.ModTime().UnixNano())
		}
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(content)
			b.WriteString(" " + hex.EncodeToString(sum[:8]))
		}
		b.WriteString("\n")
		return nil
	}))
	return b.String()
}

// state returns the part of a work tree that a receiver must have as the sender had it: status,
// index, and the files that git does not ignore.
func state(t require.TestingT, git *gittest.Repo) string {
	var b strings.Builder
	for _, args := range [][]string{
		{"status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"},
		{"ls-files", "--stage", "-z"},
		{"rev-parse", "HEAD"},
	} {
		out, stderr, code := git.TryGit(args...)
		require.Zero(t, code, stderr)
		b.WriteString(strings.ReplaceAll(out, "\x00", "\n") + "\n")
	}
	out, stderr, code := git.TryGit("ls-files", "-z", "--cached", "--others", "--exclude-standard")
	require.Zero(t, code, stderr)
	seen := map[string]bool{}
	for path := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if seen[path] {
			continue
		}
		seen[path] = true
		full := filepath.Join(git.Dir, path)
		info, err := os.Lstat(full)
		switch {
		case err != nil, info.IsDir() && path != "sub" && isEmpty(full): // git keeps an empty directory only for a submodule
			fmt.Fprintf(&b, "%q gone\n", path)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(full)
			require.NoError(t, err)
			fmt.Fprintf(&b, "%q -> %q\n", path, to)
		case info.IsDir():
			fmt.Fprintf(&b, "%q a directory\n", path)
		default:
			content, err := os.ReadFile(full)
			require.NoError(t, err)
			fmt.Fprintf(&b, "%q %v %x\n", path, info.Mode()&0o100, sha256.Sum256(content))
		}
	}
	return b.String()
}

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) == 0
}

func write(t require.TestingT, dir, path, content string) {
	full := filepath.Join(dir, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
	require.NoError(t, os.WriteFile(full, []byte(content), 0o644))
}

// odd returns a repository with difficult names, modes, links and line ends, a submodule, and
// ignored files.
func odd(t testing.TB, env []string) *gittest.Repo {
	git := gittest.NewRepo(t, env)
	git.Git(t, "config", "core.autocrlf", "false")
	sub := gittest.NewRepo(t, env)
	sub.Commit(t, "s", "sub\n", "sub")
	write(t, git.Dir, ".gitattributes", "*.crlf text eol=crlf\n*.auto text=auto\n*.up filter=up\n")
	write(t, git.Dir, ".gitignore", "*.log\n/ignored/\n")
	git.Git(t, "config", "filter.up.clean", "tr A-Z a-z")
	git.Git(t, "config", "filter.up.smudge", "tr a-z A-Z")
	for i, name := range oddNames {
		write(t, git.Dir, name, fmt.Sprintf("content %d\nsecond line\n", i))
	}
	require.NoError(t, os.Chmod(filepath.Join(git.Dir, "run.sh"), 0o755))
	require.NoError(t, os.Symlink("dir/one", filepath.Join(git.Dir, "link")))
	write(t, git.Dir, "win.crlf", "a\r\nb\r\n")
	write(t, git.Dir, "mixed.auto", "a\nb\n")
	write(t, git.Dir, "loud.up", "LOUD\n")
	git.Git(t, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--", sub.Dir, "sub")
	git.Git(t, "add", "--all")
	git.Git(t, "commit", "--quiet", "-m", "base: everything")
	write(t, git.Dir, "noise.log", "ignored\n")
	write(t, git.Dir, "ignored/x", "ignored\n")
	return git
}

var oddNames = []string{
	"a", "run.sh", "dir/one", "dir/two", "dir/deep/er/three", "with space", "ümlaut", "quo\"te", "new\nline", "tab\there",
	"-dash", ":colon", "*star", "[set]", "back\\slash", "trailing ", "\"quoted\"", "#hash", "café/naïve", "dir-sibling", "dir.x",
}

// bytesOf returns the bytes of an object id.
func bytesOf(t testing.TB, oid string) string {
	b, err := hex.DecodeString(oid)
	require.NoError(t, err)
	return string(b)
}
