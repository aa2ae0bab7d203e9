package githook

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/untrusted"
)

const (
	rejected = ".rejected"
	maxDraft = 1 << 20 // bytes

	// oldDraft is the place of the draft in earlier versions.
	oldDraft = ".handoff.json"
)

// draftPath returns the draft of this worktree, "" if there is none. It is in the git directory: a
// file in the work tree may come from a checkout, a patch or an archive, and would be signed
// in this agent's name.
func (h *Handover) draftPath(ctx context.Context) string {
	path := h.Repo.OwnWorktree("draft.json")
	h.sayMoved(ctx, path)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// sayMoved says where the draft is now if an untracked file is in its old place.
func (h *Handover) sayMoved(ctx context.Context, path string) {
	if h.Repo.Worktree == "" {
		return
	}
	old := filepath.Join(h.Repo.Worktree, oldDraft)
	if _, err := os.Lstat(old); err != nil {
		return
	}
	out, err := h.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"ls-files", "-z", "--", ":(top,icase)" + oldDraft}})
	if err != nil || len(out) > 0 {
		return // the file belongs to the code of this repository
	}
	h.Say("githandoff: ignored %s: any patch could add one", oldDraft)
	// No command: it would sign a text of somebody else.
	h.Say("hint: %s", untrusted.Line(fault.Hint{Why: "the draft of this worktree is " + path}.String()))
}

// sendDraft sends a draft and removes it once it is durable. A refused draft is set aside. A
// draft that cannot be sent now stays.
func (h *Handover) sendDraft(ctx context.Context, s Sender, path string, c *Commit) error {
	b, info, err := readDraft(path)
	sent := false
	if err == nil {
		sent, err = h.sendFile(ctx, s, b, info, c)
	}
	name := filepath.Base(path)
	if sent {
		err = cmp.Or(err, removeUnchanged(path, info))
	}
	switch {
	case err == nil:
		return nil
	case !sent && atFault(err):
		aside, rerr := setAside(path)
		if rerr != nil {
			return fault.About(name+" is refused, and cannot be set aside ("+rerr.Error()+")", err)
		}
		return fault.About(name+" is refused, and now "+filepath.Base(aside), err)
	}
	return fault.About(name, err)
}

// setAside renames a refused draft to <name>.rejected, or to <name>.rejected.2 and so on where
// an earlier one is still there, and returns the new path.
func setAside(path string) (string, error) {
	aside := path + rejected
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return aside, os.Rename(path, aside)
		} else if err != nil {
			return "", err
		}
		aside = path + rejected + "." + strconv.Itoa(n)
	}
}

// sendFile sends the content of a draft. Its id derives from the content and from the time of
// its last change: a draft that was sent and not removed is not sent twice, and the same text
// written again is another handoff. A commit with one receiver takes a draft that names nobody:
// Kelos has no member for a receiver.
func (h *Handover) sendFile(ctx context.Context, s Sender, b []byte, info fs.FileInfo, c *Commit) (sent bool, err error) {
	env, err := h.Draft(b)
	if err != nil {
		return false, err
	}
	changed := info.ModTime()
	o := Order{ID: handoff.DeriveID(changed, "draft", strconv.FormatInt(changed.UnixNano(), 10), string(b))}
	if err := h.early(o.ID, fault.Fact("the command touch gives the file the current time; then rename it back")); err != nil {
		return false, err
	}
	joined := c != nil && len(c.To) == 1 && env.LacksTarget()
	if joined { // a draft that was sent before does not belong to this commit
		there, err := s.Exists(ctx, o.ID)
		joined = err == nil && !there
	}
	if joined {
		c.Fill(env)
		o.To, o.Snapshot = c.To[0], c.Snapshot
	}
	sent, err = h.once(ctx, s, env, o)
	if joined && sent {
		c.To = nil
	}
	return sent, err
}

// atFault reports whether an error is about the draft itself.
func atFault(err error) bool {
	switch fault.CodeOf(err) {
	case fault.Usage, fault.NotFound, fault.Denied, fault.Invalid, fault.Policy:
		return true
	}
	return false
}

// readDraft reads a draft that only this user can have written. Its directories are closed to
// others, who could otherwise replace it. An open directory is no fault of the draft: it stays.
func readDraft(path string) ([]byte, fs.FileInfo, error) {
	own := filepath.Dir(path)
	for _, dir := range []string{filepath.Dir(own), own} {
		err := private.CheckDir(dir)
		if refusal := fault.As(err); refusal != nil {
			return nil, nil, fault.New(fault.Unavailable, refusal.Reason, "%w", err).WithHints(refusal.Hints...)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return private.ReadDocument(path, maxDraft)
}

// removeUnchanged removes the file that was read, unless it was written again since.
func removeUnchanged(path string, read fs.FileInfo) error {
	now, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !os.SameFile(now, read) || !now.ModTime().Equal(read.ModTime()) || now.Size() != read.Size() {
		return err
	}
	return os.Remove(path)
}
