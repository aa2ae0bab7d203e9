package snapshot

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"githandoff/internal/durable"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/refs"
)

// scratch is a directory with an index and an object store of its own. git writes the objects that
// it hashes there, and the repository does not change.
type scratch struct {
	repo *refs.Repo
	dir  *durable.Dir
}

// ScratchName is the directory of this user's own, in a git directory, for the directories of snapshots.
const ScratchName = "snapshot"

func newScratch(repo *refs.Repo) (*scratch, error) {
	dir, err := durable.NewDir(repo.OwnWorktree(""), ScratchName)
	if err != nil {
		return nil, refs.DiskFault(err)
	}
	s := &scratch{repo: repo, dir: dir}
	info := filepath.Join(s.objects(), "info")
	if err = os.MkdirAll(info, 0o700); err == nil {
		err = os.WriteFile(filepath.Join(info, "alternates"), []byte(quoted(repo.Objects)+"\n"), 0o600)
	}
	if err != nil {
		s.close()
		return nil, refs.DiskFault(err)
	}
	return s, nil
}

func (s *scratch) close() { s.dir.Remove() }

func (s *scratch) objects() string { return filepath.Join(s.dir.Path, "objects") }
func (s *scratch) index() string   { return filepath.Join(s.dir.Path, "index") }

// git runs git in the top of the work tree, with the index and objects of s.
func (s *scratch) git(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	return inTop(s.repo).Run(ctx, gitexec.Cmd{
		// git would write a large blob as a pack, which this package cannot read.
		Args:  append([]string{"-c", "core.bigFileThreshold=512m", "-c", "core.safecrlf=false", "-c", "index.version=2"}, args...),
		Stdin: bytes.NewReader(stdin),
		Env:   []string{"GIT_INDEX_FILE=" + s.index(), "GIT_OBJECT_DIRECTORY=" + s.objects()},
	})
}

// writeIndex writes an index without any knowledge of the files, so git reads each of them.
func (s *scratch) writeIndex(files map[string]file) error {
	b, err := encodeIndex(s.repo.Format, files)
	if err != nil {
		return fmt.Errorf("write an index: %w", err)
	}
	return refs.DiskFault(os.WriteFile(s.index(), b, 0o600))
}

// encodeIndex renders an index of version 2 (gitformat-index). The times, the size and the other
// properties of each file are zero, so that git considers no file unchanged.
func encodeIndex(format gitobj.Format, files map[string]file) ([]byte, error) {
	const (
		properties = 6 * 4 // bytes of two times, a device and an inode
		owner      = 3 * 4 // bytes of a user, a group and a size
		maxLength  = 0xfff // largest length in the flags, also used for longer names
	)
	b := binary.BigEndian.AppendUint32([]byte("DIRC"), 2)
	b = binary.BigEndian.AppendUint32(b, uint32(len(files)))
	for _, path := range slices.Sorted(maps.Keys(files)) {
		f, start := files[path], len(b)
		mode, err := strconv.ParseUint(f.mode, 8, 32)
		if err != nil {
			return nil, fmt.Errorf("mode of %q: %w", path, err)
		}
		b = append(b, make([]byte, properties)...)
		b = binary.BigEndian.AppendUint32(b, uint32(mode))
		b = append(b, make([]byte, owner)...)
		if b, err = hex.AppendDecode(b, []byte(f.oid)); err != nil || len(f.oid) != format.Digits() {
			return nil, fmt.Errorf("%q of %q is not an object id", f.oid, path)
		}
		b = binary.BigEndian.AppendUint16(b, uint16(min(len(path), maxLength)))
		b = append(b, path...)
		b = append(b, make([]byte, 8-(len(b)-start)%8)...) // one NUL at least
	}
	return append(b, format.Sum(b)...), nil
}

// hash lets git read the files of the work tree into s, and returns their modes and
// object ids by path.
func (s *scratch) hash(ctx context.Context, known map[string]file, paths []string) (map[string]file, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if err := s.writeIndex(known); err != nil {
		return nil, err
	}
	list := []byte(strings.Join(paths, "\x00") + "\x00")
	if _, err := s.git(ctx, list, "update-index", "--add", "-z", "--stdin"); err != nil {
		return nil, gitFailed(err, "read the files of the work tree")
	}
	out, err := s.git(ctx, nil, listIndex...)
	if err != nil {
		return nil, gitFailed(err, "read the files of the work tree")
	}
	return parseIndex(string(out))
}

// listIndex are the arguments of git with the output for parseIndex.
var listIndex = []string{"ls-files", "--stage", "-z", "--full-name"}

// parseIndex reads the entries of an index, by path.
func parseIndex(out string) (map[string]file, error) {
	found := map[string]file{}
	for line := range strings.SplitSeq(out, "\x00") {
		if line == "" {
			continue
		}
		meta, path, _ := strings.Cut(line, "\t")
		f := strings.Fields(meta)
		if len(f) != 3 {
			return nil, fmt.Errorf("git ls-files says %q", line)
		}
		found[path] = file{f[0], f[1]}
	}
	return found, nil
}

// read returns an object of s, or of the repository.
func (s *scratch) read(ctx context.Context, oid string, limit int64) (*refs.Object, error) {
	o, err := refs.ReadLoose(s.objects(), oid, limit)
	if errors.Is(err, fs.ErrNotExist) {
		o, err = s.repo.Read(ctx, oid, limit)
	}
	if err == nil && o == nil {
		err = fmt.Errorf("object %s is not there", oid)
	}
	return o, err
}

// inTop runs git at the top of the work tree. If a variable of the user names the repository, it
// still holds there.
func inTop(repo *refs.Repo) *gitexec.Runner {
	r := within(repo.Runner, repo.Worktree)
	if len(r.Env) != len(repo.Runner.Env) {
		r.Env = append(r.Env, "GIT_DIR="+repo.GitDir, "GIT_WORK_TREE="+repo.Worktree)
	}
	return r
}

// within runs git in another directory. A variable that names the repository does not hold there.
func within(run *gitexec.Runner, dir string) *gitexec.Runner {
	r := &gitexec.Runner{Dir: dir, NoHooks: run.NoHooks}
	for _, kv := range run.Env {
		name, _, _ := strings.Cut(kv, "=")
		if name != "GIT_DIR" && name != "GIT_WORK_TREE" && name != "GIT_COMMON_DIR" {
			r.Env = append(r.Env, kv)
		}
	}
	return r
}

// quoted writes a path that would be misread as git does: between quotes, with escapes (quote.c).
func quoted(path string) string {
	isControl := func(r rune) bool { return r < 0x20 || r == 0x7f }
	if !strings.HasPrefix(path, `"`) && !strings.HasPrefix(path, "#") && strings.TrimSpace(path) == path && !strings.ContainsFunc(path, isControl) {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// unquoted returns the inverse of quoted.
func unquoted(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	path, err := strconv.Unquote(s)
	if err != nil || !utf8.ValidString(s) {
		return "", fmt.Errorf("%q is not a quoted path", s)
	}
	return path, nil
}
