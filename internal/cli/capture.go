package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/app/capture"
	"githandoff/internal/app/document"
	"githandoff/internal/app/emit"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
)

type captureCommand struct {
	*app

	capture.Request
	draft draftFlags
}

func newCapture(a *app) command {
	c := &captureCommand{app: a}
	return command{
		use:   "capture [--to TARGET] [--from-log FILE|- | --last-message FILE|-] [-- CMD...]",
		short: "Run an agent and hand over what it wrote, or read that from a log",
		long: `With a command: runs it with KELOS_HANDOFF_PATH at a private file, and hands over
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
		example: []string{
			`githandoff capture --to fixer -- claude -p "find out why login fails"`,
			"kubectl logs job/investigate | githandoff capture --from-log - --to fixer@client",
			`claude -p --output-format json "find out why login fails" | githandoff capture --last-message - --to fixer`,
		},
		args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case dash > 0, dash < 0 && len(args) > 0:
				return usage("put the command after --").WithHints(afterDashes(c.To, args))
			case dash == 0 && len(args) == 0:
				return usage("no command after --").WithHints(fault.See("capture"))
			case dash == 0 && c.Log != "":
				return usage("--from-log and a command: one of them")
			case c.Message != "" && (dash == 0 || c.Log != ""):
				return usage("--last-message, --from-log and a command: one of them")
			}
			c.Command = args
			for _, name := range []string{"to", "from-log", "last-message"} { // a variable of a script that is not set
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return usage("--%s is empty", name)
				}
			}
			return nil
		},
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.To, "to", "", "`TARGET`: agent, agent@alias or @alias")
			f.StringVar(&c.Log, "from-log", "", "take it from this log, `FILE` (- is standard input)")
			f.StringVar(&c.Message, "last-message", "", "take it from what a client printed, `FILE` (- is standard input)")
			c.draft = registerDraft(f, "task", "goal")
		},
		run: c.run,
	}
}

func (c *captureCommand) run(ctx context.Context) error {
	h := &capture.Handler{
		Sender: captureSender{c.app}, Draft: c.read, Open: c.openInput, Run: c.runAgent, Keep: c.keep,
		Out: c.Stdout, Self: c.Self(), Say: c.Say, Warn: c.Warn,
	}
	c.Path = cmp.Or(c.Getenv(capture.PathVar), capture.DefaultPath)
	code, err := h.Handle(ctx, &c.Request)
	if code == 0 {
		return err
	}
	if err != nil {
		c.fail(err)
	}
	return exitStatus(code)
}

func (c *captureCommand) read(b []byte, name, format string) (*handoff.Envelope, error) {
	env, err := c.documents().Draft(document.Source{Name: name, Format: format, To: c.To}, b)
	if err != nil {
		return nil, err
	}
	return env, c.draft.apply(c.app, env)
}

func (c *captureCommand) openInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.Stdin), nil
	}
	return c.openFile(name)
}

func (c *captureCommand) runAgent(ctx context.Context, argv []string, path string) (int, error) {
	return gitexec.Pipe(ctx, c.Dir, withVar(c.Vars, capture.PathVar, path), argv, c.Stdin, c.Stdout, c.Stderr)
}

// keep is where this worktree keeps a refused document; outside of a repository, it is kept
// among the temporary files.
func (c *captureCommand) keep(ctx context.Context) string {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return os.TempDir()
	}
	return repo.OwnWorktree("")
}

// captureSender implements capture.Sender.
type captureSender struct{ *app }

// Check opens all that a send needs, and closes it again: the agent may change HEAD.
func (s captureSender) Check(ctx context.Context, to string) error {
	d, err := s.desk(ctx, signs)
	if err != nil {
		return err
	}
	if _, err := senderOf(s.app, d).Address(ctx, to, &handoff.Envelope{}); err != nil {
		return err
	}
	s.close()
	s.repo = nil
	return nil
}

// Send implements capture.Sender. It prints the id.
func (s captureSender) Send(ctx context.Context, to string, env *handoff.Envelope) (sent bool, err error) {
	d, err := s.desk(ctx, signs)
	if err != nil {
		return false, err
	}
	done, err := senderOf(s.app, d).Send(ctx, env, &emit.Options{To: to, TTL: lifecycle.DefaultTTL})
	if done == nil {
		return false, err
	}
	if perr := printEmitted(s.app, done); err == nil {
		err = perr
	}
	return true, err
}

// withVar sets a variable of an environment.
func withVar(vars []string, name, value string) []string {
	var out []string
	for _, kv := range vars {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return append(out, name+"="+value)
}
