package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/hooks"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// hookCommand is "hook install", "hook uninstall" and "hook status".
type hookCommand struct {
	*app
	server bool
	urls   []string
	prefix string
}

func newHook(a *app) command {
	c := &hookCommand{app: a}
	return command{
		use:     "hook",
		short:   "Install and run git hooks that hand work over",
		example: []string{"githandoff hook status"},
		sub: []command{
			newHookInstall(a),
			{
				use:     "uninstall",
				short:   "Remove the git hooks, and restore the earlier ones",
				example: []string{"githandoff hook uninstall"},
				exits:   []fault.Code{fault.Unavailable},
				args:    takes(0, "no arguments"),
				run:     c.uninstall,
			},
			{
				use:     "status",
				short:   "Show which git hooks are installed",
				example: []string{"githandoff hook status"},
				exits:   []fault.Code{fault.Unavailable},
				args:    takes(0, "no arguments"),
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
signed outside the token it names. It trusts the hub's own trust list (githandoff
-C HUB.git trust add), and the lists that root keys of that list publish at this hub.
The hub is known by its path and by each --url that clients use; a handoff for another
home is refused. A push never changes these names. If its clients use a prefix
(githandoff repo add --prefix), the guard needs the same one.`,
		example: []string{
			"githandoff hook install",
			"githandoff -C /srv/git/client.git hook install --server",
		},
		exits: []fault.Code{fault.Unavailable},
		args:  takes(0, "no arguments"),
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.server, "server", false, "install the guard of this hub")
			f.StringArrayVar(&c.urls, "url", nil, "`URL` by which clients reach this hub")
			f.StringVar(&c.prefix, "prefix", "", "`PREFIX` below which clients keep handoffs here, such as refs/heads/handoffs")
		},
		run: func(ctx context.Context) error {
			if c.server {
				return c.installGuard(ctx)
			}
			if len(c.urls) > 0 {
				return usage("--url needs --server")
			}
			if c.prefix != "" {
				return usage("--prefix needs --server")
			}
			return c.install(ctx)
		},
	}
}

// install puts hooks into a clone; it is also what "init --hooks" does.
func (c *hookCommand) install(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	if repo.Bare {
		return fault.New(fault.Usage, fault.BareRepository, "git runs none of these hooks in a bare repository").
			WithHints(fault.Run("githandoff", "hook", "install", "--server").Because("guards a hub, if this repository is one"))
	}
	dir, scope, err := gitconfig.HooksDir(ctx, repo)
	if err != nil {
		return err
	}
	if m, ok := hooks.DetectManager(repo.Worktree, dir); ok {
		c.Say("githandoff: %s runs the hooks here, so none was installed; make it call githandoff:", m.Name)
		return c.printLines(m, m.File)
	}
	if c.shared(ctx, repo, dir) {
		c.Say("githandoff: the hooks here are files of the work tree, so none was installed; make them call githandoff:")
		return c.printLines(hooks.Manager{Config: dir}, func(name string) string { return filepath.Join(dir, name) })
	}
	if scope == "global" || scope == "system" {
		c.Warn(fmt.Errorf("core.hooksPath is a %s setting, so these hooks run in every repository", scope))
	}
	exe, err := c.program()
	if err != nil {
		return err
	}
	done, err := hooks.Install(dir, hookNames(), exe)
	for _, r := range done {
		if r.After == hooks.Edited {
			c.Warn(fmt.Errorf("%s was edited after githandoff wrote it, and is not changed", r.Path))
		}
		c.print(r)
	}
	return err
}

func (c *hookCommand) uninstall(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	dir, _, err := gitconfig.HooksDir(ctx, repo)
	if err != nil {
		return err
	}
	done, err := hooks.Uninstall(dir, hooks.Names())
	if repo.Bare && err == nil {
		done, err = c.removeGuard(ctx, repo, dir)
	}
	for _, r := range done {
		if r.Before != hooks.Absent {
			c.print(r)
		}
	}
	return err
}

func (c *hookCommand) status(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	dir, _, err := gitconfig.HooksDir(ctx, repo)
	if err != nil {
		return err
	}
	if m, ok := hooks.DetectManager(repo.Worktree, dir); ok {
		c.Say("githandoff: %s runs the hooks here; githandoff hook install prints the lines that it needs", m.Name)
	}
	names := hookNames()
	if repo.Bare {
		dir, names = hooks.ServerDir(dir, repo.CommonDir), hooks.ServerNames()
	}
	found, err := hooks.Status(dir, names)
	for _, r := range found {
		c.print(r)
	}
	return err
}

// shared reports whether hooks in dir would be part of somebody's next commit: dir is in the
// work tree, and git does not ignore all of them.
func (c *hookCommand) shared(ctx context.Context, repo *refs.Repo, dir string) bool {
	top, err := filepath.EvalSymlinks(repo.Worktree)
	if err != nil || !inside(dir, top) || inside(dir, repo.CommonDir) || inside(dir, repo.GitDir) {
		return false
	}
	var paths strings.Builder
	for _, name := range hookNames() {
		paths.WriteString(filepath.Join(dir, name) + "\x00")
	}
	// Exit code 1 says that it ignores none of them.
	out, _ := repo.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"check-ignore", "-z", "--stdin"}, Stdin: strings.NewReader(paths.String()),
	})
	return string(out) != paths.String()
}

// inside reports whether path is dir or below it.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// program is the path by which hooks start this program. A link in PATH is better than its
// target, since an upgrade changes the target.
func (c *hookCommand) program() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	own, err := os.Stat(exe)
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	for _, dir := range filepath.SplitList(c.Getenv("PATH")) {
		path := filepath.Join(dir, "githandoff")
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && os.SameFile(info, own) {
			return path, nil
		}
	}
	return exe, nil
}

func (c *hookCommand) print(r hooks.Result) {
	c.Columns(hookRow{Backup: r.Backup, Before: string(r.Before), Hook: r.Name, Path: r.Path, State: string(r.After)},
		r.Name, string(r.After), r.Path)
}

// printLines prints the lines by which a hook manager, or a hook in the work tree, calls
// githandoff.
func (c *hookCommand) printLines(m hooks.Manager, file func(hook string) string) error {
	last := ""
	for _, name := range hookNames() {
		path, line := file(name), m.Line(name)
		err := c.Result(hookLineRow{File: path, Hook: name, Line: line, Manager: m.Name}, func(t *output.Lines) {
			if path != last {
				t.Line("# %s", path)
			}
			fmt.Fprintln(t, line)
		})
		if err != nil {
			return err
		}
		last = path
	}
	return nil
}
