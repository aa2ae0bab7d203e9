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
	"githandoff/internal/app/join"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// emitCommand is "emit".
type emitCommand struct {
	*app

	emit.Options
	set          *pflag.FlagSet
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
		long: `Signs a handoff, stores it in this repository, and delivers it to its home before it
returns. A target is AGENT (this repository), AGENT@ALIAS (another repository: a git
remote, or an alias of "githandoff repo add"), or @ALIAS (no agent chosen yet).
It prints only the id.

Texts (goal, summary, detail, values of data, questions, and the lists of steps,
blockers, attempts, decisions, memories, deliverables, constraints and acceptance
criteria) may be given as @FILE, a path below this directory, or as @- for standard
input. Hidden files and files named like keys or passwords are not read. Write @@ for
a text that begins with @. -f reads a whole handoff, in any format that "githandoff
help formats" lists; flags override its members.

--on-behalf-of lets the receiver act for a person, within --scope, for a day at most. A
signed token goes with the handoff; it is worth nothing without the receiver's key. If
you emit while you hold a handoff, its authority goes along, or the part of it that
--scope names.

--seal encrypts the handoff, for a hub that others can read. Sender, receiver, task,
counts and times stay readable. The receiver can pass it on only as a sealed handoff,
and the receipt contains no results.

--snapshot sends the state of the work tree along: HEAD with the commits that the home
lacks, the index, changed files, and untracked files that are not ignored. Ignored files
are never sent. A file that looks like a secret is refused (exit 7), unless --allow-path
names it. So are a secret in the message of a commit, changes inside a submodule, and a
file of Git LFS whose content the receiver could not get. Nothing here is changed. The
receipt deletes the snapshot.

If the hub cannot be reached, the handoff waits in the outbox (exit 8), and
"githandoff sync" delivers it.`,
		example: []string{
			`githandoff emit --to fixer --goal "fix the nil session" --summary @findings.txt`,
			"githandoff emit --to fixer@client -f /tmp/kelos-handoff.json --task LIN-423",
		},
		brief: []string{"to", "goal", "summary", "detail", "task", "relevant-file", "data", "file"},
		args:  c.noWords,
		flags: func(f *pflag.FlagSet) {
			targetVar(f, &c.To, "send it to `TARGET`: agent, agent@alias or @alias")
			f.StringVarP(&c.file, "file", "f", "", "read the handoff from `FILE` (- is standard input)")
			f.StringVar(&c.format, "format", "", "read FILE in this `FORMAT`; detected by content")
			c.draft = registerDraft(f)
			f.StringVar(&c.Checkpoint, "checkpoint", "", "name the commit `REV` to roll back to")
			f.StringVar(&c.Parent, "parent", "", "let it follow from the handoff `ID`")
			f.StringVar(&c.Commit, "commit", "", "say that it is about the commit `REV` (HEAD)")
			authorityVars(f, &c.Wanted)
			c.snapshot.register(f)
			c.set = f
			spanVar(f, &c.TTL, "ttl", lifecycle.DefaultTTL, "let it expire after `DURATION`")
			f.BoolVar(&c.Seal, "seal", false, "encrypt it for the receiver's OpenPGP keys")
			f.BoolVar(&c.Queue, "queue", false, "only queue it in the outbox, if it is for another repository; sync delivers it")
			f.BoolVar(&c.Once, "once", false, "return the open handoff of the same source, target and task instead of a second one")
		},
		oneOf: [][]string{snapshotGroup()},
		run:   c.run,
	}
}

// noWords refuses words without a flag, and names the flag for them: that of the target if it is
// missing, else that of the goal.
func (c *emitCommand) noWords(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	if strings.HasPrefix(c.To, "-") {
		return usage("--to %s: want a target; %s is a flag", untrusted.Line(c.To), untrusted.Line(c.To)).WithHints(seeHelp(cmd))
	}
	argv, rest, flags := []string{"githandoff", "emit", "--to", c.To}, words, 1
	if c.To == "" {
		argv[3], rest, flags = words[0], words[1:], 0
	}
	refusal := usage("emit takes flags only")
	if c.To == "" && len(words) == 1 && c.isTarget(cmd.Flags(), words[0]) {
		return refusal.WithHints(fault.Instead(words[0], "--to="+words[0]), seeHelp(cmd))
	}
	if ownFlags(cmd) > flags || len(rest) == 0 || slices.Contains(words, "") {
		return refusal.WithHints(seeHelp(cmd))
	}
	return refusal.WithHints(fault.Run(append(argv, "--goal", strings.Join(rest, " "))...), seeHelp(cmd))
}

// isTarget reports whether a word without a flag is the target of a handoff that has its text by
// flags. A word that is the value of a flag as well is none: a hint could not tell them apart.
func (c *emitCommand) isTarget(flags *pflag.FlagSet, word string) bool {
	values := slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool { return arg != word && !strings.HasSuffix(arg, "="+word) })
	_, _, err := handoff.ParseTarget(word)
	return err == nil && len(values) == 1 && (flags.Changed("goal") || flags.Changed("file"))
}

func (c *emitCommand) run(ctx context.Context) error {
	env, err := c.readDraft(ctx)
	if err != nil {
		return err
	}
	if c.Parent != "" {
		c.Parent = handoff.Typed(c.Parent)
	}
	if c.To == "" && env.LacksTarget() {
		return needs(c.app, "emit", "--to TARGET", "")
	}
	switch {
	case !c.set.Changed("ttl"):
		c.TTL = 0 // the document's own, or the default
	case c.TTL < time.Minute:
		return usage("--ttl %s: want at least a minute", c.TTL)
	}
	ws, err := c.workspace(ctx, signs)
	if err != nil {
		return err
	}
	send := senderOf(c.app, ws)
	send.Snapshot = c.snapshot.taker(ws)
	done, err := send.Send(ctx, env, &c.Options)
	if c.file == "" {
		err = c.draft.flagOf(err)
	}
	if done != nil {
		if perr := printEmitted(c.app, done); perr != nil {
			return perr
		}
		if c.To == "" && done.Record.To == handoff.Nobody {
			c.Say("githandoff: no receiver is named; a person decides with githandoff route")
		}
	}
	return err
}

// readDraft reads the file, if any, and lays the flags over it.
func (c *emitCommand) readDraft(ctx context.Context) (*handoff.Envelope, error) {
	env := &handoff.Envelope{Status: handoff.StatusComplete}
	if c.file != "" {
		b, err := c.readInput(c.file)
		if err != nil {
			return nil, ofFlag("-f", err)
		}
		if env, err = c.documents().Draft(document.Source{Name: c.file, Format: c.format, To: c.To}, b); err != nil {
			return nil, err
		}
	} else if c.format != "" {
		return nil, usage("--format needs -f FILE")
	}
	return env, c.draft.apply(ctx, c.app, env)
}

// senderOf sends handoffs from a workspace.
func senderOf(a *app, ws *workspace.Workspace) *emit.Handler {
	s := emit.New(ws)
	s.Keystore, s.Quiet, s.Say = a.keystore(), a.Quiet, a.Say
	s.Snapshot = (&snapshotFlags{}).taker(ws)
	s.Invited = func(ctx context.Context, alias string) error {
		return join.New(ws).Finish(ctx, []string{alias}, a.joined)
	}
	s.Expected = func(agent string) time.Time { return join.MemoryOf(ws.Repo).Expected(agent, a.Now()) }
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
