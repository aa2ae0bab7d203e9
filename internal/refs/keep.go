package refs

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"githandoff/internal/durable"
	"githandoff/internal/gitexec"
	"githandoff/internal/gitobj"
	"githandoff/internal/private"
)

// A "git gc --prune=now" removes every unreachable object. It may have decided which those are
// before a transaction moves its refs, and unlink them afterwards. So while gc.pid exists, the
// objects of a transaction are also written as a pack to be kept by gc. They are written before
// the refs move, because this process may be killed right after the move.

// protect keeps objects from a running gc, unless it did so before: known is the start of the
// last gc it has seen. It returns the start of the present one.
func (st *Store) protect(ctx context.Context, known time.Time, objects []*Object) (time.Time, error) {
	gc := st.collecting()
	if gc.IsZero() || gc.Equal(known) || len(objects) == 0 {
		return gc, nil
	}
	st.dropKept(gc)
	return gc, st.WriteKept(ctx, objects)
}

// secure makes sure that the objects of an applied transaction are there, and stay: a gc may
// have begun, or ended, since protect.
func (st *Store) secure(ctx context.Context, known time.Time, objects []*Object) error {
	if len(objects) == 0 {
		return nil
	}
	if gc, err := st.protect(ctx, known, objects); err != nil || !gc.IsZero() {
		return err
	}
	st.dropKept(time.Time{})
	return st.Write(objects...)
}

// GCWatch knows whether a "git gc" was at work in a repository since the watch began.
type GCWatch struct {
	Ran bool // whether a gc was running when the watch began

	st   *Store
	info time.Time
}

// WatchGC begins a watch.
func (st *Store) WatchGC() GCWatch {
	return GCWatch{!st.collecting().IsZero(), st, st.infoChanged()}
}

// Seen reports whether a gc has run since the watch began, or does now.
func (w GCWatch) Seen() bool {
	return w.Ran || !w.st.collecting().IsZero() || !w.st.infoChanged().Equal(w.info)
}

// infoChanged returns when the directory objects/info changed last. Each gc writes the list of packs or
// the commit-graph there; a fetch by githandoff writes nothing there. A gc that is over within the
// resolution of the file system's times goes unnoticed.
func (st *Store) infoChanged() time.Time {
	info, err := os.Stat(filepath.Join(st.repo.Objects, "info"))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// collecting returns when the running "git gc" began; zero where none runs.
func (st *Store) collecting() time.Time {
	path := filepath.Join(st.repo.CommonDir, "gc.pid")
	info, err := os.Stat(path)
	if err != nil || leftBehind(path, time.Since(info.ModTime())) {
		return time.Time{}
	}
	return info.ModTime()
}

const (
	// oldestGC is the age from which git itself ignores a gc.pid.
	oldestGC = 12 * time.Hour

	// orphaned is how long the children of a killed gc may go on.
	orphaned = time.Hour
)

// leftBehind reports whether a gc.pid of some age is that of a gc which was killed. Otherwise each
// step would write a pack to be kept from it, without end.
func leftBehind(path string, age time.Duration) bool {
	if age < orphaned || age > oldestGC {
		return age > oldestGC
	}
	b, err := ReadFile(path, "")
	if err != nil {
		return false
	}
	var pid int
	var host string
	here, err := os.Hostname()
	n, _ := fmt.Sscan(b, &pid, &host) // a gc.pid in another form counts as that of a running gc
	return err == nil && n == 2 && host == here && pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// Lacks reports whether one of some objects that were written has no file of its own any more.
func (st *Store) Lacks(objects ...*Object) bool {
	return slices.ContainsFunc(objects, func(o *Object) bool { return !exists(st.loosePath(o.OID)) })
}

// WriteKept stores objects in a pack that no gc removes. A step that comes later than a minute hands
// the pack back to gc. WriteKept tries again when it fails: the gc at work removes temporary packs
// as well.
func (st *Store) WriteKept(ctx context.Context, objects []*Object) error {
	pack, err := encodePack(st.repo.Format, objects)
	if err != nil {
		return err
	}
	var name string
	for try := range attempts {
		if name, err = st.indexPack(ctx, pack); err == nil {
			break
		}
		if perr := Pause(context.WithoutCancel(ctx), min(try, 2)); perr != nil {
			return perr
		}
	}
	if err != nil {
		return fmt.Errorf("keep objects from a running gc: %w", err)
	}
	if err := private.MakeDir(st.repo.Own("kept")); err != nil {
		return err
	}
	return os.WriteFile(st.repo.Own(filepath.Join("kept", name)), nil, 0o600)
}

const (
	// manyPackFiles is the number of files above which a directory of packs is large. One system
	// call lists 32 KiB of entries, of 80 bytes each.
	manyPackFiles = 300

	// tidying is the longest time in which a gc lists the packs and removes leftovers.
	tidying = 500 * time.Millisecond
)

// indexPack stores a pack that gc keeps, and returns its name.
//
// At its end a gc lists the directory of packs, and removes the index and the ".keep" of a pack
// whose own file is not in the list. Listing a large directory takes several system calls. A pack
// that comes in between may be missing although its index is listed. So in a large directory
// indexPack waits for the end of such a list, and looks again.
func (st *Store) indexPack(ctx context.Context, pack []byte) (name string, err error) {
	out, err := st.repo.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"index-pack", "--stdin", "--keep=githandoff"}, Stdin: bytes.NewReader(pack), Finish: true,
	})
	if err != nil {
		return "", err
	}
	_, name, _ = strings.Cut(strings.TrimSpace(string(out)), "\t")
	if !gitobj.IsID(name) {
		return "", fmt.Errorf("git index-pack says %q", out)
	}
	dir := filepath.Join(st.repo.Objects, "pack")
	if files, err := os.ReadDir(dir); err != nil || len(files) <= manyPackFiles {
		return name, err
	}
	time.Sleep(tidying)
	for _, kind := range []string{".pack", ".idx", ".keep"} {
		if _, err := os.Stat(filepath.Join(dir, "pack-"+name+kind)); err != nil {
			return "", err
		}
	}
	return name, nil
}

// unmoved is how old a kept pack must be before gc gets it: until then the refs of its
// transaction may not have moved yet.
const unmoved = time.Minute

// dropKept hands kept packs back to gc: all old ones while none is running (a zero time),
// otherwise those already old when the running gc began. Their refs had moved by then, so gc
// finds their objects reachable.
func (st *Store) dropKept(gcStarted time.Time) {
	names, err := os.ReadDir(st.repo.Own("kept"))
	if err != nil {
		return
	}
	for _, n := range names {
		info, err := n.Info()
		if err != nil || time.Since(info.ModTime()) < unmoved || !gcStarted.IsZero() && gcStarted.Sub(info.ModTime()) < unmoved {
			continue
		}
		if durable.Remove(filepath.Join(st.repo.Objects, "pack", "pack-"+n.Name()+".keep")) == nil {
			_ = os.Remove(st.repo.Own(filepath.Join("kept", n.Name())))
		}
	}
}

// encodePack writes a version 2 pack of whole objects (gitformat-pack).
func encodePack(format gitobj.Format, objects []*Object) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("PACK")
	_ = binary.Write(&b, binary.BigEndian, [2]uint32{2, uint32(len(objects))})
	for _, o := range objects {
		size := len(o.Body)
		kind, err := plumbing.ParseObjectType(o.Type)
		if err != nil {
			return nil, fmt.Errorf("object %s: %w", o.OID, err)
		}
		head := byte(kind)<<4 | byte(size&0x0f)
		for size >>= 4; size > 0; size >>= 7 {
			b.WriteByte(head | 0x80)
			head = byte(size & 0x7f)
		}
		b.WriteByte(head)
		z := zlib.NewWriter(&b)
		if _, err := z.Write(o.Body); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
	}
	return append(b.Bytes(), format.Sum(b.Bytes())...), nil // the checksum ends the pack
}
