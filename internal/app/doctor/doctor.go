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
	Hints   []fault.Hint // commands that solve it
}

// Setup knows the agent of this repository and its keys.
type Setup interface {
	// Repo opens the repository.
	Repo(ctx context.Context) (*refs.Repo, error)
	// GitVersion is the version of the git in use.
	GitVersion(ctx context.Context) (string, error)
	// Agent is the name of the agent of this worktree.
	Agent(repo *refs.Repo) (string, error)
	// Trust is the list of keys that are pinned here.
	Trust(repo *refs.Repo) (*sign.Trust, error)
	// Signer opens the key of an agent.
	Signer(ctx context.Context, repo *refs.Repo, agent string) (sign.Signer, error)
	// Unpinned are the published keys that are not pinned here.
	Unpinned(ctx context.Context) ([]sign.PublicKey, error)
	// TempFiles are the incomplete files that killed writers left.
	TempFiles(ctx context.Context, repo *refs.Repo) ([]string, error)
	// Agents checks the coding agents that are set up here.
	Agents(ctx context.Context, repo *refs.Repo) []Finding
	// Copies are the work copies of a repository.
	Copies(repo *refs.Repo) Copies
}

// Copies are the work copies that resume made.
type Copies interface {
	// Files are the files that an unfinished checkout may have locked.
	Files() []string
	// Unfinished says of each copy that a kill cut short what to do about it.
	Unfinished() ([]error, error)
}

// Request says what to check.
type Request struct {
	Fix  bool     // remove the locks of dead gits, and correct refspecs
	Hubs []string // if any: try these hubs with pushes, and check nothing else
}

// Handler runs the checks.
type Handler struct {
	Setup  Setup
	Now    time.Time
	Random io.Reader
}

// Run makes the checks and reports each finding as it is known. A problem does not end
// the checks after it. The error says how many problems there are.
func (h *Handler) Run(ctx context.Context, r Request, report func(Finding)) error {
	d := &checkup{Handler: h, Request: r, to: report}
	if len(r.Hubs) > 0 {
		repo, err := h.Setup.Repo(ctx)
		if err != nil {
			return err
		}
		return tryHubs(ctx, d, repo, r.Hubs)
	}
	d.checkGit(ctx)
	repo, err := h.Setup.Repo(ctx)
	if err != nil {
		d.problem("repository", err)
		return d.result()
	}
	d.checkRepository(repo)
	d.checkIdentity(ctx, repo)
	d.checkPublished(ctx)
	d.checkRemotes(ctx, repo)
	d.checkNotes(repo)
	d.checkHooks(ctx, repo)
	for _, f := range h.Setup.Agents(ctx, repo) {
		d.report(f)
	}
	copies := h.Setup.Copies(repo)
	d.checkLocks(repo, copies)
	d.checkRefs(ctx, repo)
	d.checkLeftovers(ctx, repo)
	d.checkWaiting(ctx, repo, copies)
	d.checkHubs(ctx, repo)
	if err := ctx.Err(); err != nil {
		return err
	}
	return d.result()
}

// checkup is one run of the checks.
type checkup struct {
	*Handler
	Request
	to       func(Finding)
	problems int
}

// result is the error that a run with problems ends with.
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
	if e := fault.As(err); e != nil {
		f.Hints = e.Hints
	}
	d.report(f)
}

// wrong is a problem with the command that solves it.
func (d *checkup) wrong(check string, solution fault.Hint, format string, args ...any) {
	d.problem(check, fault.New(fault.Other, fault.Problem, format, args...).WithHints(solution))
}
