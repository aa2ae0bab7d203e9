package cli

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/crossrepo"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
)

// completions says what a shell can complete.
type completions struct{ *app }

func newCompletion(a *app) command {
	var shell string
	shells := []string{"bash", "zsh", "fish"}
	return command{
		use:   "completion bash|zsh|fish",
		short: "Print a completion script for a shell: commands, ids and agents",
		long: `Prints a script for the shell's start-up file. bash needs the package
bash-completion. In zsh the line comes after "compinit".`,
		example: []string{
			"source <(githandoff completion bash)   # in ~/.bashrc",
			"source <(githandoff completion zsh)    # in ~/.zshrc",
			"githandoff completion fish > ~/.config/fish/completions/githandoff.fish",
		},
		exits:    []fault.Code{},
		args:     takes(1, "a shell: bash, zsh or fish", &shell),
		complete: fixed(shells...),
		run: func(_ context.Context) error {
			switch root := newRoot(a, nil); shell {
			case "bash":
				return root.GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.Stdout)
			case "fish":
				return root.GenFishCompletion(a.Stdout, true)
			}
			hints := []fault.Hint{fault.See("completion")}
			if near := fault.Nearest(shell, shells); near != "" {
				hints = []fault.Hint{fault.Instead(shell, near)}
			}
			return usage("no completion for %s: want bash, zsh or fish", untrusted.Line(shell)).WithHints(hints...)
		},
	}
}

// add tells the shell what may stand where. It is asked between two
// key strokes: only what lies here is looked at, and no hub is.
func (c completions) add(root *cobra.Command) {
	flags := map[string]cobra.CompletionFunc{
		"as": c.agents, "agent": c.agents, "on-failure": c.agents, "to": c.agents,
		"audience": c.aliases,
		"format":   fixed(append(dialect.Formats(), "prompt")...), "from": fixed(dialect.Formats()...),
		"color": fixed("auto", "always", "never"), "role": fixed("sender", "recipient", "root"),
		"status": fixed(handoff.StatusComplete, handoff.StatusBlocked, handoff.StatusNeedsReview, handoff.StatusNeedsClarification),
	}
	asked := len(c.Args) > 0 && strings.HasPrefix(c.Args[0], "__complete") // a shell asks; the help needs its backquotes
	each(root, func(cmd *cobra.Command) {
		if asked {
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") })
		}
		for name, f := range flags {
			if cmd.LocalFlags().Lookup(name) != nil {
				_ = cmd.RegisterFlagCompletionFunc(name, f) // fails if the command completes the flag itself
			}
		}
	})
}

// each visits a command and all below it.
func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		each(c, visit)
	}
}

func fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// agents offers the agents whose keys are trusted here.
func (c completions) agents(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if trust, err := c.anyTrust(cmd.Context()); err == nil {
		for _, e := range trust.Entries() {
			if e.Retired == "" {
				names = append(names, e.Agents...)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}

// trusted offers the ids of the keys trusted here.
func (c completions) trusted(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var kids []string
	if trust, err := c.anyTrust(cmd.Context()); err == nil {
		for _, e := range trust.Entries() {
			if e.Retired == "" {
				kids = append(kids, cobra.CompletionWithDesc(e.KID, strings.Join(append(e.Agents, e.Principals...), ", ")))
			}
		}
	}
	return kids, cobra.ShellCompDirectiveNoFileComp
}

// keys offers the names of the keys of this account.
func (c completions) keys(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	infos, _ := c.keystore().List()
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// aliases offers the names of repositories that mean nothing else to a shell: it may put what several
// names have in common into the line as it stands.
func (c completions) aliases(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	repo, err := c.openRepo(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := crossrepo.Aliases{Repo: repo}.Names()
	names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(args, n) || !untrusted.IsWord(n) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// heldIDs offers the handoffs held by this worktree.
func (c completions) heldIDs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	repo, err := c.openRepo(cmd.Context())
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	held, _ := work.ClaimsOf(repo).Held()
	var ids []string
	for _, h := range held {
		ids = append(ids, string(h.ID))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// openIDs offers the handoffs of which a ref is here.
func (c completions) openIDs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	repo, err := c.openRepo(cmd.Context())
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := repo.List(cmd.Context(), refs.Root+"inbox/", refs.Root+"outbox/", refs.Root+"sent/", refs.Root+"remotes/*/inbox/")
	var ids []string
	for _, r := range list {
		rest, id := path.Split(r.Name)
		kind, agent := path.Split(strings.TrimSuffix(rest, "/"))
		if _, err := handoff.ParseID(id); err == nil {
			ids = append(ids, cobra.CompletionWithDesc(id, path.Base(kind)+" "+untrusted.Name(agent)))
		}
	}
	slices.Sort(ids)
	ids = slices.CompactFunc(ids, func(a, b string) bool { return a[:handoff.IDLen] == b[:handoff.IDLen] })
	return ids, cobra.ShellCompDirectiveNoFileComp
}
