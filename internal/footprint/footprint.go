// Package footprint tells whether files have changed since they were looked at last,
// without reading them.
//
// A file is known by its inode, its size, and the times of its content and of its inode in
// nanoseconds; a directory by the same, which change when a name in it comes, goes or is
// replaced. The kernel's clock ticks every few milliseconds and some file systems count whole
// seconds: two changes within one tick can leave the same times. So a print rules out a change
// only if every time in it was [Settling] old when it was taken; git decides in the same way
// whether its index is good.
package footprint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Settling is the least age of a last change to rule out a later one with the same time: more
// than any file system's grain, and than the time for which a hook works.
const Settling = 3 * time.Second

// Print is the state of some files at one moment.
type Print struct {
	Sum    string    // hash of the state
	Newest time.Time // time of the newest change; zero if no file exists
}

// Of looks at files and directories. A missing one is part of the state.
func Of(paths ...string) Print {
	var p Print
	sum := sha256.New()
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			fmt.Fprintf(sum, "%q absent\n", path)
			continue
		}
		p.add(info)
		fmt.Fprintf(sum, "%q %s\n", path, state(info))
	}
	p.Sum = hex.EncodeToString(sum.Sum(nil))
	return p
}

func (p *Print) add(info fs.FileInfo) {
	changed, _ := inode(info)
	for _, t := range []time.Time{info.ModTime(), changed} {
		if t.After(p.Newest) {
			p.Newest = t
		}
	}
}

func state(info fs.FileInfo) string {
	changed, number := inode(info)
	return fmt.Sprint(info.Mode(), " ", number, " ", info.Size(), " ", info.ModTime().UnixNano(), " ", changed.UnixNano())
}

// Settled reports whether a print taken at some time, by the clock of its file system, had
// settled by then: any later change gives another print.
func (p Print) Settled(at time.Time) bool { return p.Newest.IsZero() || at.Sub(p.Newest) >= Settling }
