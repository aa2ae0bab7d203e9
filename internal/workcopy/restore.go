package workcopy

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"githandoff/internal/crossrepo"
	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/snapshot"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Restoring is the part of a resume that makes a work copy.
type Restoring struct {
	Asked     bool   // whether a work copy is wanted; without one, Prepare and Restore do nothing
	Dir       string // directory of the work copy; "" for one beside this work tree
	Here      bool   // whether the work copy is made in this work tree
	Workspace *workspace.Workspace
	Handler

	plan     *Copy
	contents *snapshot.Contents // contents of the plan's snapshot; nil until they are fetched
	home     lifecycle.Home
	at       lifecycle.Place
}

// Prepare refuses, before it is claimed, a handoff whose work cannot be brought here.
func (r *Restoring) Prepare(ctx context.Context, v *lifecycle.Verified) error {
	if !r.Asked {
		return nil
	}
	s, w := v.State(), v.Envelope().Work
	r.contents = nil
	var err error
	if r.Here {
		r.plan, err = r.planHere(ctx, s.ID, w)
	} else {
		r.plan, err = r.planWorktree(ctx, s.ID, w, r.Dir)
	}
	if err != nil {
		return err
	}
	if r.home, err = r.Workspace.Home(ctx, v.Offer().Home); err != nil {
		return err
	}
	r.at = lifecycle.Place{Agent: s.Agent, ID: s.ID}
	if r.contents, err = r.bring(ctx, r.home, r.at, w); err != nil {
		return err
	}
	return r.Fits(ctx, r.plan, r.contents)
}

// Restore makes the work copy of a claimed handoff, for its holder; made is nil if none is wanted. It also
// returns the claims of the worktree in which the work goes on.
func (r *Restoring) Restore(ctx context.Context, v *lifecycle.Verified) (made *Copy, claims work.Claims, err error) {
	if !r.Asked {
		return nil, r.Workspace.Claims, nil
	}
	if r.contents == nil || r.plan.ID != v.State().ID {
		if err := r.Prepare(ctx, v); err != nil {
			return nil, claims, err
		}
	}
	if err := r.makeCopy(ctx, r.plan, r.contents); err != nil || r.plan.Here {
		return r.plan, r.Workspace.Claims, err
	}
	gitDir, err := refs.GitDirOf(r.plan.Dir)
	if err != nil {
		return nil, claims, err
	}
	return r.plan, work.Claims{GitDir: gitDir, Common: r.Repo.CommonDir}, r.passOn(gitDir)
}

// passOn makes the agent of this worktree that of another one, with the key that init named here.
func (r *Restoring) passOn(gitDir string) error {
	dir := filepath.Join(gitDir, "githandoff")
	if own, err := workspace.AgentOf(r.Repo); err == nil && own == r.Workspace.Agent {
		key, err := private.ReadState(r.Repo.OwnWorktree("key"))
		if err == nil && key != nil {
			err = private.WriteFile(filepath.Join(dir, "key"), key)
		}
		if err != nil {
			return err
		}
	}
	return private.WriteFile(filepath.Join(dir, "agent"), []byte(r.Workspace.Agent+"\n"))
}

// Forget drops the record of the work copy: its user was told of it, and it is theirs.
func (r *Restoring) Forget() error { return r.drop(r.plan.ID) }

// Close drops the fetched snapshot.
func (r *Restoring) Close(ctx context.Context) {
	if r.home != nil {
		lifecycle.ForgetWork(ctx, r.Repo, r.home, r.at)
	}
}

// Handler makes work copies in one repository.
type Handler struct {
	Repo *refs.Repo
}

// Copy is a work copy, finished or being made.
type Copy struct {
	ID     handoff.ID `json:"id"`
	Dir    string     `json:"dir"`    // top of the work copy's worktree
	Branch string     `json:"branch"` // short name of the branch
	Head   string     `json:"head"`
	Commit string     `json:"commit"` // commit of the snapshot
	Made   bool       `json:"made"`
	PID    int        `json:"pid,omitempty"` // written by versions before 2026-11-28, and not used

	Here bool   `json:"here,omitempty"` // whether the work copy is in a work tree that existed before
	From string `json:"from,omitempty"` // HEAD of that work tree before the snapshot

	cutOff bool     // whether a killed process left the copy unfinished
	owner  *os.File // lock file held while this process makes the copy; else nil
}

// ownerFile returns the file that is owned by the process which makes a work copy.
func (h *Handler) ownerFile(id handoff.ID) string {
	return filepath.Join(h.copies().Dir, string(id)+".owner")
}

func (h *Handler) drop(id handoff.ID) error {
	return errors.Join(h.copies().Drop(id), durable.Remove(h.ownerFile(id)))
}

func (h *Handler) copies() work.Documents[Copy] {
	return work.Documents[Copy]{Dir: h.Repo.Own("copies")}
}

// tail returns how people name a handoff: the last characters of its id.
func tail(id handoff.ID) string { return strings.TrimPrefix(id.Short(), "…") }

// planWorktree says where the work copy of a handoff goes: in dir, or beside this work tree. A worktree
// left by a killed command is removed, and nothing may be in the way.
func (h *Handler) planWorktree(ctx context.Context, id handoff.ID, w *handoff.Work, dir string) (*Copy, error) {
	before, made, err := h.before(ctx, id, w)
	if err != nil || made {
		return before, err
	}
	if before != nil && before.Here && !before.Made {
		return nil, before.begunHere()
	}
	c := &Copy{ID: id, Dir: dir, Branch: "handoff/" + tail(id), Head: w.Head, Commit: w.Commit}
	if dir == "" {
		top := cmp.Or(h.Repo.Worktree, strings.TrimSuffix(h.Repo.CommonDir, ".git"))
		c.Dir = filepath.Clean(top) + "-" + tail(id)
	}
	return c, h.free(ctx, c)
}

// before returns the record of a work copy of a handoff; made reports whether it is complete. A
// worktree left by a killed command is removed.
func (h *Handler) before(ctx context.Context, id handoff.ID, w *handoff.Work) (c *Copy, made bool, err error) {
	if w == nil {
		return nil, false, fault.New(fault.NotFound, fault.NoSnapshot, "handoff %s carries no snapshot", id).
			WithHints(fault.Run("githandoff", "resume", string(id)).Because("takes it without one"))
	}
	c, err = h.copies().Get(id)
	switch {
	case err != nil || c == nil:
		return nil, false, err
	case c.Made && c.Commit == w.Commit && isWorktree(c.Dir):
		return c, true, snapshot.Unmark(c.Dir)
	case !c.Made && !c.Here:
		return nil, false, h.clear(ctx, c)
	}
	return c, false, nil
}

func isWorktree(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ".git"))
	return err == nil
}

// clear removes the remains of a work copy after its process was killed.
func (h *Handler) clear(ctx context.Context, c *Copy) error {
	if err := h.busy(c); err != nil {
		return err
	}
	if err := snapshot.Undo(ctx, h.Repo, c.Dir, c.Branch, c.Head); err != nil {
		return err
	}
	if _, err := os.Lstat(snapshot.BranchLock(h.Repo, c.Branch)); err == nil {
		return nil // keep the record, by which doctor finds the lock
	}
	return h.drop(c.ID)
}

// free refuses a directory with something in it, and an existing branch.
func (h *Handler) free(ctx context.Context, c *Copy) error {
	names, err := os.ReadDir(c.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil && !errors.Is(err, syscall.ENOTDIR):
		return err
	case err != nil || len(names) > 0:
		return fault.New(fault.Conflict, fault.WorkTreeTaken, "%s exists and is not an empty directory", c.Dir).
			WithHints(fault.See("resume").Because("--worktree=DIR names another directory"))
	}
	return h.branchFree(ctx, c)
}

func (h *Handler) branchFree(ctx context.Context, c *Copy) error {
	above := path.Dir(c.Branch) // git keeps no branch below another branch
	if oid, err := h.Repo.Resolve(ctx, "refs/heads/"+above); err != nil || oid != "" {
		return cmp.Or(err, error(fault.New(fault.Conflict, fault.BranchExists, "branch %s is in the way of %s", above, c.Branch).
			WithHints(fault.Run("git", "branch", "--move", "--", above, above+"-before").Because("gives it another name"))))
	}
	oid, err := h.Repo.Resolve(ctx, "refs/heads/"+c.Branch)
	if err == nil && oid != "" {
		err = fault.New(fault.Conflict, fault.BranchExists, "branch %s already exists", c.Branch).
			WithHints(fault.Run("git", "log", "-1", c.Branch, "--").Because("shows it"), fault.Run("git", "worktree", "list").Because("shows whether a worktree uses it"))
	}
	return err
}

// bring fetches a snapshot and opens it: the very one named by the signed envelope.
func (h *Handler) bring(ctx context.Context, home lifecycle.Home, p lifecycle.Place, w *handoff.Work) (*snapshot.Contents, error) {
	if err := crossrepo.BringSnapshot(ctx, h.Repo, home, p, w); err != nil {
		return nil, err
	}
	c, err := snapshot.Open(ctx, h.Repo, w.Commit)
	if err == nil && c.Head != w.Head {
		err = fault.New(fault.Denied, fault.HandoffMismatch, "the snapshot of handoff %s is based on %s, but its envelope names %s", p.ID, c.Head, w.Head)
	}
	return c, err
}

// makeCopy makes the work copy of a plan. An existing one is left as it is.
func (h *Handler) makeCopy(ctx context.Context, c *Copy, contents *snapshot.Contents) error {
	if c.Made {
		return nil
	}
	if err := private.MakeDir(h.copies().Dir); err != nil {
		return err
	}
	var err error
	if c.owner, err = durable.Own(h.ownerFile(c.ID), nil); err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(h.ownerFile(c.ID))
		durable.Disown(c.owner)
		c.owner = nil
	}()
	if c.Here {
		return h.makeHere(ctx, c, contents)
	}
	if err := h.copies().Put(c.ID, c); err != nil {
		return err
	}
	err = contents.AddWorktree(ctx, c.Dir, c.Branch, func() error {
		c.Made = true
		return h.copies().Put(c.ID, c)
	})
	if err != nil {
		return errors.Join(err, h.clear(context.WithoutCancel(ctx), c))
	}
	return nil
}

// Mend lets git fetch again where a process was killed while git began a worktree. The rest
// is for the next resume. It starts no process.
func (h *Handler) Mend() error {
	all, err := h.copies().All()
	for _, c := range all {
		if c.Made || c.Here || h.busy(c) != nil {
			continue
		}
		err = errors.Join(err, snapshot.DropBroken(h.Repo, c.Dir))
	}
	return err
}
