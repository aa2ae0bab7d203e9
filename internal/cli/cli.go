// Package cli has the commands of githandoff. Each has a file, which declares the command
// ([command]), calls a use case below internal/app, and prints the result. Results go to standard
// output, everything else to standard error.
//
// # Manners
//
// An error is printed once, here: "githandoff: …" on one line, then at most three lines "hint:
// …", each a command to paste, with its reason behind "#", or a remark alone; with --json one
// object instead.
// Foreign text (the words of a hub, a path, the name of a ref) is escaped. Without a terminal
// nothing is asked. The error has the exit code (githandoff help exit-codes).
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/cli/filter"
	"githandoff/internal/cli/output"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// Env is the environment of a command.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Vars   []string // the whole environment, for git
	Now    func() time.Time
	Random io.Reader

	Version string
}

// Main runs one command and returns its exit code.
func Main(ctx context.Context, env Env, args []string) (code int) {
	line := output.NewPatience(env.Stderr, output.IsTerminal(env.Stderr) && env.Getenv("TERM") != "dumb", env.Now)
	defer line.Stop()
	results := &results{w: env.Stdout, line: line}
	a := &app{Env: env, Printer: output.New(results, line.Before(env.Stderr), output.IsTerminal(env.Stdout), env.Getenv, env.Now)}
	a.Args, a.Stdout, a.patience, a.input = args, results, line, &input{ctx: ctx, r: env.Stdin}
	defer func() {
		if r := recover(); r != nil {
			a.Fail(fault.New(fault.Bug, fault.Crashed, "%v", r).WithHints(fault.Fact("please report this, with the command that you ran")))
			if env.Getenv("GITHANDOFF_DEBUG") != "" {
				panic(r)
			}
			code = int(fault.Bug)
		}
	}()
	root := newRoot(a, args)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(results)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	a.close()
	line.Stop()
	err = cmp.Or(err, a.noHelp, results.err)
	if err == nil {
		return 0
	}
	err = refusalOf(ctx, err)
	if exit, ok := errors.AsType[exitStatus](err); ok {
		return int(exit)
	}
	a.Fail(err)
	return int(fault.CodeOf(err))
}

// refusalOf returns the error of a command in words for its caller.
func refusalOf(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && fault.CodeOf(err) != fault.Interrupted {
		return interrupted(err)
	}
	return refs.DiskFault(err)
}

// interrupted returns the error of an interrupted command. If a step was sent, only its hub knows
// whether it was taken.
func interrupted(err error) error {
	said, again := "interrupted", "nothing is half done: run the same command again"
	if errors.Is(err, crossrepo.ErrInDoubt) {
		said, again = "interrupted during the push: the hub may have taken it, or not", "run the same command again: it finds out"
	}
	return fault.New(fault.Interrupted, fault.WasInterrupted, "%s", said).WithHints(fault.Fact("%s", again),
		fault.Run("githandoff", "status").Because("lists held and waiting handoffs"))
}

// results is standard output. It remembers its first error, so a full disk behind a redirection
// is reported once.
type results struct {
	w    io.Writer
	line *output.Patience // line at the foot of the terminal; hidden before results
	err  error
}

func (r *results) Write(b []byte) (int, error) {
	r.line.Hide()
	n, err := r.w.Write(b)
	if err == nil {
		return n, nil
	}
	if r.err == nil {
		r.err = fault.New(fault.Other, fault.Output, "write to standard output: %w", err).
			WithHints(fault.Run("githandoff", "status").Because("shows the steps that were recorded before"))
	}
	return n, r.err
}

// beneath returns the stream that results go to: a terminal, a file, or a pager.
func beneath(w io.Writer) io.Writer {
	if r, ok := w.(*results); ok {
		return r.w
	}
	return w
}

// exitStatus ends the process without a message, with the exit status of a command run by
// githandoff.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// group is a section of the list of commands, in the order of the help.
type group struct {
	id, title string
	commands  []entry
}

type entry struct {
	name string
	make func(*app) command
}

func groups() []group {
	return []group{
		{"sender", "Sender:", []entry{
			{"emit", newEmit}, {"capture", newCapture}, {"validate", newValidate}, {"convert", newConvert},
		}},
		{"receiver", "Receiver:", []entry{
			{"inbox", newInbox},
			{"show", newShow},
			{"resume", newResume},
			{"progress", newProgress},
			{"work", newWork},
			{"hold", newHold},
			{"release", newRelease},
			{"ack", newAck},
			{"fail", newFail},
		}},
		{"both", "Both:", []entry{
			{"reroute", newReroute}, {"revoke", newRevoke}, {"sync", newSync}, {"status", newStatus}, {"board", newBoard},
		}},
		{"audit", "Audit:", []entry{
			{"audit", newAudit}, {"history", newHistory}, {"report", newReport}, {"verify", newVerify}, {"gc", newGC},
		}},
		{"authority", "Authority:", []entry{{"key", newKey}, {"trust", newTrust}, {"obo", newOBO}}},
		{"prompts", "Prompts and policy:", []entry{{"render", newRender}, {"route", newRoute}, {"skills", newSkills}}},
		{"setup", "Set-up:", []entry{
			{"init", newInit},
			{"invite", newInvite},
			{"join", newJoin},
			{"setup", newSetup},
			{"repo", newRepo},
			{"checkpoint", newCheckpoint},
			{"doctor", newDoctor},
			{"version", newVersion},
			{"completion", newCompletion},
			{"hook", newHook},
			{"mcp", newMCP},
			{"watch", newWatch},
		}},
	}
}

// Tree returns the tree of all commands, for their pages.
func Tree() *cobra.Command { return newRoot(&app{}, nil) }

// newRoot makes the tree of commands: only the one named by args, or all of them to list, suggest
// and complete. All of them take a millisecond, as long as starting git.
func newRoot(a *app, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "githandoff",
		Short: "Hand work from one coding agent to the next, with nothing but git",
		Long: `githandoff moves a unit of work from one coding agent to the next, in the same
repository or across repositories, with nothing but git. The sender leaves a
small signed record under refs/handoffs; the receiver finds it, takes it
exactly once, works, and acknowledges; then only a signed, payload-free log of
what happened is left. Tracked files, the index and HEAD are never touched.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           a.Version,
		Args:              onlyCommands,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(args) > 0 { // only flags, as from a script with an empty variable
				return usage("no command is given").WithHints(seeHelp(cmd))
			}
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("githandoff {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVarP(&a.Dir, "directory", "C", "", "run as if started in `DIR`")
	flags.StringVar(&a.As, "as", "", "act as this `AGENT`")
	flags.StringVar(&a.Key, "key", "", "sign with this key: `KID`, fingerprint, file")
	flags.BoolVar(&a.JSON, "json", false, "print one JSON object per line")
	flags.BoolVarP(&a.Quiet, "quiet", "q", false, "print no notes or warnings")
	flags.Var(&a.Color, "color", "use colour: auto, always, never")
	withFilters(a, root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.JSON = a.JSON || wantsJSON(a.Args)
		return badFlag(cmd, a.Args, err)
	})
	only := named(flags, args)
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, e := range g.commands {
			if only != "" && e.name != only {
				continue
			}
			c := e.make(a).build()
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if a.noHelp = noHelpFor(cmd, args); a.noHelp == nil {
			fitted(cmd, func(out io.Writer) { writeHelp(out, cmd) })
		}
	})
	if only != "" {
		return root
	}
	root.AddCommand(newTopics()...)
	help := newHelp(root).build()
	help.GroupID = "setup"
	root.AddCommand(help)
	root.SetHelpCommand(help)
	completions{a}.add(root)
	return root
}

// named returns the command in args, behind the flags of all commands; "" if it is none of these.
func named(flags *pflag.FlagSet, args []string) string {
	word := firstWord(flags, args)
	for _, g := range groups() {
		for _, e := range g.commands {
			if e.name == word {
				return word
			}
		}
	}
	return ""
}

// firstWord returns the first of args which is neither a flag nor the value of one. An unknown flag
// hides it.
func firstWord(flags *pflag.FlagSet, args []string) string {
	for i := 0; i < len(args); i++ {
		name, isFlag := strings.CutPrefix(args[i], "-")
		if !isFlag {
			return args[i]
		}
		name = strings.TrimPrefix(name, "-")
		f := flags.Lookup(name)
		if len(name) == 1 {
			f = flags.ShorthandLookup(name)
		}
		if f == nil && !strings.Contains(name, "=") {
			return ""
		}
		if f != nil && f.NoOptDefVal == "" {
			i++
		}
	}
	return ""
}

// usage returns a refusal of the command line.
func usage(format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, fault.BadUsage, format, args...)
}

// withFilters gives all commands --jq and --template, which select from the objects of
// --json. A command with a flag of that name keeps its own.
func withFilters(a *app, root *cobra.Command) {
	set := func(choose filter.Filter, err error) error {
		if err == nil {
			a.JSON = true // a filter works on JSON
			a.Filter = func(w io.Writer, object any) error { return filtered(root.Context(), a, choose, w, object) }
		}
		return err
	}
	flags := root.PersistentFlags()
	flags.Func("jq", "print what a jq `EXPRESSION` makes of --json", func(text string) error { return set(filter.JQ(text)) })
	flags.Func("template", "print what a Go `TEMPLATE` makes of --json", func(text string) error { return set(filter.Template(text, a.Now)) })
}

// filtered prints what a filter selects. Main ends with an error of the filter, even if a caller drops
// it.
func filtered(ctx context.Context, a *app, choose filter.Filter, w io.Writer, object any) error {
	err := choose(ctx, w, object)
	if err == nil || ctx.Err() != nil {
		return err // nil, or the interruption
	}
	err = fault.WithoutTexts(usage("%w", err).WithHints(seeOptions())) // the error quotes the object
	if out, ok := a.Stdout.(*results); ok && out.err == nil {
		out.err = err
	}
	return err
}
