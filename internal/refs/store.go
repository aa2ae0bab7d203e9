package refs

import (
	"cmp"
	"compress/zlib"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"githandoff/internal/gitobj"
)

// NewObject gives body its object id in repositories of a format.
func NewObject(format gitobj.Format, kind string, body []byte) *Object {
	return &Object{OID: format.Hash(kind, body), Type: kind, Body: body}
}

// Store is where the objects of a repository are written.
type Store struct{ repo *Repo }

// Write stores objects loose, as git would: complete before they have their name, synced where
// core.fsync asks for it, with the mode of a shared repository. An object already there gets a
// new time, so a running "git gc" does not prune it a moment later.
func (st *Store) Write(objects ...*Object) error {
	for _, o := range objects {
		path := st.loosePath(o.OID)
		if unix.Utimes(path, nil) == nil { // nil stands for the present time
			continue
		}
		err := st.writeOnce(o, path)
		// The directory may be missing, or a gc may have removed the temporary file.
		for try := 1; try < 5 && errors.Is(err, fs.ErrNotExist); try++ {
			if err = st.makeDir(filepath.Dir(path)); err == nil {
				err = st.writeOnce(o, path)
			}
		}
		if err != nil {
			return DiskFault(fmt.Errorf("write an object: %w", err))
		}
	}
	return nil
}

func (st *Store) loosePath(oid string) string {
	return filepath.Join(st.repo.Objects, oid[:2], oid[2:])
}

// makeDir makes a directory for loose objects, unless it is there.
func (st *Store) makeDir(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if info, serr := os.Stat(dir); serr == nil {
		_ = os.Chmod(dir, st.shared(info.Mode()))
	}
	return err
}

// writeOnce writes an object into its directory. Its error is fs.ErrNotExist if the directory is
// missing, or if the temporary file was removed.
func (st *Store) writeOnce(o *Object, path string) (err error) {
	var tag [6]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(path), "tmp_obj_"+hex.EncodeToString(tag[:]))
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
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && st.shared(info.Mode()) != info.Mode() {
			err = f.Chmod(st.shared(info.Mode()))
		}
	}
	if err == nil && st.fsyncLoose() {
		err = f.Sync()
	}
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	return err
}

// shared returns a mode changed as core.sharedRepository says (git's path.c, calc_shared_perm and
// adjust_shared_perm; setup.c, git_config_perm): a word adds bits, an octal number replaces them.
func (st *Store) shared(mode fs.FileMode) fs.FileMode {
	const group, everybody, all = 0o660, 0o664, 0o777
	var add, drop fs.FileMode
	switch v := strings.ToLower(st.repo.Config.Get("core.sharedrepository")); v {
	case "", "umask", "false", "0", "no", "off":
		return mode
	case "group", "true", "1", "yes", "on":
		add = group
	case "all", "world", "everybody", "2":
		add = everybody
	default:
		n, err := strconv.ParseUint(v, 8, 12)
		if err != nil {
			return mode
		}
		if add, drop = fs.FileMode(n)&0o666, all; add == 0 {
			return mode
		}
	}
	if mode&0o200 == 0 {
		add &^= 0o222
	}
	mode = mode&^drop | add
	if mode.IsDir() {
		mode |= (mode & 0o444) >> 2 // whoever may read a directory must be able to enter it
		if mode&0o060 != 0 {
			mode |= fs.ModeSetgid
		}
	}
	return mode
}

// SharedRead returns the mode bits that let others read the files of a shared repository:
// 0 where it is not shared.
func (st *Store) SharedRead() fs.FileMode {
	const others = 0o044
	return st.shared(0o600) & others
}

// fsyncLoose reads core.fsync: git's default leaves loose objects to the filesystem. The last of
// several values counts, and in it an added component wins over a removed one (git's config.c,
// parse_fsync_components).
func (st *Store) fsyncLoose() bool {
	if st.repo.Config.Bool("core.fsyncobjectfiles") {
		return true
	}
	components := strings.FieldsFunc(st.repo.Config.Get("core.fsync"), func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) })
	return slices.ContainsFunc(components, func(c string) bool {
		switch c {
		case "loose-object", "objects", "committed", "added", "all":
			return true
		}
		return false
	})
}

const (
	// block is the size up to which compression saves no disk: the file takes one
	// block of the filesystem either way.
	block = 4096

	// stored is the size of the largest object that is one stored block of zlib.
	stored = 1<<16 - 1
)

// encodeLoose writes the zlib stream of a loose object. A small one, and a tree, which is mostly
// ids and hardly shrinks, is stored uncompressed (RFC 1950, and RFC 1951 section 3.2.4): to make
// the tables of a compressor would take longer than the rest of the write.
func encodeLoose(w io.Writer, o *Object) error {
	head := fmt.Appendf(nil, "%s %d\x00", o.Type, len(o.Body))
	if n := len(head) + len(o.Body); n <= block || o.Type == "tree" && n <= stored {
		b := make([]byte, 0, n+16)
		b = append(b, 0x78, 0x01) // zlib header: deflate with a window of 32 KiB, fastest level
		b = append(b, 0x01)       // final block, stored without compression
		b = binary.LittleEndian.AppendUint16(b, uint16(n))
		b = binary.LittleEndian.AppendUint16(b, ^uint16(n))
		content := len(b)
		b = append(append(b, head...), o.Body...)
		b = binary.BigEndian.AppendUint32(b, adler32.Checksum(b[content:]))
		_, err := w.Write(b)
		return err
	}
	z, err := zlib.NewWriterLevel(w, zlib.BestSpeed) // the level that git uses for loose objects
	if err != nil {
		return err
	}
	if _, err := z.Write(head); err != nil {
		return err
	}
	if _, err := z.Write(o.Body); err != nil {
		return err
	}
	return z.Close()
}
