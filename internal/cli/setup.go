package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"githandoff/internal/app/agentsetup"
	"githandoff/internal/fault"
	"githandoff/internal/private"
)

type setupOptions struct {
	project, check, remove, dryRun bool
	without                        []string
}

func newSetup(a *app) *cobra.Command {
	var o setupOptions
	var user bool
	cmd := &cobra.Command{
		Use:   "setup [AGENT...]",
		Short: "Let coding agents call githandoff by themselves",
		Long: `Installs the hooks and the skill by which a coding agent's session knows of its
handoffs, for ` + strings.Join(agentsetup.Clients(), ", ") + `.
Without AGENT it says which of them are here and what it would write.

What changes is printed as a diff first. Files of githandoff's own are written
wherever an agent reads them; in a file that is shared, entries are added and no
other byte changes. --remove takes away exactly what was written, and leaves what
somebody edited since. Codex CLI asks its user to review each hook: /hooks.`,
		Example: `  githandoff setup claude
  githandoff setup claude codex --project
  githandoff setup --check claude
  githandoff setup --remove claude`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case user && o.project:
				return usage("--user and --project: one of them")
			case o.check && (o.remove || o.dryRun):
				return usage("--check changes nothing: it goes with neither --remove nor --dry-run")
			}
			return a.runSetup(cmd.Context(), args, &o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&user, "user", false, "for this user, in all repositories (default)")
	f.BoolVar(&o.project, "project", false, "for everybody who works in this repository")
	f.BoolVar(&o.check, "check", false, "say whether all is as it should be, and change nothing")
	f.BoolVar(&o.remove, "remove", false, "take away what setup wrote")
	f.BoolVarP(&o.dryRun, "dry-run", "n", false, "only print what would change")
	f.StringSliceVar(&o.without, "without", nil, "leave out `PARTS`: "+strings.Join(agentsetup.Parts(), ", "))
	return cmd
}

func (a *app) runSetup(ctx context.Context, clients []string, o *setupOptions) error {
	r, err := a.setupRequest(ctx, clients, o)
	if err != nil {
		return err
	}
	for _, part := range o.without {
		if part != agentsetup.Hooks && part != agentsetup.Skill {
			return usage("--without %s: known are %s", printable(part), strings.Join(agentsetup.Parts(), ", "))
		}
	}
	switch {
	case o.check:
		return a.checkSetup(r)
	case o.remove:
		return a.changeSetup(r.PlanRemoval, r.Remove, o)
	case len(clients) == 0:
		return a.offerSetup(r)
	}
	return a.changeSetup(r.Plan, r.Apply, o)
}

func (a *app) setupRequest(ctx context.Context, clients []string, o *setupOptions) (*agentsetup.Request, error) {
	home, err := private.Home(a.Getenv)
	if err != nil {
		return nil, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := &agentsetup.Request{
		Clients: clients, Without: o.without, Project: o.project, Home: home, Binary: binary, Getenv: a.Getenv,
		ConfigHome: a.base("XDG_CONFIG_HOME", home, ".config"), StateHome: a.base("XDG_STATE_HOME", home, ".local", "state"),
	}
	if !o.project {
		return r, nil
	}
	repo, err := a.openRepo(ctx)
	if err != nil {
		return nil, err
	}
	if repo.Worktree == "" {
		return nil, usage("--project: a bare repository has no files")
	}
	r.Root = repo.Worktree
	return r, nil
}

// base is a base directory of a client's files. A variable that is no absolute path is
// passed over, as the XDG specification has it.
func (a *app) base(variable, home string, fallback ...string) string {
	if dir := a.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(append([]string{home}, fallback...)...)
}

// offerSetup says which agents are here.
func (a *app) offerSetup(r *agentsetup.Request) error {
	present := r.Present()
	if len(present) == 0 {
		return fault.New(fault.NotFound, fault.NoClient, "none of %s has been run by this user", strings.Join(agentsetup.Clients(), ", ")).
			WithHints(fault.Run("githandoff", "setup", "--help").Because("how to name one all the same"))
	}
	r.Clients = present
	changes, err := r.Plan()
	if err != nil {
		return err
	}
	for _, c := range changes {
		a.printChange(c, false)
	}
	a.Say("nothing was written: githandoff setup %s", strings.Join(present, " "))
	return nil
}

func (a *app) changeSetup(plan func() ([]*agentsetup.Change, error), apply func([]*agentsetup.Change) error, o *setupOptions) error {
	changes, err := plan()
	if err != nil {
		return err
	}
	for _, c := range changes {
		a.printChange(c, true)
	}
	if !o.dryRun {
		if err := apply(changes); err != nil {
			return err
		}
	}
	return agentsetup.Left(changes)
}

func (a *app) printChange(c *agentsetup.Change, diff bool) {
	if a.JSON {
		a.Object(setupRow{c.Client, c.Path, string(c.State), c.Why})
		return
	}
	if diff && c.Diff != "" {
		for line := range strings.Lines(c.Diff) {
			parts := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
			for i := range parts {
				parts[i] = printable(parts[i])
			}
			fmt.Fprintln(a.Stdout, strings.Join(parts, "\t"))
		}
		return
	}
	fmt.Fprintf(a.Stdout, "%-8s %-6s %s\n", c.Client, c.State, printable(c.Path))
}

func (a *app) checkSetup(r *agentsetup.Request) error {
	if len(r.Clients) == 0 {
		r.Clients = r.Present()
	}
	findings, err := r.Check()
	if err != nil {
		return err
	}
	bad := 0
	for _, f := range findings {
		word := "ok"
		if !f.OK {
			word = "problem"
			bad++
		}
		if a.JSON {
			a.Object(setupFindingRow{f.Client, f.OK, f.Text})
			continue
		}
		fmt.Fprintf(a.Stdout, "%-8s %-8s %s\n", word, f.Client, printable(f.Text))
	}
	if bad > 0 {
		return fault.New(fault.Other, fault.ProblemsFound, "the set-up is not as it should be").
			WithHints(fault.Run(append([]string{"githandoff", "setup"}, r.Clients...)...).Because("writes what is missing"))
	}
	return nil
}
