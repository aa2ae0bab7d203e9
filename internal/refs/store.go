package refs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"githandoff/internal/gitexec"
	"githandoff/internal/record"
)

// EmptyTree is the tree of every lane entry.
const EmptyTree = record.EmptyTree

// NewObject gives body its object id.
func NewObject(kind string, body []byte) *Object {
	return &Object{OID: plumbing.ComputeHash(objectType(kind), body).String(), Type: kind, Body: body}
}

func objectType(kind string) plumbing.ObjectType {
	t, err := plumbing.ParseObjectType(kind)
	if err != nil {
		panic("refs: no such object type: " + kind)
	}
	return t
}

// Store is where the objects of a repository are written.
type Store struct {
	Runner    *gitexec.Runner
	CommonDir string
	Objects   string // the directory
	Config    Config

	read func(ctx context.Context, name string, limit int64) (*Object, error)
}

// Write stores objects loose, as git would: complete before they have their
// name, synced where core.fsync asks for it, with the mode of a shared
// repository, and fresh: one that is there already gets a new time, so that a
// running "git gc" does not prune it a moment later.
func (st *Store) Write(objects ...*Object) error {
	for _, o := range objects {
		if err := st.writeLoose(o); err != nil {
			return DiskFault(fmt.Errorf("write an object: %w", err))
		}
	}
	return nil
}

func (st *Store) loosePath(oid string) string {
	return filepath.Join(st.Objects, oid[:2], oid[2:])
}

// writeLoose tries again where a "git gc" beside it removed the directory or
// the temporary file between two steps.
func (st *Store) writeLoose(o *Object) error {
	path := st.loosePath(o.OID)
	now := time.Now()
	if os.Chtimes(path, now, now) == nil {
		return nil
	}
	var err error
	for range 5 {
		if err = st.writeOnce(o, path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

func (st *Store) writeOnce(o *Object, path string) (err error) {
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o777); err == nil {
		if info, err := os.Stat(dir); err == nil {
			_ = os.Chmod(dir, st.shared(info.Mode()))
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return err
	}
	var tag [6]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return err
	}
	tmp := filepath.Join(dir, "tmp_obj_"+hex.EncodeToString(tag[:]))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	err = encodeLoose(f, o)
	if err == nil {
		err = st.share(f)
	}
	if err == nil && st.fsyncLoose() {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	return err
}

// share gives a new file the mode of a shared repository.
func (st *Store) share(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if mode := st.shared(info.Mode()); mode != info.Mode() {
		return f.Chmod(mode)
	}
	return nil
}

// shared is the mode that core.sharedRepository makes of the one that the umask
// gave (git's path.c, calc_shared_perm and adjust_shared_perm).
func (st *Store) shared(mode fs.FileMode) fs.FileMode {
	add, replace := st.sharedBits()
	if add == 0 {
		return mode
	}
	if mode&0o200 == 0 {
		add &^= 0o222
	}
	if replace {
		mode &^= 0o777
	}
	mode |= add
	if mode.IsDir() {
		mode |= (mode & 0o444) >> 2 // who may read a directory must be able to enter it
		if mode&0o060 != 0 {
			mode |= fs.ModeSetgid
		}
	}
	return mode
}

// Readers are the bits by which others may read the files of a shared repository:
// 0 where it is not shared.
func (st *Store) Readers() fs.FileMode {
	const others = 0o044
	return st.shared(0o600) & others
}

// sharedBits reads core.sharedRepository as git's setup.c does (git_config_perm):
// bits to add, or, given as an octal number, to have instead.
func (st *Store) sharedBits() (bits fs.FileMode, replace bool) {
	const group, everybody = 0o660, 0o664
	switch v := strings.ToLower(st.Config.Get("core.sharedrepository")); v {
	case "", "umask", "false", "0", "no", "off":
		return 0, false
	case "group", "true", "1", "yes", "on":
		return group, false
	case "all", "world", "everybody", "2":
		return everybody, false
	default:
		n, err := strconv.ParseUint(v, 8, 12)
		if err != nil {
			return 0, false
		}
		return fs.FileMode(n) & 0o666, true
	}
}

// fsyncLoose reads core.fsync: git's default leaves loose objects to the filesystem. The
// last of several values counts, and in it the added components less the removed ones
// (git's config.c, parse_fsync_components).
func (st *Store) fsyncLoose() bool {
	if st.Config.Bool("core.fsyncobjectfiles") {
		return true
	}
	components := strings.FieldsFunc(st.Config.Get("core.fsync"), func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) })
	return slices.ContainsFunc(components, func(c string) bool {
		switch c {
		case "loose-object", "objects", "committed", "added", "all":
			return true
		}
		return false
	})
}

// missing returns those of objects that cannot be read any more.
func (st *Store) missing(ctx context.Context, objects []*Object) ([]*Object, error) {
	var lost []*Object
	for _, o := range objects {
		if _, err := os.Stat(st.loosePath(o.OID)); err == nil {
			continue
		}
		found, err := st.read(ctx, o.OID, int64(len(o.Body)))
		if err != nil {
			return nil, err
		}
		if found == nil {
			lost = append(lost, o)
		}
	}
	return lost, nil
}
