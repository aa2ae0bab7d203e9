package successor

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
)

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
