package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"githandoff/internal/app/emit"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
	"githandoff/internal/teampolicy"
	"githandoff/internal/workspace"
)

// emitCommand is "emit".
type emitCommand struct {
	*app

	emitOptions
	file, format string
	draft        draftFlags
}

// emitOptions say how a draft becomes a handoff.
type emitOptions struct {
	to                         string
	checkpoint, parent, commit string
	ttl                        time.Duration
	queue, once, seal          bool
	authorityFlags
	id handoff.ID // derived, by a hook; empty: a new one
}

func newEmit(a *app) *cobra.Command {
	c := &emitCommand{app: a}
	cmd := &cobra.Command{
		Use:        "emit --to TARGET [--goal TEXT] [-f FILE]",
		SuggestFor: []string{"send", "create"},
		Short:      "Hand work to another agent, here or in another repository",
		Long: `Signs a handoff, makes it durable in this repository, and delivers it to its
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

If the hub cannot be reached the handoff waits in the outbox (exit 8), and
"githandoff sync" delivers it.`,
		Example: `  githandoff emit --to fixer --goal "fix the nil session" --summary @findings.txt
  githandoff emit --to fixer@client -f /tmp/kelos-handoff.json --task LIN-423`,
		Args: exactArgs(0, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.to, "to", "", "`TARGET`: agent, agent@alias or @alias")
	f.StringVarP(&c.file, "file", "f", "", "read the handoff from `FILE` (- is standard input)")
	f.StringVar(&c.format, "format", "", "format of FILE; detected by content")
	c.draft = registerDraft(f)
	f.StringVar(&c.checkpoint, "checkpoint", "", "commit to roll back to, `REV`")
	f.StringVar(&c.parent, "parent", "", "the handoff that this one follows from, `ID`")
	f.StringVar(&c.commit, "commit", "", "the commit it is about, `REV` (HEAD)")
	c.authorityFlags.register(f)
	spanVar(f, &c.ttl, "ttl", lifecycle.DefaultTTL, "how long it may wait")
	f.BoolVar(&c.seal, "seal", false, "encrypt it for the receiver's OpenPGP keys")
	f.BoolVar(&c.queue, "queue", false, "leave it in the outbox; sync delivers it")
	f.BoolVar(&c.once, "once", false, "return the open handoff of the same source, target and task instead of a second one")
	return cmd
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
	done, err := (&sender{c.app}).emit(ctx, d, env, &c.emitOptions)
	if done != nil {
		if perr := printEmitted(c.app, done); perr != nil {
			return perr
		}
		if c.to == "" && done.Record.To == record.Nobody {
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
		if env, err = (&documents{c.app}).draft(paper{name: c.file, format: c.format, to: c.to}, b); err != nil {
			return nil, err
		}
	} else if c.format != "" {
		return nil, usage("--format goes with -f FILE")
	}
	return env, c.draft.apply(c.app, env)
}

// sender sends handoffs: for emit, capture, reroute and the hooks.
type sender struct {
	*app
}

// emit addresses a draft, completes and screens it, and sends it: the one way
// from a command or a hook to a handoff. As with Desk.Emit, a handoff that is
// returned is durable whatever the error says.
func (s *sender) emit(ctx context.Context, d *workspace.Workspace, env *handoff.Envelope, o *emitOptions) (*emit.Result, error) {
	home, err := s.address(ctx, d, o.to, env)
	if err != nil {
		return nil, err
	}
	if o.once {
		unlock, err := emit.New(d).LockOnce(ctx)
		if err != nil {
			return nil, err
		}
		defer unlock()
		it, err := emit.New(d).Once(ctx, home, d.Source(), inboxOf(env), env.Task)
		if err != nil {
			return nil, err
		}
		if it != nil && o.asked() && it.Record.Token == "" {
			return nil, fault.New(fault.Conflict, fault.Offered, "handoff %s is there already, and carries no authority", it.Place.ID).
				WithHints(issue(it.Place.ID, &o.authorityFlags))
		}
		if it != nil {
			return &emit.Result{ID: it.Place.ID, State: "offered", Ref: it.Ref, Commit: it.Commit, Record: it.Record}, nil
		}
	}
	var aside []refs.Edit
	if err := s.complete(ctx, d, env, o, &aside); err != nil {
		return nil, err
	}
	if err := screen.Envelope(env); err != nil {
		return nil, err
	}
	if err := capable(ctx, d, env); err != nil {
		return nil, err
	}
	at, authority, err := s.authority(ctx, d, env.Parent, &o.authorityFlags)
	if err != nil {
		return nil, err
	}
	if alias := d.AliasOf(home); alias != "" && !o.queue {
		if err := finishInvites(ctx, s.app, d, alias); err != nil {
			s.Warn(err)
		}
	}
	defer s.advise(ctx, d, env, d.AliasOf(home))()
	return emit.New(at).Emit(ctx, emit.Request{
		Envelope: env, Home: home, Authority: authority, Asked: o.asked(), Seal: o.seal, Queue: o.queue, Aside: aside,
	})
}

// capable asks the team's policy whether this is work that the sender makes and
// the receiver takes.
func capable(ctx context.Context, d *workspace.Workspace, env *handoff.Envelope) error {
	if env.Target.Request == "" {
		return nil
	}
	p, err := teampolicy.New(d).Read(ctx)
	if err != nil {
		return err
	}
	to := ""
	if env.Target.Agent != nil {
		to = *env.Target.Agent
	}
	return p.CheckRequest(env.Source.Agent, to, env.Target.Request)
}

func inboxOf(env *handoff.Envelope) string {
	if lifecycle.NeedsDecision(env) {
		return refs.Nobody
	}
	return *env.Target.Agent
}

func printEmitted(a *app, done *emit.Result) error {
	if a.JSON {
		r := rowOf(done.Record, done.State)
		r.Ref, r.Commit = done.Ref, done.Commit
		a.Object(r)
		return nil
	}
	if _, err := fmt.Fprintln(a.Stdout, done.ID); err != nil {
		return fault.New(fault.Other, fault.Output, "%w; handoff %s is recorded", err, done.ID).
			WithHints(fault.Run("githandoff", "show", done.ID.Short()).Because("shows it"))
	}
	return nil
}

// address reads the target and says which home it means.
func (s *sender) address(ctx context.Context, d *workspace.Workspace, to string, env *handoff.Envelope) (lifecycle.Home, error) {
	alias := ""
	if to != "" {
		agent, where, err := handoff.ParseTarget(to)
		if err != nil {
			return nil, err
		}
		env.Target.Agent, alias = agent, where
	}
	if to == "" && env.Target.Agent == nil && env.Status == handoff.StatusComplete {
		return nil, usage("a handoff names the agent that takes it").
			WithHints(fault.See("emit").Because("--to names an agent, here or at an alias, or an alias alone where nobody is chosen yet"))
	}
	if alias == "" {
		alias = d.Repo.Config.Get("handoff.defaultrepo")
	}
	if alias == "" {
		return d.Local, nil
	}
	hub, err := d.Hub(ctx, alias)
	if err != nil {
		return nil, err
	}
	env.Target.Repo = hub.ID()
	return hub, nil
}

// complete fills in what only this machine knows: id, times, salt, source.
func (s *sender) complete(ctx context.Context, d *workspace.Workspace, env *handoff.Envelope, o *emitOptions, aside *[]refs.Edit) error {
	now := s.Now().UTC().Truncate(time.Second)
	var err error
	if env.ID = o.id; env.ID == "" {
		if env.ID, err = handoff.NewID(now, s.Random); err != nil {
			return err
		}
	}
	env.Schema, env.CreatedAt = handoff.Schema, handoff.FormatTime(now)
	if o.ttl < time.Minute {
		return usage("--ttl %s: at least a minute", o.ttl)
	}
	env.ExpiresAt = handoff.FormatTime(now.Add(o.ttl))
	if env.Salt, err = handoff.NewSalt(d.Engine.Random); err != nil {
		return err
	}
	dialect.SentBy(env, d.Source())
	env.Source.Repo = d.Local.RepoID
	if env.Source.Commit, err = s.sourceCommit(ctx, d.Repo, o.commit); err != nil {
		return err
	}
	if env.Source.Branch == "" && o.commit == "" {
		env.Source.Branch = d.Repo.Branch
	}
	if err := s.follow(ctx, d, env, o); err != nil {
		return err
	}
	if env.Goal == "" && env.Summary == "" {
		return fault.New(fault.Usage, fault.BadUsage, "a handoff needs a goal or a summary").
			WithHints(fault.See("emit").Because("--goal says what to reach, --summary what was found"))
	}
	if o.checkpoint != "" {
		oid, err := s.revision(ctx, d.Repo, o.checkpoint)
		if err != nil {
			return err
		}
		if env.Rollback == nil {
			env.Rollback = &handoff.Rollback{}
		}
		env.Rollback.Checkpoint = oid
		*aside = append(*aside, refs.Edit{Ref: refs.Checkpoint(env.ID), New: oid})
	}
	return nil
}

func (s *sender) sourceCommit(ctx context.Context, repo *refs.Repo, rev string) (string, error) {
	if rev == "" {
		return repo.Head, nil
	}
	return s.revision(ctx, repo, rev)
}

// revision resolves what a person names a commit by.
func (s *sender) revision(ctx context.Context, repo *refs.Repo, rev string) (string, error) {
	if strings.HasPrefix(rev, "-") {
		return "", usage("%s is not a revision", printable(rev))
	}
	out, err := repo.RevParse(ctx, rev+"^{commit}")
	if err != nil {
		return "", fault.New(fault.NotFound, fault.NoSuchCommit, "%s is not a commit here", printable(rev))
	}
	return out, nil
}
