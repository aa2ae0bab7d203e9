package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"githandoff/internal/app/document"
	"githandoff/internal/app/emit"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/workspace"
)

// emitCommand is "emit".
type emitCommand struct {
	*app

	emit.Options
	file, format string
	draft        draftFlags
	snapshot     snapshotFlags
}

func newEmit(a *app) command {
	c := &emitCommand{app: a}
	return command{
		use:     "emit --to TARGET [--goal TEXT] [-f FILE]",
		suggest: []string{"send", "create"},
		short:   "Hand work to another agent, here or in another repository",
		long: `Signs a handoff, makes it durable in this repository, and delivers it to its
home before it returns. A target is AGENT (this repository), AGENT@ALIAS
(another repository: a git remote, or an alias of "githandoff repo add"), or
@ALIAS (nobody yet). The id is printed alone.

Texts (goal, summary, detail, values of data, questions and the lists of steps,
blockers, attempts, decisions, memories, deliverables, constraints and acceptance
criteria) may be given as @FILE, a path below this directory, or as @- for standard
input. A hidden file, or one named as a key or a password, is not read. A text that
begins with @ is written with @@. -f reads a whole handoff, in any format that
"githandoff help formats" lists; flags win over it.

--on-behalf-of lets the receiver act for a person, within --scope, for a day at
most: a signed token goes with the handoff, worth nothing without the receiver's
key. What is sent on from a handoff that is held carries its authority along, or
the part of it that --scope names.

--seal encrypts the handoff, for a hub that others can read: who from, who for,
its task, its counts and its times stay readable. Whoever receives it can pass on
only sealed ones, and its receipt has no results.

--snapshot sends the state of the work tree along: HEAD with the commits that the home
lacks, the index, changed files, and untracked files that are not ignored. Ignored files
never travel; what looks like a secret is refused (exit 7), unless --allow-path names
it. Nothing here is touched. The snapshot goes with the receipt.

If the hub cannot be reached the handoff waits in the outbox (exit 8), and
"githandoff sync" delivers it.`,
		example: []string{
			`githandoff emit --to fixer --goal "fix the nil session" --summary @findings.txt`,
			"githandoff emit --to fixer@client -f /tmp/kelos-handoff.json --task LIN-423",
		},
		brief: []string{"to", "goal", "summary", "detail", "task", "relevant-file", "data", "file"},
		args:  c.noWords,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&c.To, "to", "", "`TARGET`: agent, agent@alias or @alias")
			f.StringVarP(&c.file, "file", "f", "", "read the handoff from `FILE` (- is standard input)")
			f.StringVar(&c.format, "format", "", "format of FILE; detected by content")
			c.draft = registerDraft(f)
			f.StringVar(&c.Checkpoint, "checkpoint", "", "commit to roll back to, `REV`")
			f.StringVar(&c.Parent, "parent", "", "the handoff that this one follows from, `ID`")
			f.StringVar(&c.Commit, "commit", "", "the commit it is about, `REV` (HEAD)")
			(*authorityFlags)(&c.Wanted).register(f)
			c.snapshot.register(f)
			spanVar(f, &c.TTL, "ttl", lifecycle.DefaultTTL, "how long it may wait")
			f.BoolVar(&c.Seal, "seal", false, "encrypt it for the receiver's OpenPGP keys")
			f.BoolVar(&c.Queue, "queue", false, "leave it in the outbox; sync delivers it")
			f.BoolVar(&c.Once, "once", false, "return the open handoff of the same source, target and task instead of a second one")
		},
		run: c.run,
	}
}

// noWords refuses words that belong to no flag, and says to which they do: the target first,
// as far as it is missing, then the goal.
func (c *emitCommand) noWords(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	argv, rest, flags := []string{"githandoff", "emit", "--to", c.To}, words, 1
	if c.To == "" {
		argv[3], rest, flags = words[0], words[1:], 0
	}
	refusal := usage("githandoff emit takes flags only")
	if cmd.Flags().NFlag() > flags || len(rest) == 0 || slices.Contains(words, "") {
		return refusal.WithHints(seeHelp(cmd))
	}
	return refusal.WithHints(fault.Run(append(argv, "--goal", strings.Join(rest, " "))...), seeHelp(cmd))
}

func (c *emitCommand) run(ctx context.Context) error {
	env, err := c.readDraft()
	if err != nil {
		return err
	}
	d, err := c.desk(ctx, signs)
	if err != nil {
		return err
	}
	send := senderOf(c.app, d)
	send.Snapshot = c.snapshot.taker(c.app, d)
	done, err := send.Send(ctx, env, &c.Options)
	if done != nil {
		if perr := printEmitted(c.app, done); perr != nil {
			return perr
		}
		if c.To == "" && done.Record.To == record.Nobody {
			c.Say("githandoff: it names nobody and waits for a decision")
		}
	}
	return err
}

// readDraft reads the file, if any, and lays the flags over it.
func (c *emitCommand) readDraft() (*handoff.Envelope, error) {
	env := &handoff.Envelope{Status: handoff.StatusComplete}
	if c.file != "" {
		b, err := c.readInput(c.file)
		if err != nil {
			return nil, err
		}
		if env, err = c.documents().Draft(document.Source{Name: c.file, Format: c.format, To: c.To}, b); err != nil {
			return nil, err
		}
	} else if c.format != "" {
		return nil, usage("--format needs -f FILE")
	}
	return env, c.draft.apply(c.app, env)
}

// senderOf sends handoffs from a workspace.
func senderOf(a *app, d *workspace.Workspace) *emit.Sender {
	s := emit.NewSender(d)
	s.Keystore, s.Now, s.Random = a.keystore(), a.Now, a.Random
	s.Quiet, s.Warn, s.Say = a.Quiet, a.Warn, a.Say
	s.Snapshot = (&snapshotFlags{}).taker(a, d)
	s.Invited = func(ctx context.Context, alias string) error { return finishInvites(ctx, a, d, alias) }
	s.Expected = func(agent string) time.Time { return expected(a, d.Repo, agent) }
	return s
}

func emittedRow(done *emit.Result) row {
	r := rowOf(done.Record, done.State)
	r.Ref, r.Commit = done.Ref, done.Commit
	return r
}

func printEmitted(a *app, done *emit.Result) error {
	if err := a.Row(emittedRow(done), "%s", done.ID); err != nil {
		return fault.New(fault.Other, fault.Output, "%w; handoff %s is recorded", err, done.ID).
			WithHints(fault.Run("githandoff", "show", string(done.ID)).Because("shows it"))
	}
	return nil
}
