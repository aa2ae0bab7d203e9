package crossrepo

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// report is the line of "git push --porcelain" for each ref: a flag, the ref, and a summary
// for people. Only the flag is used.
type report struct {
	flag    map[string]byte
	summary map[string]string
}

func parseReport(out []byte) *report {
	r := &report{flag: map[string]byte{}, summary: map[string]string{}}
	for line := range strings.Lines(string(out)) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(part) != 3 || len(part[0]) != 1 {
			continue
		}
		if i := strings.LastIndexByte(part[1], ':'); i >= 0 {
			r.flag[part[1][i+1:]] = part[0][0]
			r.summary[part[1][i+1:]] = part[2]
		}
	}
	return r
}

// accepted: every ref reports a change. "=" (up to date) is a lost race: git
// says it before it looks at the lease.
func (r *report) accepted(edits []refs.Edit) bool {
	return len(r.flag) == len(edits) && r.AcceptedAll()
}

// AcceptedAll reports whether every ref that the hub spoke of was changed.
func (r *report) AcceptedAll() bool {
	for _, f := range r.flag {
		if f != ' ' && f != '+' && f != '*' && f != '-' {
			return false
		}
	}
	return len(r.flag) > 0
}

// diagnose tells a hub that refuses from one that cannot do atomic pushes, one
// that may only be read, and one that is gone. It asks by trying, not by
// reading English.
func (h *Hub) diagnose(ctx context.Context, edits []refs.Edit, r *report, cause error) error {
	if refused := h.guardRefusal(cause); refused != nil {
		if k := readKnown(&h.remote); !k.Guarded {
			k.Guarded = true
			writeKnown(&h.remote, k)
		}
		return refused
	}
	if lost, err := lostLane(ctx, h, edits); err != nil || lost != "" {
		if err != nil {
			return err
		}
		return fault.New(fault.Denied, fault.Rollback, "%s lost %s, which this clone has seen", h.Alias.Name, lost).
			WithHints(fault.Run("githandoff", "sync", h.Alias.Name).Because("brings a restored hub up to date"))
	}
	if r.culprit() != "" {
		return h.errPushRefused(edits, r, cause)
	}
	if h.dryRun(ctx, edits, "--no-atomic") == nil && h.dryRun(ctx, edits, "--atomic") != nil {
		return errNoAtomic(h)
	}
	return fault.New(fault.Unavailable, fault.HubRefused, "%s refuses the push: %s", h.Alias.Name, GitSaid(cause)).
		WithHints(fault.Run("githandoff", "doctor").Because("says whether it is read-only for you"))
}

// remoteLines are the lines that the hub's git, or its hook, wrote.
func remoteLines(err error) []string {
	var e *gitexec.Error
	if !errors.As(err, &e) {
		return nil
	}
	var said []string
	for line := range strings.Lines(e.Stderr) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "remote: "); ok && strings.TrimSpace(rest) != "" {
			said = append(said, strings.TrimSpace(rest))
		}
	}
	return said
}

// lockAmong finds the lock that git could not take: in any language it says its
// path.
func lockAmong(lines []string) string {
	lockPattern := regexp.MustCompile(`'([^']+\.lock)'|(/.+/packed-refs\.new): `)
	for _, line := range lines {
		if m := lockPattern.FindStringSubmatch(line); m != nil {
			return filepath.Clean(m[1] + m[2])
		}
	}
	return ""
}

// errLocked is the refusal that names a lock at the hub, and the command that removes it there.
func (h *remote) errLocked(path string) error {
	f := fault.New(fault.Unavailable, fault.HubLocked, "%s exists at %s: another git is running there, or one crashed", Quote(path), h.Alias.Name)
	if dir, ok := filePath(h.Alias.RepoID); ok {
		return f.WithHints(fault.Run("githandoff", "-C", dir, "doctor", "--fix").Because("removes it if no process has it open"))
	}
	return f.WithHints(fault.Fact("githandoff doctor --fix, run at %s, removes it if no process has it open", h.Alias.Name))
}

func (h *remote) dryRun(ctx context.Context, edits []refs.Edit, atomic string) error {
	args := []string{"push", "--porcelain", "--dry-run", atomic, "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", "--", h.Alias.target()}
	for _, e := range edits {
		if e.New != "" {
			args = append(args, e.New+":"+h.RemoteName(e.Ref))
		}
	}
	_, err := connect(ctx, h, gitexec.Cmd{Args: args, Timeout: gitexec.RemoteTimeout})
	return err
}

// lostLane names a lane that this clone tracks and the hub did not show when it was
// asked after the refusal.
func lostLane(ctx context.Context, h *Hub, edits []refs.Edit) (string, error) {
	for _, e := range edits {
		cc, ok := strings.CutPrefix(e.Ref, h.Namespace().Lanes())
		if !ok || e.Old == "" || !h.isBrought(handoff.ID(cc)) {
			continue
		}
		now, err := h.Repo.Resolve(ctx, h.mirrored(e.Ref))
		if err != nil {
			return "", err
		}
		if now == "" {
			return h.RemoteName(e.Ref), nil
		}
	}
	return "", nil
}
