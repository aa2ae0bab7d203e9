package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workcopy"
	"githandoff/internal/workspace"
)

// snapshotFlags say whether the state of the work tree goes along.
type snapshotFlags struct {
	take, without bool
	allow         []string
}

func (s *snapshotFlags) register(f *pflag.FlagSet) {
	s.declare(f, "send the state of the work tree along", "send no snapshot, whatever handoff.snapshot says")
}

// registerCarried is like register for a command which passes a snapshot on, whatever
// handoff.snapshot says.
func (s *snapshotFlags) registerCarried(f *pflag.FlagSet) {
	s.declare(f, "send the state of this work tree along, in place of the snapshot that came with it", "leave out the snapshot that came with it")
}

func (s *snapshotFlags) declare(f *pflag.FlagSet, take, without string) {
	f.BoolVar(&s.take, "snapshot", false, take)
	f.BoolVar(&s.without, "no-snapshot", false, without)
	f.StringArrayVar(&s.allow, "allow-path", nil, "include `PATH` in the snapshot although the content policy refuses it; repeatable")
}

// snapshotGroup returns flags which exclude each other.
func snapshotGroup() []string { return []string{"snapshot", "no-snapshot"} }

func (s *snapshotFlags) mode(repo *refs.Repo) (workcopy.Mode, error) {
	switch {
	case s.without:
		return workcopy.Never, nil
	case s.take:
		return workcopy.Always, nil
	}
	return workcopy.ModeOf(repo)
}

// taker takes the snapshots requested by these flags.
func (s *snapshotFlags) taker(a *app, ws *workspace.Workspace) func(context.Context, lifecycle.Home, *handoff.Envelope, bool) ([]*refs.Object, error) {
	return func(ctx context.Context, home lifecycle.Home, env *handoff.Envelope, sealed bool) ([]*refs.Object, error) {
		return s.capture(ctx, a, ws, home, env, sealed)
	}
}

// capture takes the snapshot to send with env, and returns its objects.
func (s *snapshotFlags) capture(ctx context.Context, a *app, ws *workspace.Workspace, home lifecycle.Home, env *handoff.Envelope, sealed bool) ([]*refs.Object, error) {
	env.Work = nil // a document says nothing of this work tree
	mode, err := s.mode(ws.Repo)
	if err != nil {
		return nil, err
	}
	sender := workcopy.Sender{
		Repo: ws.Repo, Actor: ws.Engine.Author.Actor, Mail: sign.Mail(ws.Engine.Author.Actor), Now: a.Now().UTC(), Warn: a.Warn, Sealed: sealed,
	}
	if hub, ok := home.(*crossrepo.Hub); ok {
		sender.Away, sender.Remote = true, hub.Alias.Name
	}
	taken, err := sender.Capture(ctx, mode, s.allow)
	if err != nil || taken == nil {
		return nil, err
	}
	env.Work = &taken.Work
	return taken.Objects, nil
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
	dir  string // "" where none is asked for
	here bool
}

func (c *copyFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&c.here, "here", false, "check the snapshot out in this clean work tree, on a new branch")
	f.StringVar(&c.dir, "worktree", "", "check the snapshot out in the new worktree `DIR` (beside this one)")
	f.Lookup("worktree").NoOptDefVal = besideThis
}

// besideThis is the value of --worktree without a directory.
const besideThis = "beside"

// begin returns nil where no work copy is asked for.
func (c *copyFlags) begin(ws *workspace.Workspace, from string) (*workcopy.Restoring, error) {
	if !c.here && c.dir == "" {
		return nil, nil
	}
	dir := ""
	if c.dir != besideThis && !c.here {
		dir = c.dir
		if !filepath.IsAbs(dir) {
			var err error
			if dir, err = filepath.Abs(filepath.Join(from, dir)); err != nil {
				return nil, err
			}
		}
	}
	return &workcopy.Restoring{Dir: dir, Here: c.here, Workspace: ws, Handler: workcopy.Handler{Repo: ws.Repo}}, nil
}

// copyLine tells an agent where to work.
func copyLine(made *workcopy.Copy) string {
	if made.Here {
		return fmt.Sprintf("The work is checked out here, on branch %s.\n", made.Branch)
	}
	return fmt.Sprintf("The work is checked out in %s, on branch %s: work and acknowledge there.\n", printable(made.Dir), made.Branch)
}
