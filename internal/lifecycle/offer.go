package lifecycle

import (
	"context"
	"errors"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Payload is a signed handoff that is ready to be offered at its home.
type Payload struct {
	Envelope *handoff.Envelope // an outline where Unread says why
	Unread   error             // it was read back, and is sealed for others
	Sealed   bool
	Record   record.Record
	Agent    string // inbox: the target agent, or refs.Nobody
	Commit   *refs.Object
	Objects  []*refs.Object // blobs, trees and the commit
}

// Prepare turns an envelope into a payload commit for the given home. The
// envelope is complete: id, salt, times and source are set. It carries no
// authority; see PrepareFor.
func (e *Engine) Prepare(ctx context.Context, home Home, env *handoff.Envelope, principal string) (*Payload, error) {
	raw, err := e.wrap(env)
	if err != nil {
		return nil, err
	}
	return e.prepare(ctx, home, env, raw, record.Record{Principal: principal}, nil)
}

// prepare signs the payload commit over the blob of an envelope and its tokens.
func (e *Engine) prepare(ctx context.Context, home Home, env *handoff.Envelope, raw []byte, rec record.Record, links []obo.Link) (*Payload, error) {
	blob := refs.NewObject("blob", raw)
	parts, objects := payloadTree{envelope: blob.OID, sealed: e.seal}, []*refs.Object{blob}
	if len(links) > 0 {
		tokens, err := tokenObjects(links)
		if err != nil {
			return nil, err
		}
		objects = append(objects, tokens...)
		parts.obo = tokens[len(tokens)-1].OID
	}
	body, err := encodePayloadTree(parts)
	if err != nil {
		return nil, err
	}
	tree := refs.NewObject("tree", body)
	expires, err := handoff.ParseTime(env.ExpiresAt)
	if err != nil {
		return nil, err
	}
	to, agent := record.Nobody, refs.Nobody
	if !NeedsDecision(env) {
		to, agent = *env.Target.Agent, *env.Target.Agent
	}
	rec.ID, rec.From, rec.To, rec.Home = env.ID, env.Source.Agent, to, home.ID()
	rec.Digest, rec.Expires = handoff.Digest(raw), expires
	rec.Task, rec.Parent, rec.Counts, rec.Status = env.Task, env.Parent, env.Counts(), env.Status
	rec.OnFailure = onFailure(env)
	if err := e.stamp(&rec, record.Offered, ""); err != nil {
		return nil, err
	}
	if err := e.maySign(&rec); err != nil {
		return nil, err
	}
	commit, err := e.commit(ctx, &rec, tree.OID)
	if err != nil {
		return nil, err
	}
	return &Payload{
		Envelope: env, Sealed: e.seal, Record: rec, Agent: agent, Commit: commit, Objects: append(objects, tree, commit),
	}, nil
}

// onFailure is the agent to whom a handoff goes back when it fails; "" where none
// is named.
func onFailure(env *handoff.Envelope) string {
	if env.Rollback == nil {
		return ""
	}
	return env.Rollback.OnFailure
}

// maySign: an offer that this clone itself would not believe is never written.
// A recipient may, too: the return handoff of a failure.
func (e *Engine) maySign(r *record.Record) error {
	key, ok := e.Trust.Lookup(r.Key)
	if !ok {
		return e.notPinned()
	}
	if err := key.Named(e.Actor, sign.Mail(e.Actor)); err != nil {
		return err
	}
	err := maySend(key, r)
	if err != nil && key.MayAct(sign.RoleRecipient, r.From, r.At) == nil {
		return nil
	}
	return err
}

// MayTakeBack says whether a payload that was not offered yet is this engine's
// to drop: it is whose name it bears, or a root key's.
func (e *Engine) MayTakeBack(offer *record.Record) error {
	if e.maySign(&record.Record{Key: e.Signer.KID(), From: offer.From, At: e.now()}) != nil {
		return denied(fault.UntrustedKey, "%s may not take back handoff %s, which %s sent", e.Actor, offer.ID, offer.From)
	}
	return nil
}

func (e *Engine) notPinned() error {
	return denied(fault.UntrustedKey, "the key %s is not trusted here", e.Signer.KID()).
		WithHints(e.trustOwn())
}

// NeedsDecision reports whether a person or the policy has to say who goes on. A
// sender that names an agent has said so, whatever the status of its work.
func NeedsDecision(env *handoff.Envelope) bool { return env.Target.Agent == nil }

// Offer makes the handoff present at its home: the inbox ref and the entry that
// says so. Aside are edits of this repository's own refs that belong to it. An
// id that was there before, open or ended, is refused, unless it is this very
// payload: then it is there already, and Offer is a success.
func (e *Engine) Offer(ctx context.Context, home Home, p *Payload, aside ...refs.Edit) (*State, error) {
	at := Place{Agent: p.Agent, ID: p.Record.ID}
	first, looked := true, false
	return e.act(ctx, home, at, true, func(s *State, b *batch) error {
		b.tx.Aside = aside
		if s.lostBy(p) && !looked {
			// Inboxes are read before lanes: what landed in between is not lost.
			looked = true
			if err := home.Refresh(ctx, Want{Places: []Place{at}, Lanes: []handoff.ID{at.ID}}); err != nil {
				return err
			}
			now, err := e.Locate(ctx, home, at)
			if err != nil {
				return err
			}
			*s = *now
		}
		err := e.planOffer(ctx, s, b, p)
		if err == nil && len(b.order) == 0 && first && s.Receipt == nil {
			err = s.offeredBefore(home) // says a copy that may be old: look again
		}
		if s.Phase() == Absent {
			b.after = &State{ID: s.ID, Agent: p.Agent, Tip: p.Commit.OID, Offer: &p.Record, Payload: p.Commit.OID, To: p.Record.To}
		}
		first = false
		return err
	})
}

func (s *State) offeredBefore(home Home) error {
	return fault.New(fault.Conflict, fault.Replayed, "handoff %s was offered at %s before", s.ID, home.ID())
}

// lostBy reports whether the lane says that this payload is open, and no inbox
// ref of the handoff leads to it.
func (s *State) lostBy(p *Payload) bool {
	return s.Offer != nil && s.Payload == p.Commit.OID && !s.Delivered() && (s.Phase() == Open || s.Phase() == Held)
}

func (e *Engine) planOffer(ctx context.Context, s *State, b *batch, p *Payload) error {
	mine := s.Offer != nil && s.Payload == p.Commit.OID
	switch {
	case mine && !s.lostBy(p):
		return nil // there already, or over
	case !mine && len(s.Entries) > 0:
		return s.offeredBefore(b.home)
	case p.Record.Key != e.Signer.KID():
		// Worktrees share an outbox. Who made the payload signs the entry as well.
		return fault.New(fault.Conflict, fault.NotSender, "handoff %s waits for %s, who sent it: only its key can offer it", p.Record.ID, p.Record.Actor).
			WithHints(fault.Run("githandoff", "--as", p.Record.Actor, "sync").Because("offers it with that key, if it is here"))
	}
	agent := p.Agent
	if mine {
		agent = s.To // it may have been routed since
	}
	// A ref that the lane does not know was left by a step that was cut off.
	if s.tips[agent] != p.Commit.OID {
		b.move(b.home.Space().Inbox(agent, p.Record.ID), s.tips[agent], p.Commit)
		if err := b.keepWork(ctx, agent, p.Record.ID, p.Envelope.Work); err != nil {
			return err
		}
		b.tx.Objects = append(b.tx.Objects, p.Objects...)
	}
	return b.entry(ctx, p.Record, p.Commit.OID, s.LaneTip)
}

// Reload reads a payload commit of ours back from a ref (the outbox), so that
// it can be delivered as it was signed.
func (e *Engine) Reload(ctx context.Context, ref string) (*Payload, error) {
	o, err := e.Repo.Read(ctx, ref, record.MaxCommit)
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, fault.New(fault.NotFound, fault.UnknownHandoff, "%s is not there", ref)
	}
	c, err := record.ParseCommit(o.Body)
	if err != nil {
		return nil, denied(fault.MalformedObject, "%s: %w", ref, err)
	}
	s := &State{ID: c.Record.ID, Chain: []Link{{OID: o.OID, Commit: c}}}
	v, err := e.open(ctx, s)
	if err != nil && !sealedForOthers(err) {
		return nil, err
	}
	if err != nil {
		v = &Verified{envelope: Outline(c.Record), sealed: true}
	}
	return &Payload{Envelope: v.envelope, Unread: err, Sealed: v.sealed, Record: *c.Record, Agent: c.Record.To, Commit: o, Objects: nil}, nil
}

// ReloadOffer reads the payload commit that lies under a commit of an inbox ref.
func (e *Engine) ReloadOffer(ctx context.Context, oid string) (*Payload, error) {
	for range maxChain {
		o, err := e.Repo.Read(ctx, oid, record.MaxCommit)
		if err != nil || o == nil {
			return nil, errors.Join(err, fault.New(fault.NotFound, fault.UnknownHandoff, "commit %s is not there", oid))
		}
		parent := firstParent(o.Body)
		if parent == "" {
			return e.Reload(ctx, oid)
		}
		oid = parent
	}
	return nil, denied(fault.MalformedObject, "commit %s: more commits than a handoff has", oid)
}

// DefaultTTL is how long a handoff waits before it expires.
const DefaultTTL = 7 * 24 * time.Hour
