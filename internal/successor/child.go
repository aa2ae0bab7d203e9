package successor

import (
	"cmp"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
)

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
