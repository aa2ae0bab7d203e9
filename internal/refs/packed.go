package refs

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"githandoff/internal/gitexec"
)

// packedStamp is one version of the file packed-refs; zero where there is none.
type packedStamp struct {
	inode uint64
	size  int64
	nanos int64
}

// packedStamp tells versions of packed-refs apart better than a git that stays
// running does. git compares inode, size and whole seconds: a file that was
// packed twice within one second, with as many refs, can have all three as
// before, and such a git goes on answering from the version that it has read.
// So a process is only asked again while the file is the one of its first answer.
func (r *Repo) packedStamp() packedStamp {
	info, err := os.Stat(filepath.Join(r.CommonDir, "packed-refs"))
	if err != nil {
		return packedStamp{}
	}
	stamp := packedStamp{size: info.Size(), nanos: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		stamp.inode = sys.Ino
	}
	return stamp
}

// manyLoose is how many files of refs are many: each git command opens every one
// of them, and a lookup of a packed one costs next to nothing.
const manyLoose = 1000

// PackMany has git pack all refs where there are many loose ones in a space, as
// "git gc" would. What a fetch brings is loose, and gc comes by no sooner for it.
func (r *Repo) PackMany(ctx context.Context, s Space) error {
	n := 0
	_ = filepath.WalkDir(filepath.Join(r.CommonDir, filepath.FromSlash(string(s))), func(_ string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir // it went meanwhile, or there is none
		case !d.IsDir():
			n++
		}
		if n > manyLoose {
			return fs.SkipAll
		}
		return nil
	})
	if n <= manyLoose || r.Config.Off("gc.packrefs") {
		return nil
	}
	_, err := r.Runner.Run(ctx, gitexec.Cmd{Args: []string{"pack-refs", "--all"}, Finish: true})
	return err
}
