package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// command declares a command: its pages, its arguments and flags, and its function. Each is
// declared in its own file, and groups lists them.
type command struct {
	use     string   // name, then arguments
	suggest []string // other words for the name
	short   string
	long    string
	example []string     // command lines
	brief   []string     // flags on the short page; nil for all
	exits   []fault.Code // exit codes besides 0, 1 and 2; nil for all
	runs    bool         // ends with the exit status of a program that it runs

	args     cobra.PositionalArgs       // checks and binds the arguments; nil for none
	complete cobra.CompletionFunc       // completes an argument
	flags    func(flags *pflag.FlagSet) // declares and binds the flags
	oneOf    [][]string                 // groups of flags that exclude each other
	values   map[string][]string        // values that complete a flag, in place of those of its namesakes
	run      func(ctx context.Context) error

	sub []command // commands below this one; a command with any has no args and no run
}

// build makes the command for cobra, with its subcommands.
func (c command) build() *cobra.Command {
	cmd := &cobra.Command{
		Use: c.use, SuggestFor: c.suggest, Short: c.short, Long: c.long, Args: c.args, ValidArgsFunction: c.complete,
		Annotations: map[string]string{annotBrief: strings.Join(c.brief, " "), annotExits: c.exitList()},
		RunE:        func(cmd *cobra.Command, _ []string) error { return withAdvice(cmd, c.run(cmd.Context())) },
	}
	if len(c.example) > 0 {
		cmd.Example = "  " + strings.Join(c.example, "\n  ")
	}
	if len(c.sub) > 0 {
		cmd.Args, cmd.RunE = onlyCommands, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if c.flags != nil {
		c.flags(cmd.Flags())
	}
	if cmd.Args == nil {
		cmd.Args = takes(0, "no arguments")
	}
	for _, group := range c.oneOf {
		cmd.MarkFlagsMutuallyExclusive(group...) // a shell then completes only one flag of the group
	}
	if checkArgs := cmd.Args; len(c.sub) == 0 {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := c.checkFlags(cmd); err != nil {
				return err
			}
			return checkArgs(cmd, args)
		}
	}
	for flag, values := range c.values {
		_ = cmd.RegisterFlagCompletionFunc(flag, fixed(values...)) // fails only for an unknown flag
	}
	for _, below := range c.sub {
		cmd.AddCommand(below.build())
	}
	return cmd
}

// seeHelp returns the hint to read how a command is written.
func seeHelp(cmd *cobra.Command) fault.Hint {
	_, words, _ := strings.Cut(cmd.CommandPath(), " ")
	return fault.See(words)
}

// withAdvice adds the help of a command to an error of its command line without a hint.
func withAdvice(cmd *cobra.Command, err error) error {
	f := fault.As(err)
	if f == nil || len(f.Hints) > 0 || f.Code != fault.Usage {
		return err
	}
	advised := *f
	advised.Message = err.Error()
	return advised.WithHints(seeHelp(cmd))
}

// The annotations of a command, for its pages.
const (
	annotBrief = "brief"
	annotExits = "exits"
)

// exitList names the exit codes of a command. One with commands below it prints its help.
func (c command) exitList() string {
	codes := c.exits
	switch {
	case len(c.sub) > 0:
		codes = nil
	case codes == nil:
		codes = []fault.Code{fault.NotFound, fault.Denied, fault.Conflict, fault.Invalid, fault.Policy, fault.Unavailable}
	}
	codes = append([]fault.Code{0, fault.Other, fault.Usage}, codes...)
	slices.Sort(codes)
	var list []string
	for _, code := range codes {
		list = append(list, strconv.Itoa(int(code)))
	}
	says := strings.Join(list, " ")
	if c.runs {
		says += ", or that of CMD"
	}
	return says
}

// checkFlags refuses flags whose value must not be empty, two filters, and more than one flag of a
// group.
func (c command) checkFlags(cmd *cobra.Command) error {
	// An unset variable of a script must not mean the agent of this worktree, a trust for ever, another
	// target, hub or commit, no agent to return to, or the whole log. For git, -C "" is the current directory.
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" && f.Name != "directory" {
			err = usage("--%s is empty", f.Name).WithHints(seeHelp(cmd))
		}
	})
	if err != nil {
		return err
	}
	groups := c.oneOf
	// A command may have flags of its own with these names.
	if global := cmd.InheritedFlags(); global.Lookup("jq") != nil && global.Lookup("template") != nil {
		groups = append(slices.Clone(groups), []string{"jq", "template"})
	}
	for _, group := range slices.Backward(groups) {
		var given []string
		for _, name := range group {
			if cmd.Flags().Changed(name) {
				given = append(given, "--"+name)
			}
		}
		if n := len(given) - 1; n > 0 {
			return usage("use only one of %s and %s", strings.Join(given[:n], ", "), given[n]).WithHints(seeHelp(cmd))
		}
	}
	return nil
}

// takes binds the arguments of a command to variables, at most as many as there are variables.
// The first ones are required.
func takes(required int, says string, to ...*string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < required || len(args) > len(to) {
			return usage("%s takes %s", pathOf(cmd), says).WithHints(seeHelp(cmd))
		}
		for i, arg := range args {
			*to[i] = arg
		}
		// An unset variable of a script must not mean "the held handoff".
		if slices.Contains(args, "") {
			return usage("%s: empty argument", pathOf(cmd)).WithHints(seeHelp(cmd))
		}
		return nil
	}
}

// takesID binds the id of a handoff, as people type it.
func takesID(required int, to *string) cobra.PositionalArgs {
	says := "an ID"
	if required == 0 {
		says = "at most one ID"
	}
	bind := takes(required, says, to)
	return func(cmd *cobra.Command, args []string) error {
		err := bind(cmd, args)
		*to = handoff.Typed(*to)
		return err
	}
}

// wordOf hints, if a lone word is refused, at the flag that takes it. A mail address gets no such
// hint: nobody is told to act as a person.
func wordOf(flag string, then cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		err := then(cmd, args)
		if f := fault.As(err); f != nil && len(args) == 1 && args[0] != "" && !strings.Contains(args[0], "@") && ownFlags(cmd) == 0 {
			meant := fault.Run(append(strings.Fields(cmd.CommandPath()), "--"+flag, args[0])...)
			return f.WithHints(meant, seeHelp(cmd))
		}
		return err
	}
}

// ownFlags counts the given flags of a command, without those of all commands: a hint repeats these.
func ownFlags(cmd *cobra.Command) int {
	n := 0
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			n++
		}
	})
	return n
}

// takesNames binds any number of names, each of them once.
func takesNames(to *[]string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		*to = nil
		for _, arg := range args {
			if !slices.Contains(*to, arg) {
				*to = append(*to, arg)
			}
		}
		return nil
	}
}

// takesAny binds any number of arguments.
func takesAny(to *[]string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		*to = args
		return nil
	}
}
