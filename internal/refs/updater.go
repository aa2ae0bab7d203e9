package refs

import (
	"bufio"
	"context"
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

	packed *packedStamp // as of the process's first transaction
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
	u.proc, u.out, u.packed = p, bufio.NewReader(p.Out), nil
	return nil
}

func (u *updater) apply(ctx context.Context, edits []Edit) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	packed := u.repo.packedStamp()
	if u.packed != nil && *u.packed != packed {
		u.leave()
	}
	if err := u.start(ctx); err != nil {
		return err
	}
	if u.packed == nil {
		u.packed = &packed
	}
	_, err := io.WriteString(u.proc.In, "start\n"+lines(edits)+"prepare\ncommit\n")
	for _, step := range []string{"start", "prepare", "commit"} {
		if err != nil {
			break
		}
		var answer string
		answer, err = u.out.ReadString('\n')
		if err == nil && strings.TrimSpace(answer) != step+": ok" {
			err = fmt.Errorf("git update-ref says %q", strings.TrimSpace(answer))
		}
	}
	if err != nil {
		proc := u.proc
		u.proc = nil
		if cerr := proc.Close(); cerr != nil {
			return cerr
		}
		return err
	}
	return nil
}

func (u *updater) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leave()
}

func (u *updater) leave() {
	if u.proc != nil {
		u.proc.Leave()
		u.proc = nil
	}
}
