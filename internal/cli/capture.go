package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/app/capture"
	"githandoff/internal/app/document"
	"githandoff/internal/app/emit"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
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
		short: "Run an agent and hand over the document it wrote, or read one from a log",
		long: `With a command: runs it with KELOS_HANDOFF_PATH set to a private file, and hands over
the document that it wrote there, to TARGET or to the target that the document names.
If neither names one, the document is printed between markers, as Kelos does. The exit
status is that of the command. A document that cannot be handed over is kept in the git
directory, with a warning. A TARGET that cannot be addressed, such as one with an unknown alias, is
refused before the command runs.

An agent that ended as blocked and names no target is handed to nobody: its handoff
waits for a decision ("githandoff route").

With --to, capture succeeds only if something was handed over. If a command succeeded but
left no document, the exit status is 3, and for a document that cannot be handed over it
is that of the refusal, such as 6 for a broken one. The same holds without a command.

Without a command: reads the file at KELOS_HANDOFF_PATH (/tmp/kelos-handoff.json,
a regular file of this user), or with --from-log the last complete pair of markers
in a log of any size. It checks the document and prints it between markers; with --to
it hands it over instead. Times, names and colours that a log collector puts before
each line are removed. If the log has no such markers, the last message of an agent
among its outputs becomes the detail, the first paragraph of that message the summary,
and the other outputs data. Without --to, a log with neither is not a failure: one line
on standard error says so. A log that ends between the markers is incomplete: a warning, and with --to a
refusal (exit 6).

--last-message reads the last message of an agent from the output of its client:
claude -p (json, stream-json), codex exec (--output-last-message, --json), gemini (json,
stream-json), opencode run (--format json), copilot -p (json). If the message contains a
document, such as a JSON block at its end, that is the handoff. Otherwise the message is
the detail, and its first paragraph the summary.`,
		example: []string{
			`githandoff capture --to fixer -- claude -p "find out why login fails"`,
			"kubectl logs job/investigate | githandoff capture --from-log - --to fixer@client",
			`claude -p --output-format json "find out why login fails" | githandoff capture --last-message - --to fixer`,
		},
		runs: true,
		args: func(cmd *cobra.Command, args []string) error {
			switch dash := cmd.ArgsLenAtDash(); {
			case dash > 0, dash < 0 && len(args) > 0:
				return usage("put the command after --").WithHints(afterDashes(c.To, args))
			case dash == 0 && len(args) == 0:
				return usage("no command after --").WithHints(fault.See("capture"))
			case dash == 0 && c.Log != "":
				return usage("use either --from-log or a command, not both")
			case c.Message != "" && (dash == 0 || c.Log != ""):
				return usage("use only one of --last-message, --from-log and a command")
			}
			c.Command = args
			return nil
		},
		flags: func(f *pflag.FlagSet) {
			targetVar(f, &c.To, "hand it to `TARGET`: agent, agent@alias or @alias")
			f.StringVar(&c.Log, "from-log", "", "read the document from the log `FILE` (- is standard input)")
			f.StringVar(&c.Message, "last-message", "", "read the last message from `FILE`, the output of a client (- is standard input)")
			c.draft = registerDraft(f, "task", "goal")
		},
		run: c.run,
	}
}

func (c *captureCommand) run(ctx context.Context) error {
	read := func(b []byte, name, format string) (*handoff.Envelope, error) { return c.read(ctx, b, name, format) }
	h := &capture.Handler{
		Check: c.check, Send: c.send, Draft: read, Open: c.openInput, Run: c.runAgent, Keep: c.keep,
		Out: c.Stdout, Self: c.Self(), Say: c.Say, Warn: c.Warn,
	}
	c.Path = cmp.Or(c.Getenv(capture.PathVar), capture.DefaultPath)
	code, err := h.Handle(ctx, &c.Request)
	if code == 0 {
		return err
	}
	if err != nil {
		c.Fail(err)
	}
	return exitStatus(code)
}

func (c *captureCommand) read(ctx context.Context, b []byte, name, format string) (*handoff.Envelope, error) {
	env, err := c.documents().Draft(document.Source{Name: name, Format: format, To: c.To}, b)
	if err != nil {
		return nil, err
	}
	return env, c.draft.apply(ctx, c.app, env)
}

func (c *captureCommand) openInput(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.input), nil
	}
	f, err := c.openFile(name)
	if err == nil {
		return struct {
			io.Reader
			io.Closer
		}{c.stream(f), f}, nil
	}
	flag := "--from-log"
	if name == c.Message {
		flag = "--last-message"
	}
	return nil, ofFlag(flag, err)
}

func (c *captureCommand) runAgent(ctx context.Context, argv []string, path string) (int, error) {
	return gitexec.Pipe(ctx, c.Dir, withVar(c.Vars, capture.PathVar, path), argv, c.Stdin, c.Stdout, c.Stderr)
}

// keep returns where this worktree keeps a refused document; outside of a repository, it is kept
// among the temporary files.
func (c *captureCommand) keep(ctx context.Context) string {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return os.TempDir()
	}
	return repo.OwnWorktree("")
}

// check opens everything needed for a send, and closes it again: the agent may change HEAD.
func (c *captureCommand) check(ctx context.Context, to string) error {
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	if _, err := senderOf(c.app, ws).Address(ctx, to, false, &handoff.Envelope{}); err != nil {
		return err
	}
	c.close()
	c.repo = nil
	return nil
}

// send hands a draft over, and prints the id.
func (c *captureCommand) send(ctx context.Context, to string, env *handoff.Envelope) (sent bool, err error) {
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return false, err
	}
	done, err := senderOf(c.app, ws).Send(ctx, env, &emit.Options{To: to})
	if done == nil {
		return false, err
	}
	return true, cmp.Or(err, printEmitted(c.app, done))
}

// withVar sets a variable of an environment, whose last one of a name counts.
func withVar(vars []string, name, value string) []string {
	return append(slices.Clip(vars), name+"="+value)
}
