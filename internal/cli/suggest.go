package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// badFlag refuses a flag. If a word before it is no command, that word is the mistake to report.
func badFlag(cmd *cobra.Command, args []string, err error) error {
	if word := wordBefore(cmd, args, err); word != "" {
		return noSuchCommand(cmd, word, args)
	}
	refusal := fault.New(fault.Usage, fault.BadUsage, "%w", plainFlag(err))
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && len(unknown.GetSpecifiedName()) > 1 {
		given := unknown.GetSpecifiedName()
		if meant := flagMeantBy(cmd.Flags(), given, args[len(args)-1] == "--"+given); meant != "" {
			return refusal.WithHints(fault.Instead("--"+given, "--"+meant), seeHelp(cmd))
		}
	}
	return refusal.WithHints(seeHelp(cmd))
}

// flagMeantBy returns the flag probably meant by an unknown one: that for which git, gh or people
// use the word, else the one with the nearest spelling; "" if there is none. The last word of a
// command line can only be a flag that needs no value.
func flagMeantBy(flags *pflag.FlagSet, word string, last bool) string {
	var known []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.NoOptDefVal != "" || !last {
			known = append(known, f.Name)
		}
	})
	meant := ""
	switch word {
	case "message", "title", "subject", "prompt", "text", "msg":
		if text := flags.ShorthandLookup("m"); text != nil {
			meant = text.Name
		}
	case "receiver", "recipient", "assignee", "target":
		meant = "to"
	case "body", "description":
		meant = "summary"
	}
	if slices.Contains(known, meant) {
		return meant
	}
	return fault.Nearest(word, known)
}

// plainFlag returns the error of a refused flag in the form of all others: the flag, its value, the
// values that it takes.
func plainFlag(err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("unknown flag: -%s", untrusted.Line(unknown.GetSpecifiedName()))
	}
	if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		dashes := "--"
		if bare.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		return fmt.Errorf("%s%s needs a value", dashes, bare.GetSpecifiedName())
	}
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	why := errors.Unwrap(invalid)
	if parse, ok := errors.AsType[*strconv.NumError](err); ok {
		if why = errors.New("want a whole number"); parse.Func == "ParseBool" {
			why = errors.New("want true or false")
		}
	}
	if invalid.GetValue() == "" {
		return fmt.Errorf("--%s is empty: %w", invalid.GetFlag().Name, why)
	}
	return fmt.Errorf("--%s %s: %w", invalid.GetFlag().Name, untrusted.Line(invalid.GetValue()), why)
}

// wantsJSON says whether --json is on a command line. pflag stops at the first flag that it refuses,
// and leaves the rest unread.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// wordBefore returns the first word below a group of commands, if the flag in question comes later.
func wordBefore(cmd *cobra.Command, args []string, err error) string {
	if _, unknown := errors.AsType[*pflag.NotExistError](err); !cmd.HasSubCommands() || !unknown {
		return ""
	}
	_, rest, _ := cmd.Root().Find(args)
	return firstWord(cmd.Flags(), rest)
}

// needs refuses a command without the flags that it cannot do without, written as on its page. A
// word which is no id was meant for the first of them.
func needs(a *app, command, flags, word string) *fault.Error {
	refusal := usage("%s needs %s", command, flags)
	flag, _, _ := strings.Cut(flags, " ")
	argv := append([]string{"githandoff"}, strings.Fields(command)...)
	if word == "" || len(a.Args) != len(argv) { // a hint for a command line with other flags would lose them
		return refusal.WithHints(fault.See(command))
	}
	return refusal.WithHints(fault.Run(append(argv, flag, word)...), fault.See(command))
}

// noID returns an argument that cannot be meant as an id; "" if it can.
func noID(arg string) string {
	if handoff.CheckSuffix(arg) == nil || strings.HasPrefix(arg, "ho_") || strings.HasPrefix(arg, "…") {
		return ""
	}
	return arg
}

// onlyCommands refuses the arguments of a group of commands.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return noSuchCommand(cmd, args[0], nil)
}

// noSuchCommand refuses what stands where a command should. Of a command that does not take the
// flags of this command line, the hint is its help.
func noSuchCommand(cmd *cobra.Command, word string, line []string) error {
	near := meantBy(cmd, word)
	var hints []fault.Hint
	for _, c := range near[:min(len(near), fault.MaxHints-1)] {
		hint := fault.Instead(word, c.Name())
		if c.ParseFlags(line) != nil {
			hint = seeHelp(c).Because("%s", hint.Why)
		}
		hints = append(hints, hint)
	}
	return usage("there is no command %s %s", cmd.CommandPath(), untrusted.Line(word)).WithHints(append(hints, seeHelp(cmd))...)
}

// meantBy returns the commands probably meant by a word: those for which git, gh or people use that
// word, else those that begin with it, else the command or topic with the nearest spelling.
func meantBy(cmd *cobra.Command, word string) (near []*cobra.Command) {
	word = strings.ToLower(word)
	var names []string
	var longer, all []*cobra.Command
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand() {
			continue
		}
		names, all = append(names, c.Name()), append(all, c)
		switch {
		case slices.Contains(c.SuggestFor, word) || c.Name() == word:
			near = append(near, c)
		case strings.HasPrefix(c.Name(), word):
			longer = append(longer, c)
		}
	}
	if len(near) > 0 {
		return near
	}
	if i := slices.Index(names, fault.Nearest(word, names)); len(longer) == 0 && i >= 0 {
		return all[i : i+1]
	}
	return longer
}

// afterDashes returns the command line of capture as it must be written.
func afterDashes(to string, command []string) fault.Hint {
	argv := []string{"githandoff", "capture"}
	if to != "" {
		argv = append(argv, "--to", to)
	}
	return fault.Run(append(append(argv, "--"), command...)...)
}

// orEnded adds the list of ended handoffs to the refusal of an argument which is no id, for a command
// that takes those too.
func orEnded(err error) error {
	f := fault.As(err)
	if f == nil || f.Reason != fault.InvalidID {
		return err
	}
	told := *f
	return told.WithHints(append(slices.Clone(f.Hints), fault.Run("githandoff", "history").Because("lists those that ended"))...)
}

// adviseNothingOf says, of an empty list, if the requested name looks misspelled.
func adviseNothingOf(a *app, ws *workspace.Workspace, name string) {
	if strings.Contains(name, "@") || slices.Contains(workspace.AgentsOfClone(ws.Repo), name) {
		return
	}
	if _, near := sign.NearestAgent(ws.Engine.Keys.Trust, name); near != "" {
		a.Warn(fmt.Errorf("no agent %s is known here", name))
		a.Hint(fault.Instead(name, near))
	}
}
