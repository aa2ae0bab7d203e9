package lifecycle

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/record"
	"githandoff/internal/screen"
)

// VerifyQueued proves a payload that waits in the outbox for its home: all that can
// be proven without a lane, which has no entry for it yet. No home is asked about its token.
func (vr *Verifier) VerifyQueued(ctx context.Context, home Home, ref string) (*Verified, error) {
	o, err := vr.Repo.Read(ctx, ref, record.MaxCommit)
	if err != nil {
		return nil, err
	}
	if o == nil || o.Type != "commit" {
		return nil, fault.New(fault.NotFound, fault.UnknownHandoff, "%s is not there", ref)
	}
	c, err := record.ParseCommit(o.Body)
	if err != nil {
		return nil, denied(fault.MalformedObject, "%s: %w", ref, err)
	}
	r := c.Record
	s := &State{
		ID: r.ID, Agent: r.To, To: r.To, Tip: o.OID, Payload: o.OID, Offer: r,
		Chain: []Link{{OID: o.OID, Commit: c}},
	}
	key, err := vr.Keys.SignerOf("commit "+o.OID, c)
	if err == nil {
		err = maySend(key, r)
	}
	if err != nil {
		return nil, err
	}
	v, err := vr.open(ctx, s)
	if err != nil {
		return nil, err
	}
	v.sender = key
	if err := v.place(home); err != nil {
		return nil, err
	}
	if err := screen.Envelope(v.envelope); err != nil {
		return nil, err
	}
	return v, vr.authorize(ctx, home, v, Options{AllowExpired: true, AsKnown: true, UnknownStands: true, Lapsed: true})
}
