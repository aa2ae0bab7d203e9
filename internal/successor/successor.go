// Package successor makes handoffs following from others, a return, a reroute or a reply, with
// the authority the first may pass on.
package successor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/durable"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/private"
	"githandoff/internal/record"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed by successor.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	Principal() string
	Source() string
	Warn(err error)
}

// Maker makes handoffs following from others.
type Maker struct {
	Agent     string
	Engine    *lifecycle.Engine
	Local     *lifecycle.LocalHome
	Workspace Workspace
}

// New makes the maker of a workspace.
func New(w *workspace.Workspace) *Maker {
	return &Maker{Agent: w.Agent, Engine: w.Engine, Local: w.Local, Workspace: w}
}

// Return makes the handoff going back: the old task, why it failed, where to roll back to.
func (m *Maker) Return(env *handoff.Envelope, s *lifecycle.State, reason string) (*handoff.Envelope, error) {
	at := m.Engine.Now().UTC().Truncate(time.Second)
	to := env.Rollback.OnFailure
	child := handoff.Follow(env, handoff.FormatTime(at), handoff.FormatTime(at.Add(lifecycle.DefaultTTL)))
	from := cmp.Or(s.Claim, &record.Record{At: at, Nonce: "rejected"})
	var err error
	if child.ID, err = m.ID(env.ID, from); err != nil {
		return nil, err
	}
	child.Source = handoff.Source{Agent: m.Workspace.Source(), Repo: m.Local.RepoID}
	child.Target = handoff.Target{Agent: &to, Reason: reason}
	child.Goal = "Take back a handoff that failed: " + FirstLine(env.Goal, env.Summary)
	child.Summary = reason
	child.Rollback = &handoff.Rollback{Checkpoint: env.Rollback.Checkpoint}
	child.Work = env.Work
	child.Salt, err = handoff.RandomHex(m.Engine.Author.Random)
	return child, err
}

// FirstLine returns the first line of the first non-empty text, cut after some 500 bytes.
func FirstLine(texts ...string) string {
	for _, t := range texts {
		if t == "" {
			continue
		}
		for i, c := range t {
			if c == '\n' || i > 500 {
				return t[:i]
			}
		}
		return t
	}
	return ""
}

// Child copies a handoff for its next agent.
func (m *Maker) Child(v *lifecycle.Verified, to *string, home lifecycle.Home, reason string) (*handoff.Envelope, error) {
	env, s := v.Envelope(), v.State()
	at := m.Engine.Now().UTC().Truncate(time.Second)
	follow := handoff.Follow(env, handoff.FormatTime(at), handoff.FormatTime(at.Add(lifecycle.DefaultTTL)))
	child := *env
	child.Parent, child.Lineage, child.CreatedAt, child.ExpiresAt = follow.Parent, follow.Lineage, follow.CreatedAt, follow.ExpiresAt
	child.Status, child.OBO = handoff.StatusComplete, nil
	child.BlockedReason, child.Questions = "", nil
	if handoff.CheckAgent(m.Agent) == nil { // a person who sends the handoff on leaves the agent's name
		child.Source.Agent = m.Agent
	}
	child.Target = handoff.Target{Agent: to, Reason: reason, Request: env.Target.Request}
	if hub, ok := home.(*crossrepo.Hub); ok {
		child.Target.Repo = hub.ID()
	}
	var err error
	if child.ID, err = m.ID(env.ID, cmp.Or(s.Claim, v.Offer())); err != nil {
		return nil, err
	}
	child.Salt, err = handoff.RandomHex(m.Engine.Author.Random)
	return &child, err
}

// Payload prepares a payload with the authority a, if any. It is sealed if sealed is set: on
// request, or because its parent was. If the token cannot be issued, requested authority is
// refused; inherited authority is dropped with a warning.
func (m *Maker) Payload(ctx context.Context, home lifecycle.Home, env *handoff.Envelope, a *lifecycle.Authority, asked, sealed bool) (*lifecycle.Payload, error) {
	author := m.Engine.Author
	if sealed {
		author = author.Sealing()
	}
	if a != nil {
		p, err := author.PrepareFor(ctx, home, env, *a)
		if err == nil || asked || !m.WarnUnauthorized(env.ID, err) {
			return p, err
		}
	}
	return author.Prepare(ctx, home, env, m.Workspace.Principal())
}

// WarnUnauthorized warns of a handoff sent without the intended authority; false if the error
// is about something else.
func (m *Maker) WarnUnauthorized(id handoff.ID, err error) bool {
	switch f := fault.As(err); fault.CodeOf(err) {
	case fault.Denied, fault.Invalid, fault.Usage, fault.Conflict:
		m.Workspace.Warn(fault.New(f.Code, f.Reason, "handoff %s is sent without authority: %w", id, err))
		return true
	}
	return false
}

// Authority returns the authority of a child of v: a token below v's if this worktree holds v, or
// else a first one by a root key of its principal. It is nil if v has none.
func (m *Maker) Authority(v *lifecycle.Verified, held bool) (*lifecycle.Authority, error) {
	token := v.Token()
	switch {
	case v.Lapse() != nil:
		return nil, v.Lapse()
	case token == nil:
		return nil, nil
	case held:
		return &lifecycle.Authority{Above: v}, nil
	case m.Engine.Author.SpeaksFor(token.Principal()):
		again := v.Again()
		return &again, nil
	}
	id := v.Envelope().ID
	return nil, fault.New(fault.Denied, fault.IssuerNotHolder, "handoff %s carries authority of %s, which %s cannot pass on", id, token.Principal(), m.Engine.Author.Actor).
		WithHints(fault.Fact("ask %s, who lent it, to reroute it", token.Principal()),
			fault.Run("githandoff", "revoke", string(id)).Because("takes it back; then emit again with --parent"))
}

// ID returns the id of a handoff that follows from a step of its parent: a claim, an offer or a
// rejection. It is always the same one in this clone, so a repeated command does not make two. It
// derives from a secret of the clone as well: everybody can read the log, and could otherwise offer
// a handoff under this id before.
func (m *Maker) ID(parent handoff.ID, from *record.Record, parts ...string) (handoff.ID, error) {
	secret, err := m.secret()
	if err != nil {
		return "", err
	}
	return handoff.DeriveID(from.At, append([]string{string(parent), from.Nonce, secret}, parts...)...), nil
}

// secret returns the secret of the clone. The first command that needs it makes it; of two commands
// at once, the second takes that of the first.
func (m *Maker) secret() (string, error) {
	path := m.Engine.Repo.Own("id-secret")
	b, err := private.ReadState(path)
	if err == nil && b == nil {
		if err := m.makeSecret(path); err != nil {
			return "", err
		}
		b, err = private.ReadState(path)
	}
	if err != nil {
		return "", err
	}
	secret := strings.TrimSuffix(string(b), "\n")
	if !handoff.IsHex(secret, 32) {
		return "", fault.New(fault.Invalid, fault.Malformed, "%s does not hold 32 hex digits", path).
			WithHints(fault.Run("mv", path, path+".broken").Because("sets it aside; the next step makes another one"))
	}
	return secret, nil
}

func (m *Maker) makeSecret(path string) error {
	made, err := handoff.RandomHex(m.Engine.Author.Random)
	if err != nil {
		return err
	}
	if err := private.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	err = durable.CreateFile(path, []byte(made+"\n"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// CheckChain refuses a child of a handoff if the chain of parents has reached its limit: agents that hand their
// work to each other for ever are stopped. The hint says what to do instead.
func (m *Maker) CheckChain(ctx context.Context, env *handoff.Envelope, instead fault.Hint) error {
	links, err := m.chainLength(ctx, env)
	if err != nil || links < handoff.MaxChain {
		return err
	}
	return fault.New(fault.Policy, fault.ChainTooLong, "the chain of handoffs behind %s has %d links", env.ID, handoff.MaxChain).WithHints(instead)
}

// chainLength counts a handoff and its ancestors, at most handoff.MaxChain: by the lineage
// as far as it reaches, then by the log.
func (m *Maker) chainLength(ctx context.Context, env *handoff.Envelope) (int, error) {
	n, oldest := 1, env.Parent
	if len(env.Lineage) > 0 {
		n, oldest = 1+len(env.Lineage), env.Lineage[0].ID
		f, err := m.Workspace.Find(ctx, string(oldest), workspace.Never)
		if err != nil || f.State.Offer == nil {
			return n, ignoreNotFound(err)
		}
		oldest = f.State.Offer.Parent
	}
	for ; oldest != "" && n < handoff.MaxChain; n++ {
		f, err := m.Workspace.Find(ctx, string(oldest), workspace.Never)
		if err != nil || f.State.Offer == nil {
			return n + 1, ignoreNotFound(err)
		}
		oldest = f.State.Offer.Parent
	}
	return n, nil
}

// ignoreNotFound drops the error of an unknown home: its entries cannot be counted.
func ignoreNotFound(err error) error {
	if fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}
