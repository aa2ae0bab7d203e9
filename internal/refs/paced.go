package refs

import (
	"io"
	"os"
	"time"
)

// paced reads a pipe filled by git 4 KiB at a time. A reader waiting for each piece is woken
// three thousand times for ten thousand commits, which costs about as much as parsing them. So
// the pipe is widened, and after a few short reads paced pauses, so the next one finds more.
type paced struct {
	in    io.Reader
	short int           // consecutive short reads
	pause time.Duration // pause before the next read
}

const (
	little   = 32 << 10             // a read of fewer bytes is short
	patience = 8                    // short reads before the first pause, so that a short answer is not delayed
	minPause = time.Millisecond     // git fills a widened pipe in 7 ms
	maxPause = 4 * time.Millisecond // on a busy machine git runs less often
)

// newPaced returns a reader of a pipe; the pipe itself if it cannot be widened.
func newPaced(in io.Reader) io.Reader {
	if widen(in) {
		return &paced{in: in}
	}
	return in
}

func (p *paced) Read(b []byte) (int, error) {
	if p.short > patience {
		p.pause = min(max(2*p.pause, minPause), maxPause)
		time.Sleep(p.pause)
	}
	n, err := p.in.Read(b)
	if p.short++; n >= min(little, len(b)) {
		p.short, p.pause = patience, 0
	}
	return n, err
}

// widen gives a pipe more room, and reports whether it has it.
func widen(pipe any) bool {
	f, ok := pipe.(*os.File)
	return ok && widenFile(f)
}
