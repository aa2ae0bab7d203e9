package refs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"githandoff/internal/gitexec"
)

// updater keeps one "git update-ref --stdin": a command that makes two local
// transactions starts one process for them. A transaction that fails ends the
// process; the next one starts another.
type updater struct {
	repo *Repo
	mu   sync.Mutex
	proc *gitexec.Process
	out  *bufio.Reader

	packed *packedPin // from before the process's first transaction
}

// warm is like reader.warm.
func (u *updater) warm(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	_ = u.start(ctx)
}

func (u *updater) start(ctx context.Context) error {
	if u.proc != nil {
		return nil
	}
	p, err := u.repo.Runner.Start(ctx, gitexec.Cmd{
		Args:   []string{"update-ref", "--stdin"},
		Env:    []string{"GIT_COMMITTER_NAME=githandoff", "GIT_COMMITTER_EMAIL=githandoff@localhost"},
		Finish: true,
	})
	if err != nil {
		return err
	}
	u.proc, u.out = p, bufio.NewReader(p.Out)
	return nil
}

// errRepacked says that packed-refs was rewritten while git prepared a transaction,
// which was called off.
var errRepacked = errors.New("packed-refs was rewritten meanwhile")

// repacked bounds how often a transaction is prepared anew at once.
const repacked = 20

func (u *updater) apply(ctx context.Context, edits []Edit) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for try := 1; ; try++ {
		err := u.begin(ctx)
		if err == nil {
			err = u.commit(edits)
		}
		if !errors.Is(err, errRepacked) || try == repacked {
			return err
		}
		awaitPacking(ctx, u.repo.CommonDir)
	}
}

// begin opens a transaction, in a process that has read no other packed-refs than
// the one that is there. That one is pinned when git is up and waits: the sooner git
// locks the refs after that, the less can happen to the file in between.
func (u *updater) begin(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if u.packed != nil && !u.packed.holds() {
		u.leave()
	}
	if err := u.start(ctx); err != nil {
		return err
	}
	if err := u.say("start\n", "start"); err != nil {
		return u.broken(err)
	}
	if u.packed == nil {
		if u.packed, err = pinPacked(u.repo.CommonDir); err != nil {
			u.leave()
		}
	}
	return err
}

// commit has git lock the refs of edits and compare their old values. The comparison is
// valid only if packed-refs is still the version that was pinned.
func (u *updater) commit(edits []Edit) error {
	err := u.say(lines(edits)+"prepare\n", "prepare")
	if err == nil && !u.packed.holds() {
		err = errRepacked
	}
	if err == nil {
		err = u.say("commit\n", "commit")
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errRepacked):
		_ = u.say("abort\n", "abort") // a git that is gone has let go of its locks as well
		u.leave()
		return err
	}
	return u.broken(err)
}

// broken is why git ended, in its own words if it left any.
func (u *updater) broken(err error) error {
	proc := u.proc
	u.proc = nil
	u.unpin()
	if cerr := proc.Close(); cerr != nil {
		return cerr
	}
	return err
}

// say gives git commands and reads that each step went well.
func (u *updater) say(commands string, steps ...string) error {
	if _, err := io.WriteString(u.proc.In, commands); err != nil {
		return err
	}
	for _, step := range steps {
		answer, err := u.out.ReadString('\n')
		if err != nil {
			return err
		}
		if strings.TrimSpace(answer) != step+": ok" {
			return fmt.Errorf("git update-ref says %q", strings.TrimSpace(answer))
		}
	}
	return nil
}

func (u *updater) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leave()
}

func (u *updater) leave() {
	u.unpin()
	if u.proc != nil {
		u.proc.Leave()
		u.proc = nil
	}
}

func (u *updater) unpin() {
	u.packed.release()
	u.packed = nil
}
