package emit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/dialect"
	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/outbox"
	"githandoff/internal/private"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// Options say how a draft becomes a handoff.
type Options struct {
	To                         string        // agent, agent@alias or @alias; "" for the agent that the draft names
	Here                       bool          // an agent without an alias is local, whatever handoff.defaultRepo says
	Checkpoint, Parent, Commit string        // revision, id and revision; if "": none, the held claim, and HEAD
	TTL                        time.Duration // time until the handoff expires; 0 for the draft's own, or DefaultTTL
	Queue, Once, Seal          bool
	Wanted
	ID handoff.ID // id that a hook derived; empty for a new one
}

// Send addresses a draft, completes and screens it, and sends it: the one way from a command or a
// hook to a handoff. As with [Handler.Emit], a returned handoff is durable, whatever the error.
func (s *Handler) Send(ctx context.Context, env *handoff.Envelope, o *Options) (*Result, error) {
	home, err := s.Address(ctx, o.To, o.Here, env)
	if err != nil {
		return nil, err
	}
	if o.Once {
		unlock, err := private.Lock(ctx, s.Engine.Repo.Own("once.lock")) // until this handoff is sent
		if err != nil {
			return nil, err
		}
		defer unlock()
		if there, err := s.once(ctx, home, env, o); there != nil || err != nil {
			return there, err
		}
	}
	if err := s.complete(ctx, env, o); err != nil {
		return nil, err
	}
	if err := screen.Envelope(env); err != nil {
		return nil, err
	}
	if err := s.capable(ctx, env); err != nil {
		return nil, err
	}
	objects, err := s.Snapshot(ctx, home, env, o.Seal)
	if err != nil {
		return nil, err
	}
	root, authority, err := s.Authority(ctx, env.Parent, &o.Wanted)
	if err != nil {
		return nil, err
	}
	handler := s
	if root != nil {
		handler = s.As(*root)
	}
	if alias := s.Workspace.AliasOf(home); alias != "" && !o.Queue {
		if err := s.Invited(ctx, alias); err != nil && !fault.Is(err, fault.RemoteUnavailable) { // the delivery says that
			s.Workspace.Warn(err)
		}
	}
	var localEdits []refs.Edit
	if o.Checkpoint != "" {
		localEdits = []refs.Edit{{Ref: refs.Checkpoint(env.ID), New: env.Rollback.Checkpoint}}
	}
	advice := s.advise(ctx, env, s.Workspace.AliasOf(home), o.Seal)
	done, err := handler.Emit(ctx, Request{
		Envelope: env, Home: home, Authority: authority, Asked: o.Asked(), Seal: o.Seal, Queue: o.Queue, LocalEdits: localEdits, Snapshot: objects,
	})
	advice(done)
	return done, err
}

// once returns the open handoff of the same source, target and task at the same home, not
// expired; nil if there is none.
func (s *Handler) once(ctx context.Context, home lifecycle.Home, env *handoff.Envelope, o *Options) (*Result, error) {
	items, err := s.earlier(ctx, home, env)
	if err != nil {
		return nil, err
	}
	for _, it := range items {
		lacks := o.Asked() && it.Record.Token == ""
		there, err := s.found(ctx, home, it, o.Queue || lacks)
		if err != nil {
			return there, err
		}
		if there == nil {
			continue
		}
		if lacks {
			hints := []fault.Hint{issueHint(it.Place.ID, &o.Wanted)}
			if there.State == "queued" {
				hints = append([]fault.Hint{fault.Run("githandoff", "sync").Because("delivers it first")}, hints...)
			}
			return nil, fault.New(fault.Conflict, fault.Offered, "handoff %s already exists, and carries no authority", it.Place.ID).WithHints(hints...)
		}
		if env.Task == "" {
			s.Workspace.Warn(fmt.Errorf("nothing is sent: handoff %s is open, and like this one it names no task; --task tells work apart", it.Place.ID))
		}
		return there, nil
	}
	return nil, nil
}

// earlier lists the handoffs of the same source, target and task that have not ended as far as this clone
// knows. It asks their home about all of them in one connection.
func (s *Handler) earlier(ctx context.Context, home lifecycle.Home, env *handoff.Envelope) (items []*workspace.Item, err error) {
	target := lifecycle.InboxOf(env)
	patterns := []string{refs.Root + "outbox/" + target + "/", refs.Root + "sent/" + target + "/"}
	if lifecycle.IsLocal(home) {
		patterns = []string{refs.LocalNamespace.Inbox(target, "")}
	}
	list, err := s.Engine.Repo.List(ctx, patterns...)
	if err != nil {
		return nil, err
	}
	var sent []lifecycle.Place
	for _, it := range workspace.ItemsOf(home, refs.LocalNamespace, list) {
		if err := s.Workspace.Load(ctx, it); err != nil {
			return nil, err
		}
		r := it.Record
		if r == nil || r.From != s.Source || r.Task != env.Task || !home.Is(r.Home) || !s.Engine.Now().Before(r.Expires) {
			continue
		}
		state, err := s.Engine.Reader.Load(ctx, home, it.Place)
		if err != nil {
			return nil, err
		}
		if state.Receipt != nil {
			continue
		}
		if items = append(items, it); it.Kind == refs.KindSent {
			sent = append(sent, it.Place)
		}
	}
	if len(sent) == 0 {
		return items, nil
	}
	if err = home.Refresh(ctx, lifecycle.WholeHandoffs(sent...)); fault.CodeOf(err) == fault.Unavailable {
		s.Workspace.Warn(err)
		err = nil
	}
	return items, err
}

// found returns the handoff of an earlier emit in its state at home, as it was fetched; nil if it has ended.
// One that waits in the outbox is delivered first, unless it is to wait there.
func (s *Handler) found(ctx context.Context, home lifecycle.Home, it *workspace.Item, queue bool) (*Result, error) {
	done := &Result{ID: it.Place.ID, State: "queued", Ref: it.Ref, Commit: it.Commit, Record: it.Record}
	if it.Kind == refs.KindOutbox {
		ripe, err := s.Outbox.Ready(ctx, it.Place.ID)
		if !ripe || queue || err != nil {
			return done, err
		}
		p, err := s.Engine.Verifier.Reload(ctx, it.Ref)
		if err != nil {
			return nil, err
		}
		p.Agent = it.Place.Agent
		if err := s.deliver(ctx, home, p, done); err != nil {
			return done, outbox.KeptError(err, done.ID)
		}
	}
	state, err := s.Engine.Reader.Load(ctx, home, it.Place)
	if err != nil || state.Receipt != nil {
		return nil, err
	}
	if state.Phase() == lifecycle.Disputed {
		return nil, state.Err() // nobody takes it, and a second one could double the work
	}
	done.State = (&workspace.View{Home: home, State: state, Item: it}).Word()
	return done, nil
}

// capable asks the team's policy whether the sender makes such work and the receiver takes it.
func (s *Handler) capable(ctx context.Context, env *handoff.Envelope) error {
	to := ""
	if env.Target.Agent != nil {
		to = *env.Target.Agent
	}
	return s.Policy.CheckRequest(ctx, env.Source.Agent, to, env.Target.Request)
}

// Address reads the target and says which home it means. Here: an agent alone means this repository, whatever
// handoff.defaultRepo says.
func (s *Handler) Address(ctx context.Context, to string, here bool, env *handoff.Envelope) (lifecycle.Home, error) {
	alias := ""
	if to != "" {
		if err := crossrepo.CheckTarget(crossrepo.Aliases{Repo: s.Engine.Repo}, to); err != nil {
			return nil, err
		}
		agent, where, err := handoff.ParseTarget(to)
		if err != nil {
			return nil, err
		}
		env.Target.Agent, env.Target.Repo, alias = agent, "", where
	}
	if to == "" && env.LacksTarget() {
		return nil, fault.New(fault.Usage, fault.BadUsage, "no target is named: want agent, agent@alias or @alias").
			WithHints(fault.See("emit"))
	}
	find := s.Workspace.Hub
	if alias == "" && !here {
		alias = s.Engine.Repo.Config.Get("handoff.defaultrepo")
		find = func(ctx context.Context, alias string) (*crossrepo.Hub, error) {
			return s.Workspace.HubOfSetting(ctx, "handoff.defaultRepo", alias)
		}
	}
	if alias == "" {
		return s.Local, checkPlace(env, s.Local, "which is not this one",
			fault.See("emit").Because("--to AGENT keeps it here, --to AGENT@ALIAS sends it to another repository"))
	}
	hub, err := find(ctx, alias)
	if err != nil {
		return nil, err
	}
	if err := checkPlace(env, hub, "and handoff.defaultRepo is "+alias,
		fault.See("emit").Because("--to AGENT@ALIAS says which repository it is sent to")); err != nil {
		return nil, err
	}
	env.Target.Repo = hub.ID()
	return hub, nil
}

// checkPlace refuses a document for another repository than home: nobody could take its handoff there. The
// refusal says why it would go to home, and has a hint.
func checkPlace(env *handoff.Envelope, home lifecycle.Home, why string, hint fault.Hint) error {
	repo := env.Target.Repo
	if repo == "" || home.Is(repo) {
		return nil
	}
	return fault.New(fault.Denied, fault.AudienceMismatch, "the document is for the repository %s, %s", untrusted.Place(repo), why).WithHints(hint)
}

// complete fills in the members known only to this machine: id, times, salt, source.
func (s *Handler) complete(ctx context.Context, env *handoff.Envelope, o *Options) error {
	now := s.Engine.Now().UTC().Truncate(time.Second)
	var err error
	if env.ID = o.ID; env.ID == "" {
		if env.ID, err = handoff.NewID(now, s.Engine.Author.Random); err != nil {
			return err
		}
	}
	if env.ExpiresAt, err = expiry(env, o.TTL, now); err != nil {
		return err
	}
	env.Schema, env.CreatedAt = handoff.Schema, handoff.FormatTime(now)
	if env.Salt, err = handoff.RandomHex(s.Engine.Author.Random); err != nil {
		return err
	}
	dialect.SentBy(env, s.Source)
	env.Source.Repo = s.Local.RepoID
	if o.Commit != "" {
		if env.Source.Commit, err = s.revision(ctx, o.Commit); err != nil {
			return err
		}
	} else {
		env.Source.Commit, env.Source.Branch = s.Engine.Repo.Head, cmp.Or(s.Engine.Repo.Branch, env.Source.Branch)
	}
	if err := s.follow(ctx, env, o); err != nil {
		return err
	}
	if env.Goal == "" && env.Summary == "" {
		return fault.New(fault.Usage, fault.BadUsage, "a handoff needs a goal or a summary").
			WithHints(fault.See("emit").Because("--goal states the goal, --summary the findings; -f reads a document"))
	}
	if o.Checkpoint != "" {
		env.Rollback = cmp.Or(env.Rollback, &handoff.Rollback{})
		env.Rollback.Checkpoint, err = s.revision(ctx, o.Checkpoint)
	}
	return err
}

// expiry returns when a handoff expires: after ttl or, if that is 0, when the draft says. A whole
// envelope has the times of the handoff that it is a copy of.
func expiry(env *handoff.Envelope, ttl time.Duration, now time.Time) (string, error) {
	if ttl != 0 || env.ExpiresAt == "" || env.CreatedAt != "" {
		return handoff.FormatTime(now.Add(cmp.Or(ttl, lifecycle.DefaultTTL))), nil
	}
	at, err := handoff.ParseTime(env.ExpiresAt)
	if err == nil && at.Before(now.Add(time.Minute)) {
		err = errors.New("want a time at least a minute from now")
	}
	if err != nil {
		return "", fault.New(fault.Invalid, fault.Malformed, "expires_at: %w", err)
	}
	return env.ExpiresAt, nil
}

// revision resolves a commit as a person names it.
func (s *Handler) revision(ctx context.Context, rev string) (string, error) {
	if strings.HasPrefix(rev, "-") {
		return "", fault.New(fault.Usage, fault.BadUsage, "%s is not a revision", untrusted.Line(rev))
	}
	out, err := s.Engine.Repo.RevParse(ctx, rev+"^{commit}")
	if code := gitexec.ExitCode(err); code == 1 || code == 128 && !gitexec.CouldNotStore(err) {
		return "", fault.New(fault.NotFound, fault.NoSuchCommit, "%s is not a commit here", untrusted.Line(rev)).
			WithHints(fault.Run("git", "log", "--oneline", "--max-count=5").Because("lists the newest commits"))
	}
	return out, err
}
