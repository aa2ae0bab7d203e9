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
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
)

// EmptyTree is the tree of every lane entry.
const EmptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

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

// Write stores objects loose, as git would: complete before they have their
// name, synced where core.fsync asks for it, with the mode of a shared
// repository, and fresh: one that is there already gets a new time, so that a
// running "git gc" does not prune it a moment later.
func (r *Repo) Write(objects ...*Object) error {
	for _, o := range objects {
		if err := r.writeLoose(o); err != nil {
			return writeFault(err)
		}
	}
	return nil
}

func (r *Repo) loosePath(oid string) string {
	return filepath.Join(r.Objects, oid[:2], oid[2:])
}

// writeLoose tries again where a "git gc" beside it removed the directory or
// the temporary file between two steps.
func (r *Repo) writeLoose(o *Object) error {
	path := r.loosePath(o.OID)
	now := time.Now()
	if os.Chtimes(path, now, now) == nil {
		return nil
	}
	var err error
	for range 5 {
		if err = r.writeOnce(o, path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

func (r *Repo) writeOnce(o *Object, path string) (err error) {
	dirMode, fileMode := r.objectModes()
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o777); err == nil {
		if dirMode != 0 {
			_ = os.Chmod(dir, dirMode)
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
	w := objfile.NewWriter(f)
	err = w.WriteHeader(objectType(o.Type), int64(len(o.Body)))
	if err == nil {
		_, err = w.Write(o.Body)
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err == nil && fileMode != 0 {
		err = f.Chmod(fileMode)
	}
	if err == nil && r.fsyncLoose() {
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

// objectModes follows core.sharedRepository; zero means that the umask decides.
func (r *Repo) objectModes() (dir, file os.FileMode) {
	switch v := strings.ToLower(r.Config.Get("core.sharedrepository")); v {
	case "", "umask", "false", "0", "no", "off":
		return 0, 0
	case "group", "true", "1", "yes", "on":
		return os.ModeSetgid | 0o775, 0o444
	case "all", "world", "everybody", "2":
		return os.ModeSetgid | 0o777, 0o444
	default:
		var mode os.FileMode
		if _, err := fmt.Sscanf(v, "%o", &mode); err != nil {
			return 0, 0
		}
		// Whoever may read a directory must be able to enter it.
		return os.ModeSetgid | mode | (mode&0o444)>>2, mode &^ 0o222
	}
}

// fsyncLoose reads core.fsync: git's default leaves loose objects to the
// filesystem.
func (r *Repo) fsyncLoose() bool {
	on := r.Config.Bool("core.fsyncobjectfiles")
	for _, c := range r.Config.All("core.fsync") {
		switch c {
		case "loose-object", "objects", "committed", "added", "all":
			on = true
		case "none", "-loose-object", "-objects", "-committed", "-added", "-all":
			on = false
		}
	}
	return on
}

// missing returns those of objects that cannot be read any more.
func (r *Repo) missing(ctx context.Context, objects []*Object) ([]*Object, error) {
	var lost []*Object
	for _, o := range objects {
		if _, err := os.Stat(r.loosePath(o.OID)); err == nil {
			continue
		}
		found, err := r.Read(ctx, o.OID, int64(len(o.Body)))
		if err != nil {
			return nil, err
		}
		if found == nil {
			lost = append(lost, o)
		}
	}
	return lost, nil
}
