// Package cli is what people and agents type: the cobra tree, one file a
// command, each of which parses, calls one function of the layers below, and
// renders. Results go to standard output, all else to standard error.
//
// # Manners
//
// An error is printed once, here: "githandoff: …" on one line, then "hint: …"
// with the command that mends it; with --json one object instead. What came
// from elsewhere (a hub's words, a path, a ref name) is escaped. Nothing is
// asked when there is no terminal. The exit code is that of the error
// (githandoff help exit-codes).
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// Env is the world that a command runs in.
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
	a := &app{Env: env, terminal: isTerminal(env.Stdout)}
	results := &results{w: env.Stdout}
	a.Stdout = results
	defer func() {
		if r := recover(); r != nil {
			a.fail(fault.New(fault.Bug, "bug", "%v", r).WithHint("please report this, with the command that you ran"))
			if env.Getenv("GITHANDOFF_DEBUG") != "" {
				panic(r)
			}
			code = int(fault.Bug)
		}
	}()
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(results)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	a.close()
	if err == nil {
		err = results.fault()
	}
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) && fault.CodeOf(err) != fault.Interrupted {
		err = fault.New(fault.Interrupted, "interrupted", "interrupted").
			WithHint("run the same command again: nothing is half done")
	}
	var exit exitStatus
	if errors.As(err, &exit) {
		return int(exit)
	}
	err = refs.DiskFault(err)
	a.fail(err)
	return int(fault.CodeOf(err))
}

// results is standard output. It remembers its first error, so that a full disk
// behind a redirection is noticed once, wherever it was hit.
type results struct {
	w   io.Writer
	err error
}

func (r *results) Write(b []byte) (int, error) {
	n, err := r.w.Write(b)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n, err
}

func (r *results) fault() error {
	if r.err == nil {
		return nil
	}
	return fault.New(fault.Other, "output", "write to standard output: %w", r.err)
}

// exitStatus ends the process without a message: the status of a command that
// githandoff ran for somebody.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "githandoff",
		Short: "Hand work from one coding agent to the next, with nothing but git",
		Long: `githandoff moves a unit of work from one coding agent to the next, in the same
repository or across repositories, with nothing but git. The sender leaves a
small signed record under refs/handoffs; the receiver finds it, takes it
exactly once, works, and acknowledges; then only a signed, payload-free log of
what happened is left. Tracked files, the index and HEAD are never touched.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       a.Version,
		Args:          noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("githandoff {{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVarP(&a.dir, "directory", "C", "", "run as if started in `DIR`")
	flags.StringVar(&a.as, "as", "", "act as this `AGENT`")
	flags.StringVar(&a.key, "key", "", "sign with this key: `KID`, fingerprint, file")
	flags.BoolVar(&a.json, "json", false, "print one JSON object a line")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no notes and warnings")
	flags.StringVar(&a.color, "color", "auto", "colour: auto, always, never")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fault.New(fault.Usage, "usage", "%w", err).WithHint("%s --help", cmd.CommandPath())
	})
	root.AddGroup(
		&cobra.Group{ID: "sender", Title: "Sender:"},
		&cobra.Group{ID: "receiver", Title: "Receiver:"},
		&cobra.Group{ID: "both", Title: "Both:"},
		&cobra.Group{ID: "audit", Title: "Audit:"},
		&cobra.Group{ID: "authority", Title: "Authority:"},
		&cobra.Group{ID: "prompts", Title: "Prompts and policy:"},
		&cobra.Group{ID: "setup", Title: "Set-up:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("sender", newEmit(a), newCapture(a), newValidate(a), newConvert(a))
	add("receiver", newInbox(a), newShow(a), newResume(a), newProgress(a), newRelease(a), newAck(a), newFail(a))
	add("both", newReroute(a), newRevoke(a), newSync(a), newStatus(a))
	add("audit", newAudit(a), newHistory(a), newVerify(a), newGC(a))
	add("authority", newKey(a), newTrust(a))
	add("prompts", newRender(a), newRoute(a), newSkills(a))
	add("setup", newInit(a), newRepo(a), newCheckpoint(a), newDoctor(a), newVersion(a), newCompletion(a), newHook(a))
	root.AddCommand(newTopics()...)
	help := newHelp()
	add("setup", help)
	root.SetHelpCommand(help)
	withExitCodes(root)
	a.addCompletions(root)
	return root
}

// usage is a refusal of the command line.
func usage(format string, args ...any) *fault.Error {
	return fault.New(fault.Usage, "usage", format, args...)
}

func exactArgs(n int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s takes %s", cmd.CommandPath(), names).WithHint("%s --help", cmd.CommandPath())
		}
		return nil
	}
}

func atMostArgs(n int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usage("%s takes %s", cmd.CommandPath(), names).WithHint("%s --help", cmd.CommandPath())
		}
		return nil
	}
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
