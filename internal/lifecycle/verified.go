package lifecycle

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/screen"
	"githandoff/internal/sign"
)

// Verified is a handoff whose every commit, digest and place was checked. Only
// Verify makes one.
type Verified struct {
	state    *State
	envelope *handoff.Envelope
	raw      []byte
	sender   sign.Key
}

// State is what the home says about it.
func (v *Verified) State() *State { return v.state }

// Envelope is the document. It must not be changed.
func (v *Verified) Envelope() *handoff.Envelope { return v.envelope }

// Bytes are the exact bytes of the envelope.
func (v *Verified) Bytes() []byte { return v.raw }

// Offer is the record of the payload commit.
func (v *Verified) Offer() *record.Record { return v.state.Chain[0].Commit.Record }

// Sender is the pinned key that signed the payload.
func (v *Verified) Sender() sign.Key { return v.sender }

// Options relax what Verify asks for. They never switch a signature off.
type Options struct {
	AllowExpired bool
	// Ended lets the sender look at the payload of a handoff that has its
	// receipt: to write the last note.
	Ended bool
}

// Verify proves an open handoff, from the outside in; it stops at the first
// thing that is wrong. The state was loaded from the same home.
func (e *Engine) Verify(ctx context.Context, home Home, s *State, opt Options) (*Verified, error) {
	if err := s.Verdict(); err != nil && !(opt.Ended && s.Phase() == Ended) {
		return nil, err
	}
	if len(s.Chain) == 0 {
		return nil, fault.New(fault.NotFound, "not_found", "handoff %s is open at %s, but its payload is not there", s.ID, home.ID()).
			WithHint("githandoff sync   (the source delivers it again)")
	}
	sender, err := e.verifyChain(ctx, home, s)
	if err != nil {
		return nil, err
	}
	v, err := e.open(ctx, s)
	if err != nil {
		return nil, err
	}
	v.sender = sender
	if err := v.place(home); err != nil {
		return nil, err
	}
	if err := screen.Envelope(v.envelope); err != nil {
		return nil, err
	}
	if now := e.now(); now.After(v.Offer().Expires) && !opt.AllowExpired && !opt.Ended {
		return nil, denied("expired", "handoff %s expired at %s", s.ID, handoff.FormatTime(v.Offer().Expires)).
			WithHint("githandoff resume --allow-expired %s", s.ID.Short())
	}
	return v, nil
}

// verifyChain checks every commit from the payload to the tip: one signature
// each, over the raw bytes, by a key that was valid when it signed and is now;
// and the same story as the lane's.
func (e *Engine) verifyChain(ctx context.Context, home Home, s *State) (sign.Key, error) {
	var sender sign.Key
	logged := make(map[string]*record.Record, len(s.Entries))
	for _, entry := range s.Entries {
		if entry.Dispute == nil {
			logged[entry.Record().Nonce] = entry.Record()
		}
	}
	offer := s.Chain[0].Commit.Record
	for i, link := range s.Chain {
		r := link.Commit.Record
		key, err := e.Trust.Verify(sign.NamespaceGit, link.Commit.Payload(), link.Commit.Signature)
		if err != nil {
			return sender, err
		}
		if key.KID() != r.Key {
			return sender, denied("signature_invalid", "commit %s names the key %s and is signed by %s", link.OID, r.Key, key.KID())
		}
		if err := key.ValidAt(e.nowOr(r.At)); err != nil {
			return sender, err
		}
		if r.ID != s.ID || r.Digest != offer.Digest || r.Home != offer.Home || link.Commit.Tree != s.Chain[0].Commit.Tree {
			return sender, denied("handoff_mismatch", "commit %s speaks of another handoff", link.OID)
		}
		entry := logged[r.Nonce]
		if entry == nil || entry.Event != r.Event || entry.Key != r.Key {
			return sender, denied("disputed", "commit %s (%s by %s) has no entry in lane %s", link.OID, r.Event, r.Actor, s.ID.Lane())
		}
		if i == 0 {
			if r.Event != record.Offered || link.OID != s.Payload {
				return sender, denied("handoff_mismatch", "lane %s names another payload than %s", s.ID.Lane(), link.OID)
			}
			if err := e.mayOffer(ctx, home, key, r); err != nil {
				return sender, err
			}
			sender = key
		} else if r.Event.Receipt() || r.Event == record.Offered || r.Previous != s.Chain[i-1].OID {
			return sender, denied("malformed_object", "commit %s is not a step that stands on %s", link.OID, s.Chain[i-1].OID)
		}
	}
	if !home.Answers(offer.Home) {
		return sender, denied("audience_mismatch", "handoff %s is for the home %s, found at %s", s.ID, offer.Home, home.ID())
	}
	return sender, nil
}

// maxSkew is how far ahead another machine's clock may be before what it signed
// counts as not valid yet.
const maxSkew = 24 * time.Hour

// nowOr is now, or the time of a record that a clock ahead of ours made.
func (e *Engine) nowOr(at time.Time) time.Time {
	now := e.now()
	if at.After(now) && at.Sub(now) <= maxSkew {
		return at
	}
	return now
}

// open reads tree and envelope: structure, sizes, digest, canonical form.
func (e *Engine) open(ctx context.Context, s *State) (*Verified, error) {
	tree, err := e.Repo.Read(ctx, s.Chain[0].Commit.Tree, maxTree)
	if err != nil {
		return nil, err
	}
	if tree == nil || tree.Type != "tree" {
		return nil, denied("malformed_object", "the tree of handoff %s is missing", s.ID)
	}
	blob, err := parsePayloadTree(tree.Body)
	if err != nil {
		return nil, err
	}
	o, err := e.Repo.Read(ctx, blob, handoff.MaxEnvelope)
	if err != nil {
		return nil, err
	}
	if o == nil || o.Type != "blob" {
		return nil, denied("malformed_object", "the envelope of handoff %s is missing", s.ID)
	}
	offer := s.Chain[0].Commit.Record
	if got := handoff.Digest(o.Body); got != offer.Digest {
		return nil, denied("digest_mismatch", "envelope of %s has digest %s, signed was %s", s.ID, got, offer.Digest)
	}
	env, err := handoff.Decode(o.Body)
	if err != nil {
		return nil, err
	}
	return &Verified{state: s, envelope: env, raw: o.Body}, nil
}

// place: envelope, trailers, inbox and home must say the same.
func (v *Verified) place(home Home) error {
	env, offer := v.envelope, v.Offer()
	to := record.Nobody
	if env.Target.Agent != nil {
		to = *env.Target.Agent
	}
	switch {
	case env.ID != v.state.ID, env.Source.Agent != offer.From, env.Task != offer.Task, env.Parent != offer.Parent, env.Status != offer.Status:
		return denied("handoff_mismatch", "the envelope of %s and its trailers differ", v.state.ID)
	case offer.To != to && offer.To != record.Nobody:
		return denied("handoff_mismatch", "the envelope of %s is for %s, its trailers say %s", v.state.ID, to, offer.To)
	case v.state.Agent != v.state.To:
		return denied("audience_mismatch", "handoff %s is for %s and lies in the inbox of %s", v.state.ID, v.state.To, v.state.Agent)
	case env.Target.Repo != "" && !home.Answers(env.Target.Repo):
		return denied("audience_mismatch", "handoff %s is for the repository %s", v.state.ID, env.Target.Repo)
	case env.ExpiresAt != "" && env.ExpiresAt != handoff.FormatTime(offer.Expires):
		return denied("handoff_mismatch", "the envelope of %s and its trailers expire at different times", v.state.ID)
	}
	return nil
}

const (
	envelopeName = "handoff.json"
	maxTree      = 4096 // bytes: one entry is about 40
)

// parsePayloadTree accepts the one tree that a payload commit has and returns
// the blob of the envelope.
func parsePayloadTree(raw []byte) (string, error) {
	want := []byte("100644 " + envelopeName + "\x00")
	rest, ok := bytes.CutPrefix(raw, want)
	if !ok || len(rest) != 20 {
		return "", denied("malformed_object", "the tree of the payload holds something other than %s", envelopeName)
	}
	return hex.EncodeToString(rest), nil
}

func encodePayloadTree(blob string) ([]byte, error) {
	oid, err := hex.DecodeString(blob)
	if err != nil || len(oid) != 20 {
		return nil, fmt.Errorf("encode payload tree: %q is not an object id", blob)
	}
	return append([]byte("100644 "+envelopeName+"\x00"), oid...), nil
}
