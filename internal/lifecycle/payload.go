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

// Sealing is the same author, whose payloads are sealed for the keys of their agents.
func (by *Author) Sealing() *Author {
	sealing := *by
	sealing.seal = true
	return &sealing
}

// Prepare turns an envelope into a payload commit for the given home. The
// envelope is complete: id, salt, times and source are set. It carries no
// authority; see PrepareFor.
func (by *Author) Prepare(ctx context.Context, home Home, env *handoff.Envelope, principal string) (*Payload, error) {
	raw, err := by.wrap(env)
	if err != nil {
		return nil, err
	}
	return by.prepare(ctx, home, env, raw, record.Record{Principal: principal}, nil)
}

// prepare signs the payload commit over the blob of an envelope and its tokens.
func (by *Author) prepare(ctx context.Context, home Home, env *handoff.Envelope, raw []byte, rec record.Record, links []obo.SignedToken) (*Payload, error) {
	blob := refs.NewObject("blob", raw)
	parts, objects := payloadTree{envelope: blob.OID, sealed: by.seal}, []*refs.Object{blob}
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
	if err := by.stamp(&rec, record.Offered, ""); err != nil {
		return nil, err
	}
	if err := by.maySign(&rec); err != nil {
		return nil, err
	}
	commit, err := by.commit(ctx, &rec, tree.OID)
	if err != nil {
		return nil, err
	}
	return &Payload{
		Envelope: env, Sealed: by.seal, Record: rec, Agent: agent, Commit: commit, Objects: append(objects, tree, commit),
	}, nil
}

// onFailure is the agent that takes a failed handoff back; "" if none is named.
func onFailure(env *handoff.Envelope) string {
	if env.Rollback == nil {
		return ""
	}
	return env.Rollback.OnFailure
}

// NeedsDecision reports whether a person or the policy has to say who goes on. A
// sender that names an agent has said so, whatever the status of its work.
func NeedsDecision(env *handoff.Envelope) bool { return env.Target.Agent == nil }

// wrap makes the blob of an envelope: its canonical bytes, or those sealed.
func (by *Author) wrap(env *handoff.Envelope) ([]byte, error) {
	raw, err := handoff.Encode(env)
	if err != nil || !by.seal {
		return raw, err
	}
	if NeedsDecision(env) {
		return nil, fault.New(fault.Usage, fault.NoAgent, "handoff %s is for nobody yet, and can be sealed for nobody", env.ID).
			WithHints(fault.See("emit").Because("--to names the agent that it is sealed for"))
	}
	to, err := by.Keys.openers(*env.Target.Agent)
	if err != nil {
		return nil, err
	}
	return sign.Seal(raw, to, by.Keys.now(), by.Random)
}

// Reload reads a payload commit of ours back from a ref (the outbox), so that
// it can be delivered as it was signed.
func (vr *Verifier) Reload(ctx context.Context, ref string) (*Payload, error) {
	o, err := vr.Repo.Read(ctx, ref, record.MaxCommit)
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
	v, err := vr.open(ctx, s)
	if err != nil && !sealedForOthers(err) {
		return nil, err
	}
	if err != nil {
		v = &Verified{envelope: Outline(c.Record), sealed: true}
	}
	return &Payload{Envelope: v.envelope, Unread: err, Sealed: v.sealed, Record: *c.Record, Agent: c.Record.To, Commit: o, Objects: nil}, nil
}

// ReloadOffer reads the payload commit that lies under a commit of an inbox ref.
func (vr *Verifier) ReloadOffer(ctx context.Context, oid string) (*Payload, error) {
	for range maxChain {
		o, err := vr.Repo.Read(ctx, oid, record.MaxCommit)
		if err != nil || o == nil {
			return nil, errors.Join(err, fault.New(fault.NotFound, fault.UnknownHandoff, "commit %s is not there", oid))
		}
		parent := firstParent(o.Body)
		if parent == "" {
			return vr.Reload(ctx, oid)
		}
		oid = parent
	}
	return nil, denied(fault.MalformedObject, "commit %s: too many commits for one handoff", oid)
}

// DefaultTTL is how long a handoff waits before it expires.
const DefaultTTL = 7 * 24 * time.Hour
