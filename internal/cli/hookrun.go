package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/hooks"
	"githandoff/internal/app/githook"
	"githandoff/internal/app/pushcheck"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

const (
	hookTimeout  = 5 * time.Second        // limit of one hook, unless handoff.hookTimeout sets another
	renewTimeout = 2 * time.Second        // limit within it for the renewal of leases at hubs
	hookGrace    = 300 * time.Millisecond // time after the limit in which a hook may report the timeout itself
)

func newHookRun(a *app) command {
	hook := &hookRun{app: a}
	return command{
		use:   "run NAME [ARG...]",
		short: "Do the work of one git hook; git calls this",
		long: `Does the work of a git hook, with the arguments and the standard input that git gives
it. A failure is only a warning: the exit code is 0, and after handoff.hookTimeout
seconds (5) git continues without waiting. There are two exceptions. pre-push exits
with 7, and git does not push, if this agent holds a handoff with a token and the push
is outside its scope (handoff.enforce=false makes this a warning). pre-receive, the
guard of a hub, refuses a push that breaks the rules.

post-commit         hands over what the Handoff-To trailers of your own commit ask
                    for, and the draft githandoff/draft.json in the git directory
                    (a draft that names no target goes to the target of the
                    commit); renews leases when half of their time has passed
prepare-commit-msg  adds the held handoff to the commit message: Handoff-Id and
                    Handoff-Token
commit-msg          does the same for a message that was written in an editor
pre-push            checks the push against the token of the held handoff, and
                    delivers what waits for the remote of the push
post-merge          reports the handoffs that wait for this agent
post-checkout       reports the handoffs that wait for this agent
post-rewrite        keeps the notes of rewritten commits
pre-receive         guards a hub (githandoff hook install --server)`,
		exits: []fault.Code{fault.Denied, fault.Policy, fault.Unavailable},
		args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("hook run needs the NAME of a hook").WithHints(hookNames())
			}
			hook.name, hook.args = args[0], args[1:]
			return nil
		},
		flags: func(f *pflag.FlagSet) {
			f.SetInterspersed(false) // arguments after NAME are git's
		},
		run: hook.run,
	}
}

// hookRun is "hook run", which git calls.
type hookRun struct {
	*app
	name string
	args []string
}

// work returns the function of the hook, nil for a hook without one.
func (hook *hookRun) work() func(ctx context.Context, repo *refs.Repo) error {
	return map[string]func(ctx context.Context, repo *refs.Repo) error{
		"post-commit": hook.postCommit,
		"prepare-commit-msg": func(ctx context.Context, repo *refs.Repo) error {
			return messages(hook.app, repo).Prepare(ctx, hook.args)
		},
		"commit-msg": func(ctx context.Context, repo *refs.Repo) error {
			return messages(hook.app, repo).Finish(ctx, hook.args)
		},
		"pre-push":      hook.prePush,
		"post-merge":    hook.sayWaiting,
		"post-checkout": hook.postCheckout,
		"post-rewrite":  hook.postRewrite,
	}[hook.name]
}

// messages names the claim of this worktree's agent in the messages of commits.
func messages(a *app, repo *refs.Repo) *githook.Messages {
	agent, err := a.identity(repo)
	if err != nil {
		agent = "" // no agent works here
	}
	// git sets ":" if there is no editor.
	return &githook.Messages{Repo: repo, Dir: a.Dir, NoEditor: a.Getenv("GIT_EDITOR") == ":", Agent: agent}
}

func hookNames() fault.Hint { return fault.Fact("the hooks are %s", strings.Join(hooks.Names(), ", ")) }

// run fails only with a pushcheck.Refusal: it stands between a user and git. The work is done with a
// copy of the app: what outlives its time shares nothing with the ending command.
func (hook *hookRun) run(ctx context.Context) error {
	hook.app.hook = true
	if slices.Contains(hooks.ServerNames(), hook.name) {
		return hook.preReceive(ctx)
	}
	worker := &hookRun{app: hook.in(hook.Dir), name: hook.name, args: hook.args}
	work := worker.work()
	if work == nil {
		return fault.New(fault.Usage, fault.UnknownHook, "no hook %q", hook.name).WithHints(hookNames())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := caught(func() error {
		repo, err := worker.openRepo(ctx)
		if err != nil {
			return err
		}
		return within(ctx, hook.budget(repo.Config), func(ctx context.Context) error {
			defer worker.close()
			return work(ctx, repo)
		})
	})
	if stop, ok := errors.AsType[*pushcheck.Refusal](err); ok {
		return stop
	}
	if fault.Is(err, fault.Late) {
		err = fmt.Errorf("%w; githandoff sync does the rest", err)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		hook.Warn(err)
		if hook.name == "post-commit" && fault.Is(err, fault.GitFailed) {
			hook.Hint(githook.Again())
		}
	}
	return nil
}

// budget returns how long git may be kept waiting.
func (hook *hookRun) budget(config refs.Config) time.Duration {
	s := config.Get("handoff.hooktimeout")
	if s == "" {
		return hookTimeout
	}
	n, err := strconv.ParseInt(s, 10, 32) // more seconds could overflow a time.Duration
	if err != nil || n < 1 {
		hook.Warn(fmt.Errorf("handoff.hookTimeout: %q is not a number of seconds", s))
		return hookTimeout
	}
	return time.Duration(n) * time.Second
}

// within waits for f no longer than limit. It does not kill a git which moves refs: such a git
// has a session of its own and ends by itself.
func within(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- caught(func() error { return f(ctx) }) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(hookGrace):
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return fault.New(fault.Unavailable, fault.Late, "not done within %s", limit)
}

// caught makes an error of a panic.
func caught(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Bug, fault.Crashed, "a bug in githandoff: %v", r)
		}
	}()
	return f()
}
