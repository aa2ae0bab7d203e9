package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"githandoff/internal/agents"
	"githandoff/internal/app/agenthook"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

const (
	agentHookTimeout = 800 * time.Millisecond // an agent waits for its hook at each event
	workerTimeout    = 4 * time.Second        // a session waits at its start for the handoff that it takes
)

// agentHook is "hook agent".
type agentHook struct {
	*app

	client, event string
	warn          func(error) // writes a line to agent.log
}

func newHookAgent(a *app) command {
	hook := &agentHook{app: a}
	return command{
		use:   "agent AGENT EVENT",
		short: "Answer the hook of a coding agent; the agent calls this",
		long: `Reads the input that a coding agent gives its hooks, JSON on standard input, and prints
an answer in the agent's format, or nothing. "githandoff setup" installs these calls.

The hooks tell a session once about each handoff that waits for its agent or is held in
this worktree. They refuse a tool call outside the scope of a held token; a call that
cannot be read is outside of it. At the end of a turn they remind the agent once of a
handoff that it holds. They ask no hub. If anything else goes wrong, they print nothing
and exit 0; the file githandoff/agent.log in the git directory has the reason.

git config handoff.session   announce (default), peek (also shows the oldest),
                             take (claims it, if this repository is its home), off
git config handoff.stop      remind (default), off
git config handoff.end       keep (default), release (gives held handoffs back when a
                             session ends)`,
		exits: []fault.Code{},
		args:  takes(2, "AGENT and EVENT", &hook.client, &hook.event),
		run: func(ctx context.Context) error {
			hook.run(ctx)
			return nil
		},
	}
}

// run answers within its time or not at all. A tool call that was not judged in time counts as one
// that cannot be read: then a second look decides, which asks only what is held.
func (hook *agentHook) run(ctx context.Context) {
	limit := agentHookTimeout
	if strings.EqualFold(hook.event, "SessionStart") {
		limit = workerTimeout
	}
	hook.offline = true
	var out []byte
	var s *session
	dir := hook.Dir
	call, err := hook.read(ctx)
	if call != nil {
		unjudged := *call
		dir = cmp.Or(dir, call.Dir)
		out, s, err = hook.try(ctx, limit, call)
		if call.Event == agents.BeforeTool && isLate(err) {
			unjudged.Unread = cmp.Or(unjudged.Unread, errLate)
			out, s, err = hook.try(ctx, limit, &unjudged)
		}
	}
	if err == nil {
		signal.Ignore(syscall.SIGPIPE) // the exit code stays 0 even if nobody reads the answer
		_, err = beneath(hook.Stdout).Write(out)
	}
	if err != nil {
		quiet := hook.quiet(dir)
		_ = within(ctx, agentHookTimeout, func(ctx context.Context) error {
			quiet.log(ctx, hook.client, hook.event, err)
			return nil
		})
		return
	}
	s.answered(ctx)
}

var errLate = errors.New("it did not arrive in time")

func isLate(err error) bool {
	f := fault.As(err)
	return f != nil && f.Reason == fault.Late || errors.Is(err, context.DeadlineExceeded)
}

// try judges a call within a limit. It works on a copy of hook, so work that outlives its time
// shares nothing with the caller.
func (hook *agentHook) try(ctx context.Context, limit time.Duration, call *agents.Call) ([]byte, *session, error) {
	worker := &agentHook{app: hook.quiet(hook.Dir)}
	worker.warn = func(err error) { worker.log(ctx, hook.client, hook.event, err) }
	var out []byte
	var s *session
	err := within(ctx, limit, func(ctx context.Context) (err error) {
		defer worker.close()
		out, s, err = worker.judge(ctx, call)
		if out == nil {
			err = errors.Join(err, ctx.Err()) // without enough time, a repository looks like none
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return out, s, nil
}

// read reads a call. The call of a tool that does not come in time is one that cannot be read.
func (hook *agentHook) read(ctx context.Context) (*agents.Call, error) {
	in := hook.Stdin
	if output.IsTerminal(in) {
		in = strings.NewReader("")
	}
	var call *agents.Call
	err := within(ctx, agentHookTimeout, func(context.Context) (err error) {
		call, err = agents.Read(hook.client, hook.event, in, hook.Getenv)
		return err
	})
	if err == nil {
		return call, nil
	}
	why := err
	if isLate(err) {
		why = errLate
	}
	return agents.Unread(hook.client, hook.event, why, hook.Getenv), err
}

// settle sets the directory in which a call is judged: that of the session. If the call does not
// name a usable one, it is the directory in which the client started the hook.
func (hook *agentHook) settle(call *agents.Call) {
	here, _ := os.Getwd()
	there, err := os.Stat(call.Dir)
	switch {
	case call.Dir == "":
		call.Dir = here
	case call.Event != agents.BeforeTool:
	case call.Unread != nil:
		hook.Dir = cmp.Or(hook.Dir, here)
	case !filepath.IsAbs(call.Dir):
		call.Dir = filepath.Join(here, call.Dir)
	case err != nil || !there.IsDir():
		call.Dir = here
	}
	hook.Dir = cmp.Or(hook.Dir, call.Dir)
}

// judge answers a call from the worktree in which the session works and, if there is no answer,
// from the others with a file of the call.
func (hook *agentHook) judge(ctx context.Context, call *agents.Call) (out []byte, s *session, err error) {
	hook.settle(call)
	for _, place := range agenthook.Places(call, hook.Dir, hook.Vars) {
		if out != nil {
			break
		}
		at := hook
		if place.Dir != hook.Dir {
			at = &agentHook{app: hook.in(place.Dir), warn: hook.warn}
		}
		var failed error
		out, s, failed = at.answer(ctx, place.Call)
		if at != hook {
			at.close()
		}
		err = errors.Join(err, failed)
	}
	if out != nil {
		return out, s, nil // a refusal stands, even beside the error of another worktree
	}
	if call.Unread != nil {
		err = errors.Join(fmt.Errorf("read the input of a hook: %w", call.Unread), err)
	}
	return out, s, err
}

// answer asks the worktree of hook.Dir. It is silent if githandoff is not set up there. If the
// files alone show that there is no news, it starts no git.
func (hook *agentHook) answer(ctx context.Context, call *agents.Call) ([]byte, *session, error) {
	begun := hook.Now()
	ground := agenthook.GroundOf(hook.Dir, hook.As, hook.Vars, hook.Getenv, hook.Now)
	var view *agenthook.View
	if ground != nil {
		if ground.Quiet(call, ground.Stamp(call.Session)) {
			return nil, nil, nil
		}
		view = ground.Look()
	}
	repo, err := hook.openRepo(ctx)
	if err != nil || !hook.setUp(repo) {
		return nil, nil, nil //nolint:nilerr // a user's hooks run in every directory
	}
	settings := agenthook.SettingsOf(repo.Config)
	if settings.Session != "take" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, agentHookTimeout-hook.Now().Sub(begun))
		defer cancel()
	}
	ws, err := hook.workspace(ctx, reads)
	if err != nil {
		return nil, nil, err
	}
	if handoff.CheckAgent(ws.Agent) != nil {
		return nil, nil, nil //nolint:nilerr // a person works here, who has no inbox
	}
	ws.OnWarn = func(error) {}
	if view != nil && ground.Of(repo.GitDir, repo.CommonDir) {
		ground.Listen(view, ws.Inboxes())
	} else {
		view = nil
	}
	s := newSession(hook.app, ws)
	h := agenthook.Handler{Worktree: s, Settings: settings, Stamp: agenthook.StampOf(repo, call.Session), Warn: hook.warn, View: view}
	out, err := h.Handle(ctx, call)
	return out, s, err
}

// log notes in agent.log why a hook said nothing.
func (a *app) log(ctx context.Context, client, event string, reason error) {
	if repo, err := a.openRepo(ctx); err == nil && a.setUp(repo) {
		agenthook.Log(repo, a.Now(), client, event, reason)
	}
}
