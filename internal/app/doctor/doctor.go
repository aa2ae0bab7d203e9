// Package doctor checks a repository, its settings, the keys of its agent and its hubs.
// Each check reports its findings, with the command that solves a problem.
package doctor

import (
	"context"
	"fmt"
	"io"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	OK      Status = "ok"
	Fixed   Status = "fixed"
	Problem Status = "problem"
)

// Finding is the result of one check.
type Finding struct {
	Check   string
	Status  Status
	Message string
	Hints   []fault.Hint // how to solve the problem
}

// Request says what to check.
type Request struct {
	Fix  bool     // remove the locks of dead gits, and correct refspecs
	Hubs []string // hubs to try with pushes; if there are any, nothing else is checked
}

// Handler runs the checks.
type Handler struct {
	Now    time.Time
	Random io.Reader
	Vars   []string // the environment, for git
	Dirs   []string // directories of the user's keys and trust

	Open      func(context.Context) (*refs.Repo, error)
	Agent     func(*refs.Repo) (string, error) // returns the name of this worktree's agent
	Trust     func(*refs.Repo) (*sign.Trust, error)
	Signer    func(context.Context, *refs.Repo, string) (sign.Signer, error) // opens the key of an agent
	SetAside  func(sign.KID) (fault.Hint, bool)                              // the command that makes room for another key
	Workspace func(context.Context) (*workspace.Workspace, error)
	Agents    func(context.Context, *refs.Repo) []Finding // checks the coding agents that are set up here
}

// Run makes the checks and reports each finding as it is known. A problem does not end
// the checks after it. The error says how many problems there are.
func (h *Handler) Run(ctx context.Context, r Request, report func(Finding)) error {
	d := &checkup{Handler: h, Request: r, to: report}
	var err error
	if len(r.Hubs) > 0 {
		if d.repo, err = h.Open(ctx); err != nil {
			return err
		}
		return tryHubs(ctx, d, r.Hubs)
	}
	d.checkGit(ctx)
	if d.repo, err = h.Open(ctx); err != nil {
		d.problem("repository", err)
		return d.result()
	}
	d.checkRepository()
	if !gitStarts(ctx, d) {
		return d.result()
	}
	checkSettings(d)
	if !d.checkRefFiles() {
		return d.result() // with a damaged ref, githandoff lists no refs, and git fetches nothing
	}
	d.checkIdentity(ctx)
	d.checkPublished(ctx)
	d.checkRemotes(ctx)
	checkPolicy(ctx, d)
	d.checkNotes()
	d.checkHooks(ctx)
	for _, f := range h.Agents(ctx, d.repo) {
		d.report(f)
	}
	d.checkLocks()
	d.checkRefs(ctx)
	d.checkLeftovers(ctx)
	d.checkWaiting(ctx)
	d.checkHubs(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.result()
}

// checkup is one run of the checks.
type checkup struct {
	*Handler
	Request
	repo     *refs.Repo // nil until it was opened
	to       func(Finding)
	problems int
}

// result returns the error that a run with problems ends with.
func (d *checkup) result() error {
	if d.problems == 0 {
		return nil
	}
	return fault.New(fault.Other, fault.ProblemsFound, "%s found", fault.Count(d.problems, "problem"))
}

func (d *checkup) report(f Finding) {
	if f.Status == Problem {
		d.problems++
	}
	d.to(f)
}

func (d *checkup) ok(check, format string, args ...any) {
	d.report(Finding{Check: check, Status: OK, Message: fmt.Sprintf(format, args...)})
}

func (d *checkup) fixed(check, format string, args ...any) {
	d.report(Finding{Check: check, Status: Fixed, Message: fmt.Sprintf(format, args...)})
}

func (d *checkup) problem(check string, err error) {
	f := Finding{Check: check, Status: Problem, Message: err.Error()}
	if e := fault.As(refs.DiskFault(err)); e != nil {
		f.Hints = e.Hints
	}
	d.report(f)
}

// wrong is a problem with the command that solves it.
func (d *checkup) wrong(check string, solution fault.Hint, format string, args ...any) {
	d.problem(check, fault.New(fault.Other, fault.Problem, format, args...).WithHints(solution))
}
