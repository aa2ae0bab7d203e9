package lifecycle

import (
	"context"
	"errors"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

const (
	sealedName = "handoff.json.pgp"

	maxSealed = handoff.MaxEnvelope + sign.SealOverhead // bytes
)

// unwrap is the envelope's bytes out of the blob of handoff id.
func (vr *Verifier) unwrap(ctx context.Context, id handoff.ID, blob []byte, sealed bool) ([]byte, error) {
	if !sealed {
		return blob, nil
	}
	raw, err := vr.unseal(ctx, blob)
	if f := fault.As(err); f != nil {
		return nil, fault.New(f.Code, f.Reason, "handoff %s: %w", id, err).WithHints(f.Hints...)
	}
	return raw, err
}

func (vr *Verifier) unseal(ctx context.Context, blob []byte) ([]byte, error) {
	if err := sign.CheckSealed(blob); err != nil {
		return nil, err
	}
	signer, err := vr.Author.Signer, error(nil)
	if signer == nil && vr.Opener != nil {
		signer, err = vr.Opener(ctx)
	}
	if err != nil {
		return nil, err
	}
	if signer == nil {
		return nil, denied(fault.AudienceMismatch, "no key here can open it: %w", sign.ErrSealed).WithHints(fault.See("init").Because("--as names the agent whose key opens it"))
	}
	return sign.Unseal(ctx, signer, blob, handoff.MaxEnvelope)
}

// IsSealed reports whether the payload of a loaded state is sealed. It is false if no offer
// counts: then no step can be taken. If no inbox ref leads to the payload, the payload may
// still be among the objects here; an error says that nobody can tell.
func (vr *Verifier) IsSealed(ctx context.Context, s *State) (bool, error) {
	if len(s.Chain) == 0 {
		if s.Offer == nil {
			return false, nil
		}
		o, err := vr.Repo.Read(ctx, s.Payload, record.MaxCommit)
		if err != nil {
			return false, err
		}
		if o == nil {
			return false, fault.New(fault.NotFound, fault.UnknownHandoff, "the payload of handoff %s is gone: nobody can tell whether it is sealed, and its log is readable", s.ID).
				WithHints(fault.Run("githandoff", "sync").Because("the sender's next sync delivers it again"))
		}
		c, err := record.ParseCommit(o.Body)
		if err != nil {
			return false, denied(fault.MalformedObject, "commit %s: %w", o.OID, err)
		}
		s = &State{ID: s.ID, Chain: []Link{{OID: o.OID, Commit: c}}}
	}
	parts, err := readTree(ctx, vr.Repo, s)
	return parts.sealed, err
}

// Outline is an envelope made of the trailers of a record, for one that cannot be opened.
func Outline(r *record.Record) *handoff.Envelope {
	env := &handoff.Envelope{ID: r.ID, Task: r.Task, Source: handoff.Source{Agent: r.From}, Parent: r.Parent, Status: r.Status}
	if r.To != record.Nobody {
		env.Target.Agent = &r.To
	}
	return env
}

// sealedForOthers reports whether the only thing wrong with a payload is that it is sealed
// for other keys.
func sealedForOthers(err error) bool { return errors.Is(err, sign.ErrSealed) }

// quiet refuses a sealed handoff of which the log says more than its trailers: the log
// is not sealed.
func (v *Verified) quiet() error {
	for _, e := range v.state.Entries {
		if r := e.Record(); v.sealed && (r.Data != "" || r.SkillsMissing != "") {
			return denied(fault.MalformedObject, "%s by %s puts text into the log of a sealed handoff", r.Event, r.Actor)
		}
	}
	return nil
}

// unopened is the outline of a payload that is sealed for others. Its digest was checked.
func (vr *Verifier) unopened(ctx context.Context, s *State) (*Verified, error) {
	_, links, err := readParts(ctx, vr.Repo, s)
	if err != nil {
		return nil, err
	}
	offer := s.Chain[0].Commit.Record
	env := Outline(offer)
	if len(links) > 0 {
		env.OBO = &handoff.OBORef{JTI: offer.Token, Path: tokenPath(len(links))}
	}
	return &Verified{state: s, envelope: env, sealed: true, links: links}, nil
}
