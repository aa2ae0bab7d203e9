package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/screen"
)

type captureOptions struct {
	to, fromLog string
	draftFlags  // of which only task and goal are flags here
}

const (
	handoffPath        = "KELOS_HANDOFF_PATH"
	defaultHandoffPath = "/tmp/kelos-handoff.json"
)

func newCapture(a *app) *cobra.Command {
	var o captureOptions
	cmd := &cobra.Command{
		Use:   "capture [--to TARGET] [--from-log FILE|-] [-- CMD...]",
		Short: "Run an agent and hand over what it leaves, or take it from its log",
		Long: `With a command: runs it with KELOS_HANDOFF_PATH at a private file, and hands over
what it wrote there, to TARGET or to whom the document names. If neither names
anybody, the document is printed between markers, as Kelos does. The exit status
is that of the command: what cannot be handed over is a warning, and is kept in
the git directory. With --to, a command that succeeds and leaves nothing there is
exit code 3. A TARGET that nothing could reach is refused before it runs.

An agent that ended as blocked and names nobody is handed to nobody: its handoff
waits for a decision ("githandoff route").

Without a command: reads the file at KELOS_HANDOFF_PATH (/tmp/kelos-handoff.json,
a regular file of this user), or with --from-log the last complete pair of markers
in a log of any size, checks it, and prints it between markers; with --to it is
handed over instead. Times, names and colours that a collector of logs puts before
each line are taken off. A log without those markers may hold the last message of
an agent among its outputs: that is the detail then, its first paragraph the
summary, and the other outputs are data. Nothing there is a success, and nothing is
printed. A log that ends between the markers was cut off: a warning, and with --to
a refusal (exit 6).`,
		Example: `  githandoff capture --to fixer -- claude -p "find out why login fails"
  kubectl logs job/investigate | githandoff capture --from-log - --to fixer@client`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case dash > 0, dash < 0 && len(args) > 0:
				return usage("the command stands after --").WithHints(afterDashes(o.to, args))
			case dash == 0 && len(args) == 0:
				return usage("no command stands after --").WithHints(fault.See("capture"))
			case dash == 0 && o.fromLog != "":
				return usage("--from-log and a command: one of them")
			}
			for _, name := range []string{"to", "from-log"} { // a variable of a script that is not set
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return usage("--%s: it is empty", name)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.runCaptured(cmd.Context(), &o, args)
			}
			return a.runCapture(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.to, "to", "", "`TARGET`: agent, agent@alias or @alias")
	f.StringVar(&o.fromLog, "from-log", "", "take it from this log, `FILE` (- is standard input)")
	f.StringVar(&o.task, "task", "", "the sender's own `KEY` for the work")
	f.StringVar(&o.goal, "goal", "", "what the receiver shall reach, `TEXT`")
	return cmd
}

// runCapture takes what an agent has left.
func (a *app) runCapture(ctx context.Context, o *captureOptions) error {
	doc, err := a.left(o)
	if err != nil || doc == nil {
		return err
	}
	name := ""
	if o.fromLog == "" {
		name = a.leftPath()
	}
	env, err := a.captured(o, doc, name)
	if err != nil {
		return err
	}
	if o.to == "" {
		return a.printBlock(env)
	}
	_, err = a.emitCaptured(ctx, o, env)
	return err
}

// left reads the log or the file; nil where nothing was left.
func (a *app) left(o *captureOptions) ([]byte, error) {
	if o.fromLog == "" {
		return leftAt(a.leftPath())
	}
	log := a.Stdin
	if o.fromLog != "-" {
		f, err := a.openFile(o.fromLog)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		log = f
	}
	l, err := dialect.ReadLog(log)
	if err != nil {
		return nil, err
	}
	if err := a.cutOff(o, l); err != nil {
		return nil, err
	}
	return l.Left()
}

// cutOff says that a log ends within what its agent left. What an earlier task left
// there is printed, and handed over only by who asks for that.
func (a *app) cutOff(o *captureOptions, l dialect.Log) error {
	err := l.CutOff()
	switch {
	case err == nil:
		return nil
	case o.to == "" && l.Handoff.Found:
		a.Warn(fmt.Errorf("%w; the one before it is printed", err))
		return nil
	case o.to == "":
		a.Warn(err)
		return nil
	case l.Handoff.Found && o.fromLog != "-":
		capture := append(append([]string{"githandoff"}, a.there()...), "capture", "--from-log")
		first, second := fault.Arg(append(capture, o.fromLog)...), fault.Arg(append(capture, "-", "--to", o.to)...)
		return fault.As(err).WithHints(fault.Run("sh", "-c", first+" | "+second).Because("hands over the one before it"))
	}
	return fault.As(err).WithHints(fault.Hint{Why: "the end of the log holds the handoff; read the log again once the agent has ended"})
}

func (a *app) leftPath() string { return cmp.Or(a.Getenv(handoffPath), defaultHandoffPath) }

func leftAt(path string) ([]byte, error) {
	b, _, err := readOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, about(path, err)
	}
	return append([]byte{}, b...), nil // not nil: an empty file is not one that is missing
}

// captured reads a document and lays the flags over it. Where an agent of Kelos
// leaves one, it is of Kelos unless it tells another format.
func (a *app) captured(o *captureOptions, doc []byte, name string) (*handoff.Envelope, error) {
	p := paper{name: name, to: o.to}
	_, err := dialect.Detect(doc)
	_, kelos := dialect.Import(dialect.Kelos, doc)
	if o.fromLog != "" || dialect.Untold(err) && kelos == nil {
		p.format = dialect.Kelos
	}
	env, err := a.importDraft(p, doc)
	if err != nil {
		return nil, err
	}
	return env, a.apply(&o.draftFlags, env)
}

func (a *app) printBlock(env *handoff.Envelope) error {
	if err := screen.Envelope(env); err != nil {
		return err
	}
	doc, warnings, err := dialect.Export(dialect.Kelos, env)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		a.Warn(errors.New(w))
	}
	_, err = a.Stdout.Write(dialect.KelosBlock(doc))
	return err
}

// emitCaptured hands over. As with emit, what was sent is durable also when a hub
// could not be reached.
func (a *app) emitCaptured(ctx context.Context, o *captureOptions, env *handoff.Envelope) (sent bool, err error) {
	d, err := a.desk(ctx, signs)
	if err != nil {
		return false, err
	}
	to, err := a.unlessBlocked(o.to, env)
	if err != nil {
		return false, err
	}
	done, err := a.emit(ctx, d, env, &emitOptions{to: to, ttl: lifecycle.DefaultTTL})
	if done == nil {
		return false, err
	}
	if perr := a.printEmitted(done); err == nil {
		err = perr
	}
	return true, err
}

// unlessBlocked is the target, chosen before anybody knew how the agent would
// end. Who helps one that is blocked is to be decided, at the same home.
func (a *app) unlessBlocked(to string, env *handoff.Envelope) (string, error) {
	if to == "" || env.Status != handoff.StatusBlocked || env.Target.Agent != nil {
		return to, nil
	}
	agent, alias, err := handoff.ParseTarget(to)
	if err != nil || agent == nil {
		return to, err
	}
	a.Say("githandoff: it is blocked, and waits for a decision instead of going to %s", to)
	if alias == "" {
		return "", nil
	}
	return "@" + alias, nil
}
