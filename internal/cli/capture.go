package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"githandoff/internal/app/emit"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/screen"
)

type captureCommand struct {
	*app

	to, fromLog string
	lastMessage string
	draft       draftFlags
}

const (
	handoffPath        = "KELOS_HANDOFF_PATH"
	defaultHandoffPath = "/tmp/kelos-handoff.json"
)

func newCapture(a *app) *cobra.Command {
	c := &captureCommand{app: a}
	cmd := &cobra.Command{
		Use:   "capture [--to TARGET] [--from-log FILE|- | --last-message FILE|-] [-- CMD...]",
		Short: "Run an agent and hand over what it wrote, or read that from a log",
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
summary, and the other outputs are data. Nothing there is a success: one line on
standard error says so. A log that ends between the markers was cut off: a warning, and
with --to a refusal (exit 6).

--last-message takes what an agent said last, from the output of its client: claude -p
(json, stream-json), codex exec (--output-last-message, --json), gemini (json,
stream-json), opencode run (--format json), copilot -p (json). A document in the message,
such as the JSON block at its end, is the handoff; else the message is the detail, its
first paragraph the summary. With --to, an agent that said nothing is exit code 3.`,
		Example: `  githandoff capture --to fixer -- claude -p "find out why login fails"
  kubectl logs job/investigate | githandoff capture --from-log - --to fixer@client
  claude -p --output-format json "find out why login fails" | githandoff capture --last-message - --to fixer`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case dash > 0, dash < 0 && len(args) > 0:
				return usage("put the command after --").WithHints(afterDashes(c.to, args))
			case dash == 0 && len(args) == 0:
				return usage("no command after --").WithHints(fault.See("capture"))
			case dash == 0 && c.fromLog != "":
				return usage("--from-log and a command: one of them")
			case c.lastMessage != "" && (dash == 0 || c.fromLog != ""):
				return usage("--last-message, --from-log and a command: one of them")
			}
			for _, name := range []string{"to", "from-log", "last-message"} { // a variable of a script that is not set
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return usage("--%s is empty", name)
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return c.runAgent(cmd.Context(), args)
			}
			return c.takeLeft(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.to, "to", "", "`TARGET`: agent, agent@alias or @alias")
	f.StringVar(&c.fromLog, "from-log", "", "take it from this log, `FILE` (- is standard input)")
	f.StringVar(&c.lastMessage, "last-message", "", "take it from what a client printed, `FILE` (- is standard input)")
	c.draft = registerDraft(f, "task", "goal")
	return cmd
}

// takeLeft takes what an agent has left.
func (c *captureCommand) takeLeft(ctx context.Context) error {
	doc, err := c.left()
	if err == nil && doc == nil {
		c.sayNothing()
	}
	if err != nil || doc == nil {
		return err
	}
	name := ""
	if c.fromLog == "" && c.lastMessage == "" {
		name = c.leftPath()
	}
	env, err := c.read(doc, name)
	if err != nil {
		return err
	}
	if c.to == "" {
		return c.printBlock(env)
	}
	_, err = c.emit(ctx, env)
	return err
}

// left reads the log or the file; nil where nothing was left.
func (c *captureCommand) left() ([]byte, error) {
	if c.lastMessage != "" {
		return c.message()
	}
	if c.fromLog == "" {
		return leftAt(c.leftPath())
	}
	log := c.Stdin
	if c.fromLog != "-" {
		f, err := c.openFile(c.fromLog)
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
	if err := c.cutOff(l); err != nil {
		return nil, err
	}
	return l.Left()
}

// cutOff says that a log ends within what its agent left. What an earlier task left
// there is printed, and handed over only by who asks for that.
func (c *captureCommand) cutOff(l dialect.Log) error {
	err := l.CutOff()
	switch {
	case err == nil:
		return nil
	case c.to == "" && l.Handoff.Found:
		c.Warn(fmt.Errorf("%w; the previous one is printed", err))
		return nil
	case c.to == "":
		c.Warn(err)
		return nil
	case l.Handoff.Found && c.fromLog != "-":
		capture := append(c.Self(), "capture", "--from-log")
		first, second := fault.Arg(append(capture, c.fromLog)...), fault.Arg(append(capture, "-", "--to", c.to)...)
		return fault.As(err).WithHints(fault.Run("sh", "-c", first+" | "+second).Because("hands over the previous one"))
	}
	return fault.As(err).WithHints(fault.Hint{Why: "the end of the log holds the handoff; read the log again once the agent has ended"})
}

func (c *captureCommand) leftPath() string { return cmp.Or(c.Getenv(handoffPath), defaultHandoffPath) }

func leftAt(path string) ([]byte, error) {
	b, _, err := readOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.About(path, err)
	}
	return append([]byte{}, b...), nil // not nil: an empty file is not one that is missing
}

// read reads a document and lays the flags over it. Where an agent of Kelos
// leaves one, it is of Kelos unless it tells another format.
func (c *captureCommand) read(doc []byte, name string) (*handoff.Envelope, error) {
	p := paper{name: name, to: c.to}
	_, err := dialect.Detect(doc)
	_, kelos := dialect.Import(dialect.Kelos, doc)
	if c.fromLog != "" || dialect.Untold(err) && kelos == nil {
		p.format = dialect.Kelos
	}
	env, err := (&documents{c.app}).draft(p, doc)
	if err != nil {
		return nil, err
	}
	return env, c.draft.apply(c.app, env)
}

func (c *captureCommand) printBlock(env *handoff.Envelope) error {
	if err := screen.Envelope(env); err != nil {
		return err
	}
	doc, warnings, err := dialect.Export(dialect.Kelos, env)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		c.Warn(errors.New(w))
	}
	_, err = c.Stdout.Write(dialect.KelosBlock(doc))
	return err
}

// emit hands over. As with emit, what was sent is durable also when a hub
// could not be reached.
func (c *captureCommand) emit(ctx context.Context, env *handoff.Envelope) (sent bool, err error) {
	d, err := c.desk(ctx, signs)
	if err != nil {
		return false, err
	}
	to, err := c.unlessBlocked(c.to, env)
	if err != nil {
		return false, err
	}
	done, err := senderOf(c.app, d).Send(ctx, env, &emit.Options{To: to, TTL: lifecycle.DefaultTTL})
	if done == nil {
		return false, err
	}
	if perr := printEmitted(c.app, done); err == nil {
		err = perr
	}
	return true, err
}

// unlessBlocked is the target, chosen before anybody knew how the agent would
// end. Who helps one that is blocked is to be decided, at the same home.
func (c *captureCommand) unlessBlocked(to string, env *handoff.Envelope) (string, error) {
	if to == "" || env.Status != handoff.StatusBlocked || env.Target.Agent != nil {
		return to, nil
	}
	agent, alias, err := handoff.ParseTarget(to)
	if err != nil || agent == nil {
		return to, err
	}
	c.Say("githandoff: it is blocked, and waits for a decision instead of going to %s", to)
	if alias == "" {
		return "", nil
	}
	return "@" + alias, nil
}
