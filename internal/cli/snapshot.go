package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/untrusted"
	"githandoff/internal/workcopy"
	"githandoff/internal/workspace"
)

// snapshotFlags say whether the state of the work tree goes along.
type snapshotFlags struct {
	take, without bool
	allow         []string
}

func (s *snapshotFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&s.take, "snapshot", false, "send the state of the work tree along")
	f.BoolVar(&s.without, "no-snapshot", false, "send no snapshot, whatever handoff.snapshot says")
	f.StringArrayVar(&s.allow, "allow-path", nil, "include `PATH` in the snapshot although the content policy refuses it; repeatable")
}

// registerCarried is like register for a command which passes a snapshot on, whatever
// handoff.snapshot says.
func (s *snapshotFlags) registerCarried(f *pflag.FlagSet) {
	s.register(f)
	f.Lookup("snapshot").Usage = "send the state of this work tree along, in place of the snapshot that came with it"
	f.Lookup("no-snapshot").Usage = "leave out the snapshot that came with it"
}

// snapshotGroup returns flags which exclude each other.
func snapshotGroup() []string { return []string{"snapshot", "no-snapshot"} }

// taker takes the snapshots requested by these flags.
func (s *snapshotFlags) taker(ws *workspace.Workspace) workcopy.Taker {
	var mode workcopy.Mode
	switch {
	case s.without:
		mode = workcopy.Never
	case s.take:
		mode = workcopy.Always
	}
	return workcopy.TakerOf(ws, mode, s.allow)
}

// workLine says in one line what comes along.
func workLine(w *handoff.Work) string {
	line := fault.Count(w.Files, "changed file")
	if w.Commits > 0 {
		line += ", " + fault.Count(w.Commits, "commit")
	}
	return fmt.Sprintf("%s, %d bytes, at %.10s", line, w.Bytes, w.Head)
}

// copyFlags say where the snapshot is restored.
type copyFlags struct {
	dir  string // directory of the worktree to make; "" for none
	here bool
}

func (c *copyFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&c.here, "here", false, "check the snapshot out in this clean work tree, on a new branch")
	f.StringVar(&c.dir, "worktree", "", "check the snapshot out in the new worktree `DIR` (beside this one)")
	f.Lookup("worktree").NoOptDefVal = besideThis
}

// besideThis is the value of --worktree without a directory. No worktree can be made there.
const besideThis = "/"

// check refuses a directory that was given as another argument than --worktree: it would be taken
// for an id.
func (c *copyFlags) check(id string) error {
	if c.dir != besideThis || id == "" || handoff.CheckSuffix(id) == nil {
		return nil
	}
	return usage("%s is not a handoff id, and --worktree takes its directory after a \"=\"", untrusted.Line(id)).
		WithHints(fault.Run("githandoff", "resume", "--worktree="+id).Because("checks the snapshot out there"))
}

// begin says where the work copy goes, if one is asked for.
func (c *copyFlags) begin(ws *workspace.Workspace, from string) (*workcopy.Restoring, error) {
	r := &workcopy.Restoring{Asked: c.here || c.dir != "", Here: c.here, Workspace: ws, Handler: workcopy.Handler{Repo: ws.Repo}}
	if c.here || c.dir == "" || c.dir == besideThis {
		return r, nil
	}
	r.Dir = c.dir
	if filepath.IsAbs(r.Dir) {
		return r, nil
	}
	var err error
	r.Dir, err = filepath.Abs(filepath.Join(from, r.Dir))
	return r, err
}

// copyLine tells an agent where to work.
func copyLine(made *workcopy.Copy) string {
	if made.Here {
		return fmt.Sprintf("The work is checked out here, on branch %s.\n", made.Branch)
	}
	return fmt.Sprintf("The work is checked out in %s, on branch %s: work and acknowledge there.\n", untrusted.Line(made.Dir), made.Branch)
}
