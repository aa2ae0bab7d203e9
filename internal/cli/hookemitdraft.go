package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"githandoff/internal/app/document"
	"githandoff/internal/app/emit"
	"githandoff/internal/app/githook"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/workspace"
)

const (
	rejected = ".rejected"

	// oldDraft is where earlier versions looked for a draft as well.
	oldDraft = ".handoff.json"
)

// draftPath is the draft of this worktree; "" where there is none. It lies in the git
// directory alone: whatever lies in the work tree may have come with a checkout, a
// patch or an archive, and would be signed in this agent's name.
func (hook *commitHook) draftPath(ctx context.Context, repo *refs.Repo) string {
	path := repo.OwnWorktree("draft.json")
	hook.sayMoved(ctx, repo, path)
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}

// sayMoved says where drafts lie now, if one lies untracked where earlier versions
// read them. Only a repository with such a file pays for the question to git.
func (hook *commitHook) sayMoved(ctx context.Context, repo *refs.Repo, path string) {
	if repo.Worktree == "" {
		return
	}
	old := filepath.Join(repo.Worktree, oldDraft)
	if _, err := os.Lstat(old); err != nil {
		return
	}
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"ls-files", "-z", "--", ":(top,icase)" + oldDraft}})
	if err != nil || len(out) > 0 {
		return // it belongs to the code of this repository
	}
	hook.Say("githandoff: ignored %s: any patch could add one", oldDraft)
	// No command: who runs it would sign what somebody else wrote.
	hook.Say("hint: %s", printable(fault.Hint{Why: "the draft of this worktree is " + path}.String()))
}

// emitDraft sends a draft and removes it once it is durable. One that is refused
// is set aside as <name>.rejected; one that only could not be sent now stays. The
// commit, if any, may say who takes it.
func (hook *commitHook) emitDraft(ctx context.Context, d *workspace.Workspace, path string, c *githook.Commit) error {
	b, info, err := readDraft(path)
	sent := false
	if err == nil {
		sent, err = hook.emitFile(ctx, d, b, info, c)
	}
	name := filepath.Base(path)
	if sent {
		if rerr := removeUnchanged(path, info); err == nil {
			err = rerr
		}
	}
	switch {
	case err == nil:
		return nil
	case !sent && refused(err):
		if rerr := os.Rename(path, path+rejected); rerr != nil {
			hook.Warn(fmt.Errorf("set aside %s: %w", name, rerr))
		}
		return fault.About(name+" is refused, and now "+name+rejected, err)
	}
	return fault.About(name, err)
}

// emitFile sends the bytes of a draft. The id derives from them and the time of
// their change: a draft that was sent and not removed is not sent twice, and the
// same text written again is another handoff. A draft that names nobody is what
// the commit hands over, if that names one receiver: Kelos has no member for one.
func (hook *commitHook) emitFile(ctx context.Context, d *workspace.Workspace, b []byte, info fs.FileInfo, c *githook.Commit) (sent bool, err error) {
	env, err := hook.documents().Draft(document.Source{}, b)
	if err != nil {
		return false, err
	}
	changed := info.ModTime()
	id := handoff.DeriveID(changed, "draft", strconv.FormatInt(changed.UnixNano(), 10), string(b))
	// A file carries no authority, whoever wrote it: a token is passed on by a
	// command that names it.
	o := &emit.Options{ID: id, Wanted: emit.Wanted{None: true}}
	joined := c != nil && len(c.To) == 1 && env.Target.Agent == nil && env.Status == handoff.StatusComplete
	if joined { // one that was sent before is not of this commit
		_, err := d.Find(ctx, string(id), workspace.Never)
		joined = fault.CodeOf(err) == fault.NotFound
	}
	if joined {
		c.Fill(env)
		o.To = c.To[0]
	}
	if !joined {
		c = nil
	}
	sent, err = hook.emitOnce(ctx, d, env, o, c)
	if joined && sent {
		c.To = nil
	}
	return sent, err
}

// refused reports whether a draft is at fault, rather than the moment.
func refused(err error) bool {
	switch fault.CodeOf(err) {
	case fault.Usage, fault.NotFound, fault.Denied, fault.Invalid, fault.Policy:
		return true
	}
	return false
}

// readDraft reads a draft that only this user can have put there: the directories
// that hold it are closed to others as well, who could put a link or another
// directory in its place.
func readDraft(path string) ([]byte, fs.FileInfo, error) {
	own := filepath.Dir(path)
	for _, dir := range []string{filepath.Dir(own), own} {
		if err := private.CheckDir(dir); err != nil {
			return nil, nil, notNow(err)
		}
	}
	return private.ReadOwn(path, maxInput)
}

// notNow makes a refusal of the place one of the moment: the draft is not at fault and
// stays where it is.
func notNow(err error) error {
	if refusal := fault.As(err); refusal != nil {
		return fault.New(fault.Unavailable, refusal.Reason, "%w", err).WithHints(refusal.Hints...)
	}
	return err
}

// removeUnchanged removes what was read, not what somebody wrote there since.
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
