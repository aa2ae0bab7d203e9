package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"githandoff/hooks"
	"githandoff/internal/app/hookinstall"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/guard"
)

// hookCommand is "hook install", "hook uninstall" and "hook status".
type hookCommand struct {
	*app
	server bool
	names  hookinstall.Names
}

func newHook(a *app) command {
	c := &hookCommand{app: a}
	return command{
		use:     "hook",
		short:   "Install and run git hooks that hand over work",
		example: []string{"githandoff hook status"},
		sub: []command{
			newHookInstall(a),
			{
				use:     "uninstall",
				short:   "Remove the git hooks, and restore the earlier ones",
				example: []string{"githandoff hook uninstall"},
				exits:   []fault.Code{fault.Unavailable},
				run:     c.uninstall,
			},
			{
				use:     "status",
				short:   "Show which git hooks are installed",
				example: []string{"githandoff hook status"},
				exits:   []fault.Code{fault.Unavailable},
				run:     c.status,
			},
			newHookRun(a),
			newHookAgent(a),
		},
	}
}

func newHookInstall(a *app) command {
	c := &hookCommand{app: a}
	return command{
		use:   "install",
		short: "Install the git hooks of this clone, or the guard of this hub",
		long: `Installs githandoff's hooks where git looks for them (it respects core.hooksPath). An
existing hook is kept and runs first. If a hook manager writes the hooks, or they are
part of the work tree, nothing is installed, and the lines to add are printed.

With --server, in a bare repository, it installs the guard of the hub, pre-receive. The
guard refuses pushes to refs/handoffs that break the rules, and code that an agent
signed outside the token it names. It trusts the hub's own trust list (githandoff trust
add, run there), and the lists that root keys of that list publish at this hub.
The hub is known by its path and by each --url that clients use; a handoff for another
home is refused. A push never changes these names. If its clients use a prefix
(githandoff repo add --prefix), the guard needs the same one.`,
		example: []string{
			"githandoff hook install",
			"githandoff hook install --server --url https://example.com/acme/client.git",
		},
		exits: []fault.Code{fault.Unavailable},
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.server, "server", false, "install the guard of this hub")
			f.StringArrayVar(&c.names.URLs, "url", nil, "`URL` by which clients reach this hub")
			f.StringVar(&c.names.Prefix, "prefix", "", "`PREFIX` below which clients keep handoffs here, such as refs/heads/handoffs")
		},
		run: func(ctx context.Context) error {
			if c.server {
				return c.installGuard(ctx)
			}
			if len(c.names.URLs) > 0 {
				return usage("--url needs --server")
			}
			if c.names.Prefix != "" {
				return usage("--prefix needs --server")
			}
			return c.install(ctx)
		},
	}
}

// open makes the handler of this repository.
func (c *hookCommand) open(ctx context.Context) (*hookinstall.Handler, error) {
	repo, err := c.openRepo(ctx)
	return &hookinstall.Handler{Repo: repo, Path: c.Getenv("PATH")}, err
}

// install puts hooks into a clone; it is also what "init --hooks" does.
func (c *hookCommand) install(ctx context.Context) error {
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	done, err := h.Install(ctx)
	if done == nil {
		return err
	}
	if done.Manual != nil {
		return c.printLines(done.Manual)
	}
	if done.Scope != "" {
		c.Warn(fmt.Errorf("core.hooksPath is a %s setting, so these hooks run in every repository", done.Scope))
	}
	for _, r := range done.Hooks {
		if r.After == hooks.Edited {
			c.warnEdited(r)
		}
		if r.Misnamed() {
			c.Warn(fmt.Errorf("the previous hook checks its own name, which is now %s, and may fail: githandoff hook uninstall puts it back", r.Backup))
		}
		c.print(r)
	}
	return err
}

func (c *hookCommand) warnEdited(r hooks.Result) {
	c.Warn(fmt.Errorf("%s was edited after githandoff wrote it, and is not changed", r.Path))
}

// installGuard installs the guard of a hub, and warns of settings that defeat it.
func (c *hookCommand) installGuard(ctx context.Context) error {
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	done, err := h.InstallGuard(ctx, c.names)
	c.print(done.Hooks...)
	if done.NotAtomic {
		c.Warn(fmt.Errorf("receive.advertiseAtomic is off: no client of githandoff can push here"))
	}
	if done.OldGit {
		c.Warn(fmt.Errorf("this git is older than %s: the guard refuses each merge signed by an agent", guard.MergesGit))
	}
	if done.NoKey {
		add := fault.Run(append(c.Self(), "trust", "add", "FILE", "--agent", "A", "--role", "sender")...)
		c.Say("githandoff: no key is trusted at this hub yet, so it refuses every handoff: %s", add)
	}
	if done.NoURL {
		add := fault.Run(append(c.Self(), "hook", "install", "--server", "--url", "URL")...)
		c.Say("githandoff: this hub has no URL yet, so it takes handoffs only from clients that reach it by its path: %s", add)
	}
	return err
}

func (c *hookCommand) uninstall(ctx context.Context) error {
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	found, err := h.Uninstall(ctx)
	if slices.ContainsFunc(found, func(r hooks.Result) bool { return r.After == hooks.Called }) {
		c.Warn(errors.New("files that others wrote still call githandoff: take its lines out of those listed as called"))
	}
	for _, r := range found {
		switch {
		case r.After == hooks.Edited:
			c.warnEdited(r)
		case r.After == hooks.Foreign && r.Backup != "":
			c.Warn(fmt.Errorf("%s stays, because another program has replaced %s since: git does not run it", r.Backup, r.Path))
		}
	}
	c.print(found...)
	return err
}

func (c *hookCommand) status(ctx context.Context) error {
	h, err := c.open(ctx)
	if err != nil {
		return err
	}
	found, manager, err := h.Status(ctx)
	if manager != "" && slices.ContainsFunc(found, func(r hooks.Result) bool { return r.After.Unused() }) {
		c.Say("githandoff: %s runs the hooks here; githandoff hook install prints the lines that it needs", manager)
	}
	c.print(found...)
	return err
}

func (c *hookCommand) print(list ...hooks.Result) {
	for _, r := range list {
		c.Columns(hookRow{Backup: r.Backup, Before: string(r.Before), Hook: r.Name, Path: r.Path, State: string(r.After)},
			r.Name, string(r.After), r.Path)
	}
}

// printLines prints the lines by which a hook manager, or a hook in the work tree, calls
// githandoff.
func (c *hookCommand) printLines(m *hookinstall.Manual) error {
	if m.Manager != "" {
		c.Say("githandoff: %s runs the hooks here, so none was installed; make it call githandoff:", m.Manager)
	} else {
		c.Say("githandoff: the hooks here are files of the work tree, so none was installed; make them call githandoff:")
	}
	last := ""
	for _, l := range m.Lines {
		err := c.Result(hookLineRow{File: l.File, Hook: l.Hook, Line: l.Text, Manager: m.Manager}, func(t *output.Lines) {
			if l.File != last {
				t.Line("# %s", l.File)
			}
			fmt.Fprintln(t, l.Text)
		})
		if err != nil {
			return err
		}
		last = l.File
	}
	if m.Then != "" {
		c.Say("githandoff: then: %s", m.Then)
	}
	return nil
}
