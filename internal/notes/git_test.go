package notes

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
)

// repo is a repository that git reads and writes: a Reader over one "git cat-file --batch" and a Writer over
// "git hash-object -w". It counts its calls.
type repo struct {
	t       testing.TB
	dir     string
	env     []string
	cat     *pipe
	writers map[string]*pipe // by kind
	reads   int
	puts    int
}

// pipe is a git process that answers each line of input.
type pipe struct {
	in  io.Writer
	out *bufio.Reader
}

func newRepo(t testing.TB) *repo {
	t.Helper()
	gittest.Need(t, "git")
	r := &repo{t: t, dir: t.TempDir(), writers: make(map[string]*pipe)}
	r.env = append(os.Environ(), "HOME="+r.dir, "XDG_CONFIG_HOME="+r.dir, "GIT_CONFIG_NOSYSTEM=1", gittest.DefaultObjects(), "LC_ALL=C",
		"GIT_AUTHOR_NAME=Alice", "GIT_AUTHOR_EMAIL=alice@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=Alice", "GIT_COMMITTER_EMAIL=alice@example.com", "GIT_COMMITTER_DATE=1700000000 +0000")
	r.git("", "init", "--quiet", "--initial-branch=main")
	r.git("", "config", "gc.auto", "0")
	return r
}

func (r *repo) command(args ...string) *exec.Cmd {
	c := exec.Command("git", args...)
	c.Dir, c.Env = r.dir, r.env
	return c
}

// try runs git and returns what it printed on both streams.
func (r *repo) try(stdin string, args ...string) (string, error) {
	c := r.command(args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}

func (r *repo) git(stdin string, args ...string) string {
	r.t.Helper()
	out, err := r.try(stdin, args...)
	require.NoError(r.t, err, "git %v: %s", args, out)
	return out
}

func (r *repo) start(args ...string) *pipe {
	r.t.Helper()
	c := r.command(args...)
	in, err := c.StdinPipe()
	require.NoError(r.t, err)
	out, err := c.StdoutPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, c.Start())
	r.t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	return &pipe{in: in, out: bufio.NewReader(out)}
}

func (r *repo) Object(_ context.Context, name string) (kind string, body []byte, err error) {
	r.reads++
	if r.cat == nil {
		r.cat = r.start("cat-file", "--batch")
	}
	if _, err := fmt.Fprintln(r.cat.in, name); err != nil {
		return "", nil, err
	}
	head, err := r.cat.out.ReadString('\n')
	if err != nil || strings.HasSuffix(head, " missing\n") {
		return "", nil, err
	}
	f := strings.Fields(head)
	size, err := strconv.Atoi(f[2])
	if err != nil {
		return "", nil, err
	}
	body = make([]byte, size+1)
	_, err = io.ReadFull(r.cat.out, body)
	return f[1], body[:size], err
}

func (r *repo) Put(kind string, body []byte) (string, error) {
	r.puts++
	if r.writers[kind] == nil {
		r.writers[kind] = r.start("hash-object", "-w", "-t", kind, "--no-filters", "--stdin-paths")
	}
	w := r.writers[kind]
	path := filepath.Join(r.dir, ".git", "put")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(w.in, path); err != nil {
		return "", err
	}
	oid, err := w.out.ReadString('\n')
	return strings.TrimSuffix(oid, "\n"), err
}

func (r *repo) put(kind string, body []byte) string {
	r.t.Helper()
	oid, err := r.Put(kind, body)
	require.NoError(r.t, err)
	return oid
}

// commit makes a commit of a tree, and returns "" for "".
func (r *repo) commit(tree string) string {
	r.t.Helper()
	if tree == "" {
		return ""
	}
	raw, err := Commit(tree, nil, "Alice <alice@example.com>", time.Unix(1700000000, 0), "notes")
	require.NoError(r.t, err)
	return r.put("commit", raw)
}

// point makes "git notes --ref handoffs" use a tree.
func (r *repo) point(tree string) { r.git("", "update-ref", "refs/notes/handoffs", r.commit(tree)) }

func (r *repo) show(target string) string {
	return r.git("", "notes", "--ref", "handoffs", "show", target)
}

// paths returns the files of a tree, from path to object id.
func (r *repo) paths(tree string) map[string]string {
	files := make(map[string]string)
	for line := range strings.Lines(r.git("", "ls-tree", "-r", tree)) {
		head, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		files[name] = strings.Fields(head)[2]
	}
	return files
}

// list returns a notes tree as git lists it, from target to blob.
func (r *repo) list() map[string]string {
	list := make(map[string]string)
	for line := range strings.Lines(r.git("", "notes", "--ref", "handoffs", "list")) {
		f := strings.Fields(line)
		list[f[1]] = f[0]
	}
	return list
}

// files writes a tree with exactly these paths and contents into a pack.
func (r *repo) files(files map[string]string) string {
	r.t.Helper()
	var s bytes.Buffer
	fmt.Fprintf(&s, "commit refs/heads/files\ncommitter A <a@example.com> 1700000000 +0000\ndata 0\n\ndeleteall\n")
	for path, content := range files {
		fmt.Fprintf(&s, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	r.git(s.String(), "fast-import", "--quiet", "--force")
	return strings.TrimSpace(r.git("", "rev-parse", "refs/heads/files^{tree}"))
}

// copied makes git itself give each target the same note, in one process.
func (r *repo) copied(line string, targets []string) string {
	r.t.Helper()
	_, _ = r.try("", "update-ref", "-d", "refs/notes/handoffs")
	r.git("", "notes", "--ref", "handoffs", "add", "-m", line, targets[0])
	var pairs strings.Builder
	for _, target := range targets[1:] {
		fmt.Fprintln(&pairs, targets[0], target)
	}
	r.git(pairs.String(), "notes", "--ref", "handoffs", "copy", "--stdin")
	return strings.TrimSpace(r.git("", "rev-parse", "refs/notes/handoffs^{tree}"))
}

// fsck requires that git finds no problem in the repository.
func (r *repo) fsck() {
	r.t.Helper()
	out := r.git("", "fsck", "--strict", "--no-dangling", "--no-progress")
	var complaints []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "notice: ") {
			complaints = append(complaints, line)
		}
	}
	require.Empty(r.t, complaints)
}

// targets returns n ids of commits that do not exist.
func targets(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = gittest.Objects().Hash("blob", []byte(strconv.Itoa(i)))
	}
	return list
}

// event returns the i-th of many valid lines, in byte order.
func event(i int) string {
	at := time.Date(2026, 11, 20, 22, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second)
	id := handoff.DeriveID(at, strconv.Itoa(i))
	return Line(at, "offered", id, "investigator", "fixer@client", "sha256:"+strings.Repeat("5f", 32))
}

// spread splits a target's name into directories.
func spread(target string, fanout int) string {
	var b strings.Builder
	for i := range fanout {
		b.WriteString(target[2*i:2*i+2] + "/")
	}
	return b.String() + target[2*fanout:]
}

func encodeTree(t testing.TB, entries ...gitobj.TreeEntry) []byte {
	t.Helper()
	body, err := gitobj.EncodeTree(entries)
	require.NoError(t, err)
	return body
}
