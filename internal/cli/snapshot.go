package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"githandoff/internal/app/take"
	"githandoff/internal/app/workcopy"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/work"
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

// registerCarried is register for a command that passes a snapshot on, whatever
// handoff.snapshot says.
func (s *snapshotFlags) registerCarried(f *pflag.FlagSet, carried string) {
	f.BoolVar(&s.take, "snapshot", false, "send the state of this work tree along, in place of "+carried)
	f.BoolVar(&s.without, "no-snapshot", false, "leave out "+carried)
	f.StringArrayVar(&s.allow, "allow-path", nil, "include `PATH` in the snapshot although the content policy refuses it; repeatable")
}

func (s *snapshotFlags) check() error {
	if s.take && s.without {
		return usage("--snapshot and --no-snapshot: one of them")
	}
	return nil
}

func (s *snapshotFlags) mode(repo *refs.Repo) (workcopy.Mode, error) {
	if err := s.check(); err != nil {
		return "", err
	}
	switch {
	case s.without:
		return workcopy.Never, nil
	case s.take:
		return workcopy.Always, nil
	}
	return workcopy.ModeOf(repo)
}

// taker takes the snapshots that these flags ask for.
func (s *snapshotFlags) taker(a *app, d *workspace.Workspace) func(context.Context, lifecycle.Home, *handoff.Envelope, bool) ([]*refs.Object, error) {
	return func(ctx context.Context, home lifecycle.Home, env *handoff.Envelope, sealed bool) ([]*refs.Object, error) {
		return s.capture(ctx, a, d, home, env, sealed)
	}
}

// capture takes the snapshot that goes along with env, and returns the objects that it
// needs.
func (s *snapshotFlags) capture(ctx context.Context, a *app, d *workspace.Workspace, home lifecycle.Home, env *handoff.Envelope, sealed bool) ([]*refs.Object, error) {
	env.Work = nil // a document says nothing of this work tree
	mode, err := s.mode(d.Repo)
	if err != nil || mode == workcopy.Never {
		return nil, err
	}
	if sealed {
		if mode == workcopy.Auto {
			return nil, nil
		}
		return nil, fault.New(fault.Policy, fault.Sealed, "a sealed handoff carries no snapshot: everyone who reads the hub could read the files").
			WithHints(fault.See("emit").Because("--no-snapshot sends it without one"))
	}
	sender := workcopy.Sender{
		Repo: d.Repo, Actor: d.Engine.Author.Actor, Mail: sign.Mail(d.Engine.Author.Actor), Now: a.Now().UTC(), Warn: a.Warn,
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
	line := fmt.Sprintf("%d changed files", w.Files)
	if w.Files == 1 {
		line = "1 changed file"
	}
	switch w.Commits {
	case 0:
	case 1:
		line += ", 1 commit"
	default:
		line += fmt.Sprintf(", %d commits", w.Commits)
	}
	return fmt.Sprintf("%s, %d bytes, at %.10s", line, w.Bytes, w.Head)
}

// copyFlags say where the work that comes along goes.
type copyFlags struct {
	dir  string // "" where none is asked for
	here bool
}

func (c *copyFlags) asked() bool { return c.dir != "" || c.here }

// check refuses what does not go together; looks says that nothing is taken for work.
func (c *copyFlags) check(looks bool) error {
	switch {
	case c.here && c.dir != "":
		return usage("--worktree and --here: one of them")
	case c.asked() && looks:
		return usage("--worktree and --here take a handoff to work on it: neither --peek nor --ack")
	}
	return nil
}

func (c *copyFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&c.here, "here", false, "check the snapshot out in this clean work tree, on a new branch")
	f.StringVar(&c.dir, "worktree", "", "check the snapshot out in a new worktree, `DIR` (beside this one)")
	f.Lookup("worktree").NoOptDefVal = besideThis
}

// besideThis is the value of --worktree without a directory.
const besideThis = "beside"

// restoring is one resume that may make a work copy. A nil one makes none.
type restoring struct {
	dir     string
	here    bool // in this work tree
	desk    *workspace.Workspace
	handler *workcopy.Handler
	plan    *workcopy.Copy
	home    lifecycle.Home
	at      lifecycle.Place
}

// begin returns nil where no work copy is asked for.
func (c *copyFlags) begin(d *workspace.Workspace, from string) (*restoring, error) {
	if !c.asked() {
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
	return &restoring{dir: dir, here: c.here, desk: d, handler: &workcopy.Handler{Repo: d.Repo, Fetcher: crossrepo.Snapshots{Repo: d.Repo}}}, nil
}

// fits refuses, before it is claimed, a handoff whose work could not be brought here,
// or that does not fit otherwise.
func (r *restoring) fits(ctx context.Context, v *lifecycle.Verified, otherwise func(*lifecycle.Verified) error) error {
	if err := otherwise(v); err != nil || r == nil {
		return err
	}
	return r.prepare(ctx, v)
}

func (r *restoring) prepare(ctx context.Context, v *lifecycle.Verified) error {
	s, w := v.State(), v.Envelope().Work
	var err error
	if r.here {
		r.plan, err = r.handler.PlanHere(ctx, s.ID, w)
	} else {
		r.plan, err = r.handler.Plan(ctx, s.ID, w, r.dir)
	}
	if err != nil {
		return err
	}
	if r.home, err = r.desk.Home(ctx, v.Offer().Home); err != nil {
		return err
	}
	r.at = lifecycle.Place{Agent: s.Agent, ID: s.ID}
	contents, err := r.handler.Bring(ctx, r.home, r.at, w)
	if err != nil {
		return err
	}
	return r.handler.Fits(ctx, r.plan, contents)
}

// make makes the work copy of a claimed handoff, for the agent that claimed it.
func (r *restoring) make(ctx context.Context, g *take.Result) error {
	if r == nil {
		return nil
	}
	if r.plan == nil || r.plan.ID != g.Verified.State().ID {
		if err := r.prepare(ctx, g.Verified); err != nil {
			return err
		}
	}
	contents, err := r.handler.Bring(ctx, r.home, r.at, g.Verified.Envelope().Work)
	if err != nil {
		return err
	}
	if err := r.handler.Make(ctx, r.plan, contents); err != nil || r.plan.Here {
		return err
	}
	gitDir, err := workcopy.GitDir(r.plan.Dir)
	if err != nil {
		return err
	}
	return private.WriteFile(filepath.Join(gitDir, "githandoff", "agent"), []byte(r.desk.Agent+"\n"))
}

// told records that the content was printed, and moves the claim to the work copy.
func (r *restoring) told(ctx context.Context, g *take.Result) error {
	if r == nil {
		return g.Printed(ctx)
	}
	if r.plan.Here {
		if err := g.Printed(ctx); err != nil {
			return err
		}
		return r.handler.Told(r.plan)
	}
	gitDir, err := workcopy.GitDir(r.plan.Dir)
	if err != nil {
		g.Abandon()
		return err
	}
	if err := g.PrintedFor(ctx, work.ClaimsAt(r.desk.Repo, gitDir)); err != nil {
		return err
	}
	return r.handler.Told(r.plan)
}

// place is where the work copy is, and its branch.
func (r *restoring) place() (dir, branch string) {
	if r == nil || r.plan == nil {
		return "", ""
	}
	return r.plan.Dir, r.plan.Branch
}

// line tells an agent where to work.
func (r *restoring) line() string {
	dir, branch := r.place()
	switch {
	case dir == "":
		return ""
	case r.plan.Here:
		return fmt.Sprintf("The work is checked out here, on branch %s.\n", branch)
	}
	return fmt.Sprintf("The work is checked out in %s, on branch %s: work and acknowledge there.\n", printable(dir), branch)
}

// close drops the fetched snapshot.
func (r *restoring) close(ctx context.Context) {
	if r != nil && r.home != nil {
		_ = crossrepo.Snapshots{Repo: r.desk.Repo}.ForgetWork(context.WithoutCancel(ctx), r.home, r.at) // the receipt does so again
	}
}
