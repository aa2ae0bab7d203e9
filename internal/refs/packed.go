package refs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"githandoff/internal/gitexec"
)

// packedPin is one version of the file packed-refs, held open.
//
// git caches packed-refs, and reads the file again only if its inode, size, or time in whole
// seconds differs. A file rewritten twice within one second, with as many refs, can have all
// three as before: the inode of the first version is free again by then. Such a git takes an
// old value of a ref for the present one, and a step taken by others in between is lost. So
// git's answers count only while the file is still the version pinned before git first looked
// at it. An open inode is not used again, so no other version can be taken for it.
type packedPin struct {
	path string
	file *os.File    // nil if there is no packed-refs
	info fs.FileInfo // metadata of file
}

func pinPacked(dir string) (*packedPin, error) {
	p := &packedPin{path: filepath.Join(dir, "packed-refs")}
	f, err := os.Open(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		p.file = f
		p.info, err = f.Stat()
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("read packed-refs: %w", err)
	}
	return p, nil
}

// holds reports whether packed-refs is still the pinned version.
func (p *packedPin) holds() bool {
	now, err := os.Stat(p.path)
	if p.file == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && os.SameFile(now, p.info) && now.Size() == p.info.Size() && now.ModTime().Equal(p.info.ModTime())
}

func (p *packedPin) release() { _ = p.file.Close() } // Close of a nil file only returns an error

// glances is how often the files of refs are read again before git is asked instead.
const glances = 8

// atOnce reads the loose refs, packed-refs, and the loose refs again, until none of them changed
// meanwhile. ok is false where a reader says so, or where the files keep changing.
//
// The order alone makes sure that no existing ref is missed: git removes the file of a ref only
// after packed-refs has its value, and takes an ended ref out of packed-refs before it removes the
// file. But a transaction ends one ref and begins another, as a delivery does with a handoff of the
// outbox. A single pass could show neither: the new one had no file yet, and the ended one is out
// of packed-refs. Then such a handoff would seem to be nowhere.
func atOnce[T any](r *Repo, equal func(a, b T) bool, loose func() (T, bool, error), packed func(path string) (bool, error)) (seen T, ok bool, err error) {
	for range glances {
		pin, err := pinPacked(r.CommonDir)
		if err != nil {
			return seen, false, err
		}
		var again T
		if seen, ok, err = loose(); ok && err == nil {
			ok, err = packed(pin.path)
		}
		if ok && err == nil {
			again, ok, err = loose()
		}
		rests := pin.holds()
		pin.release()
		if !ok || err != nil || rests && equal(seen, again) {
			return seen, ok, err
		}
	}
	return seen, false, nil
}

// process is a git process answering questions about refs. It is started when first needed.
type process struct {
	// launch starts git. The process outlives the question it is started for.
	launch func() (*gitexec.Process, error)

	repo   *Repo
	mu     sync.Mutex
	proc   *gitexec.Process // nil while the process does not run
	out    *bufio.Reader
	pinned *packedPin // packed-refs as it was before the process read its first ref; nil until then
}

func (p *process) start() error {
	if p.proc != nil {
		return nil
	}
	proc, err := p.launch()
	if err != nil {
		return err
	}
	p.proc, p.out = proc, bufio.NewReaderSize(proc.Out, 64<<10)
	return nil
}

// refresh leaves a process that has read an earlier packed-refs.
func (p *process) refresh() {
	if p.pinned != nil && !p.pinned.holds() {
		p.stop((*gitexec.Process).Leave)
	}
}

// pin opens the present packed-refs, unless one is pinned.
func (p *process) pin() (err error) {
	if p.pinned == nil {
		p.pinned, err = pinPacked(p.repo.CommonDir)
	}
	return err
}

// stop ends the process with end, and releases its packed-refs.
func (p *process) stop(end func(*gitexec.Process)) {
	if p.pinned != nil {
		p.pinned.release()
		p.pinned = nil
	}
	if p.proc != nil {
		end(p.proc)
		p.proc = nil
	}
}

func (p *process) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop((*gitexec.Process).Leave)
}

// packingTime is how long to wait for a lock of packed-refs before a transaction is prepared again.
// A packing git holds it for a few milliseconds.
const packingTime = 100 * time.Millisecond

// awaitPacking waits until nobody has packed-refs locked. A git deleting refs needs the lock
// itself: if it had to wait for it, it would find the file rewritten.
func awaitPacking(ctx context.Context, dir string) {
	lock := filepath.Join(dir, "packed-refs.lock")
	ctx, cancel := context.WithTimeout(ctx, packingTime)
	defer cancel()
	for ctx.Err() == nil {
		if _, err := os.Lstat(lock); err != nil {
			return
		}
		time.Sleep(200 * time.Microsecond)
	}
}

// manyLoose is the number of loose refs above which they are packed: each git command opens every
// one of them, and a lookup of a packed one costs next to nothing.
const manyLoose = 100

// PackMany has git pack all refs if there are many loose ones in a namespace, as
// "git gc" would. A fetch writes loose refs, and does not make git run gc sooner.
func PackMany(ctx context.Context, r *Repo, namespaces ...Namespace) error {
	n := 0
	for _, s := range namespaces {
		n += countBelow(filepath.Join(r.CommonDir, filepath.FromSlash(string(s))))
	}
	if n <= manyLoose || r.Config.Off("gc.packrefs") {
		return nil
	}
	_, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"pack-refs", "--all"}, Finish: true})
	return err
}

// countBelow counts files, and stops where they are many.
func countBelow(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir // the directory is gone, or never existed
		case !d.IsDir():
			n++
		}
		if n > manyLoose {
			return fs.SkipAll
		}
		return nil
	})
	return n
}
