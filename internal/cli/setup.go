package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/agentsetup"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/private"
	"githandoff/internal/untrusted"
)

type setupCommand struct {
	*app

	clients                              []string
	user, project, check, remove, dryRun bool
	without, with                        []string
	wake, approve                        bool
}

func newSetup(a *app) command {
	c := &setupCommand{app: a}
	return command{
		use:   "setup [AGENT...]",
		short: "Let coding agents call githandoff by themselves",
		long: `Installs the hooks and the skill that tell a coding agent's session about its
handoffs, for ` + strings.Join(agentsetup.Clients(), ", ") + `.
Without AGENT it lists which of them are installed here and what it would write.

Changes are printed as a diff, and --dry-run only prints them. githandoff's own files are
written wherever an agent reads them. In a shared file, entries are added and no other
byte changes. --remove removes exactly what setup wrote, and leaves entries that somebody
edited since. Codex CLI asks its user to review each hook: /hooks.

Three parts are optional. --with mcp adds the server of "githandoff mcp", for an agent
without a shell or in a sandbox that keeps .git read-only, such as that of Codex CLI.
--approve lets its tools run without asking, if the client supports that (Codex CLI;
Gemini CLI in a project). --wake wakes a session that waits for its user when a handoff
arrives, which spends money (Claude Code, Codex CLI, OpenCode). Running setup again
without these flags keeps them.`,
		example: []string{
			"githandoff setup claude",
			"githandoff setup claude codex --project",
			"githandoff setup claude --with mcp --wake",
			"githandoff setup --check claude",
			"githandoff setup --remove claude",
		},
		exits: []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid, fault.Unavailable},
		args:  takesNames(&c.clients),
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&c.user, "user", false, "set up this user, in all repositories (default)")
			f.BoolVar(&c.project, "project", false, "set up this repository, for everyone who works in it")
			f.BoolVar(&c.check, "check", false, "only check the set-up, and change nothing")
			f.BoolVar(&c.remove, "remove", false, "remove the files and entries written by setup")
			f.BoolVarP(&c.dryRun, "dry-run", "n", false, "only print what would change")
			f.StringSliceVar(&c.with, "with", nil, "also add `PARTS`: "+agentsetup.MCP)
			f.BoolVar(&c.wake, "wake", false, "wake a waiting session when a handoff arrives")
			f.BoolVar(&c.approve, "approve", false, "let the server's tools run without asking; implies --with mcp")
			f.StringSliceVar(&c.without, "without", nil, "leave out `PARTS`: "+strings.Join(agentsetup.Parts(), ", "))
		},
		oneOf: [][]string{{"user", "project"}, {"check", "remove"}, {"check", "dry-run"}},
		run:   c.run,
	}
}

func (c *setupCommand) run(ctx context.Context) error {
	r, err := c.request(ctx)
	if err != nil {
		return err
	}
	for _, part := range c.without {
		if part != agentsetup.Hooks && part != agentsetup.Skill {
			return usage("--without %s: want one of %s", untrusted.Line(part), strings.Join(agentsetup.Parts(), ", "))
		}
	}
	for _, part := range c.with {
		if part != agentsetup.MCP {
			return usage("--with %s: want %s", untrusted.Line(part), agentsetup.MCP)
		}
	}
	switch {
	case c.check:
		return c.checkAll(r)
	case c.remove:
		return c.removeFrom(r)
	case len(c.clients) == 0:
		return c.offer(r)
	}
	if err := c.change(r.Plan, r.Apply); err != nil || c.dryRun {
		return err
	}
	for _, client := range c.clients {
		for _, text := range agentsetup.Advice(r, client) {
			c.Say("githandoff: %s", text)
		}
	}
	return nil
}

func (c *setupCommand) request(ctx context.Context) (*agentsetup.Request, error) {
	home, err := private.Home(c.Getenv)
	if err != nil {
		return nil, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	state, err := private.Dir(c.Getenv, private.State)
	if err != nil {
		return nil, err
	}
	r := &agentsetup.Request{
		Clients: c.clients, Without: c.without, Project: c.project, Home: home, Binary: binary, Getenv: c.Getenv,
		ConfigHome: c.configHome(home), StateHome: filepath.Dir(state),
	}
	r.With = c.with
	if c.wake {
		r.With = append(r.With, agentsetup.Wake)
	}
	if c.approve {
		r.With = append(r.With, agentsetup.Approve)
	}
	if !c.project {
		return r, nil
	}
	repo, err := c.openRepo(ctx)
	if err != nil {
		return nil, err
	}
	if repo.Worktree == "" {
		return nil, usage("--project: a bare repository has no files")
	}
	r.Root = repo.Worktree
	return r, nil
}

// configHome returns the directory of OpenCode's files. A variable without an absolute path is ignored,
// as the XDG specification requires.
func (c *setupCommand) configHome(home string) string {
	if dir := c.Getenv(private.Config); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home, ".config")
}

// removeFrom removes the set-up of some agents, and says which other agents ran hooks that went with it: Copilot CLI
// runs those of Claude Code.
func (c *setupCommand) removeFrom(r *agentsetup.Request) error {
	before, err := agentsetup.Hooked(r)
	if err != nil {
		return err
	}
	removed := c.change(r.PlanRemoval, r.Remove) // some files may be gone also if it fails
	after, err := agentsetup.Hooked(r)
	for _, client := range before {
		if err == nil && !slices.Contains(after, client) {
			c.Warn(fmt.Errorf("%s ran hooks from a file that was removed, and has none now", client))
			c.Hint(agentsetup.Command(c.project, client).Because("writes its own"))
		}
	}
	return cmp.Or(removed, err)
}

// offer says which agents are here.
func (c *setupCommand) offer(r *agentsetup.Request) error {
	present := r.Present()
	if len(present) == 0 {
		return fault.New(fault.NotFound, fault.NoClient, "found no coding agent of this user (looked for %s)", strings.Join(agentsetup.Clients(), ", ")).
			WithHints(fault.Run("githandoff", "setup", agentsetup.Clients()[0]).Because("sets up one of them nevertheless"))
	}
	r.Clients = present
	changes, err := r.Plan()
	if err != nil {
		return err
	}
	for _, change := range changes {
		c.print(change, false)
	}
	say := "nothing to write"
	if written(changes) != "" {
		say = "nothing was written; to write it, run: " + commandFor(c.app, c.again(present)...)
	}
	c.Say("githandoff: %s", say)
	return nil
}

// again returns the arguments that set up some agents as this command is asked to.
func (c *setupCommand) again(clients []string) []string {
	args := append([]string{"setup"}, clients...)
	if len(c.with) > 0 {
		args = append(args, "--with", strings.Join(c.with, ","))
	}
	if c.wake {
		args = append(args, "--wake")
	}
	if c.approve {
		args = append(args, "--approve")
	}
	if len(c.without) > 0 {
		args = append(args, "--without", strings.Join(c.without, ","))
	}
	if c.project {
		args = append(args, "--project")
	}
	return args
}

// change prints what it changed after it changed it: a reader of the diffs that leaves early, such as
// head, ends the program.
func (c *setupCommand) change(plan func() ([]*agentsetup.Change, error), apply func([]*agentsetup.Change) error) error {
	changes, err := plan()
	if err != nil {
		return err
	}
	done := "nothing was written"
	if !c.dryRun {
		if err := apply(changes); err != nil {
			return err
		}
		none := "nothing to write"
		if c.remove {
			none = "nothing to remove"
		}
		done = cmp.Or(written(changes), none)
	}
	for _, change := range changes {
		c.print(change, true)
	}
	c.Say("githandoff: %s", done)
	return agentsetup.Left(changes)
}

// written says how many files were changed, as the diffs may fill the screen; "" if none was.
func written(changes []*agentsetup.Change) string {
	count := map[agentsetup.State]int{}
	for _, change := range changes {
		count[change.State]++
	}
	var did []string
	if n := count[agentsetup.Write]; n > 0 {
		did = append(did, "wrote "+fault.Count(n, "file"))
	}
	if n := count[agentsetup.Delete]; n > 0 {
		did = append(did, "deleted "+fault.Count(n, "file"))
	}
	return strings.Join(did, " and ")
}

func (c *setupCommand) print(change *agentsetup.Change, diff bool) {
	c.Result(setupRow{change.Client, change.Path, string(change.State), change.Why}, func(t *output.Lines) {
		if !diff || change.Diff == "" {
			t.Line("%-8s %-6s %s", change.Client, change.State, change.Path)
			return
		}
		for line := range strings.Lines(change.Diff) {
			parts := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
			for i := range parts {
				parts[i] = untrusted.Line(parts[i])
			}
			fmt.Fprintln(t, strings.Join(parts, "\t"))
		}
	})
}

func (c *setupCommand) checkAll(r *agentsetup.Request) error {
	if len(r.Clients) == 0 {
		var err error
		if r.Clients, err = agentsetup.Known(r); err != nil {
			return err
		}
		if len(r.Clients) == 0 {
			c.Say("githandoff: nothing is set up: found no coding agent of this user (looked for %s)", strings.Join(agentsetup.Clients(), ", "))
		}
	}
	findings, err := r.Check()
	if err != nil {
		return err
	}
	bad := false
	var hints []fault.Hint
	for _, f := range findings {
		word := "ok"
		if !f.OK {
			word, bad = "problem", true
			hints = fault.AddHints(hints, f.Hint)
		}
		if err := c.Row(setupFindingRow{f.Client, f.OK, f.Text}, "%-8s %-8s %s", word, f.Client, f.Text); err != nil {
			return err
		}
	}
	if bad {
		return fault.New(fault.Other, fault.ProblemsFound, "the set-up has problems").WithHints(hints...)
	}
	return nil
}
