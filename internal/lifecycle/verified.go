package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

// Verified is a handoff with every commit, digest and place checked. Only [Verifier.Verify] and
// [Verifier.VerifyQueued] return one.
type Verified struct {
	state    *State
	envelope *handoff.Envelope
	raw      []byte
	sealed   bool
	sender   sign.Key
	links    []obo.SignedToken
	token    *obo.VerifiedToken
	lapse    error
}

// State returns its state at the home.
func (v *Verified) State() *State { return v.state }

// Envelope returns the document. It must not be changed.
func (v *Verified) Envelope() *handoff.Envelope { return v.envelope }

// Bytes returns the exact bytes of the envelope, decrypted if it was sealed.
func (v *Verified) Bytes() []byte { return v.raw }

// Sealed reports whether the envelope was sealed. Any successor must be sealed too, and nothing
// of it may appear anywhere else.
func (v *Verified) Sealed() bool { return v.sealed }

// Offer returns the record of the payload commit.
func (v *Verified) Offer() *record.Record { return v.state.Chain[0].Commit.Record }

// Sender returns the pinned key that signed the payload.
func (v *Verified) Sender() sign.Key { return v.sender }

// Token returns the authority carried by the handoff; nil if there is none, or none any more, see
// Lapse.
func (v *Verified) Token() *obo.VerifiedToken { return v.token }

// Links returns the exact bytes of the tokens and their signatures, the first one first; none if
// the handoff never carried authority.
func (v *Verified) Links() []obo.SignedToken { return v.links }

// Lapse says why the handoff's tokens give no authority any more; nil if they do, or if there
// are none. It is set only with Options.Lapsed.
func (v *Verified) Lapse() error { return v.lapse }

// Verifier proves the content of a handoff, and its authority.
type Verifier struct {
	Repo   *refs.Repo
	Keys   *Keys
	Reader *Reader
	Author *Author // author whose key opens sealed envelopes
	Used   UsedTokens

	// HomeOf finds the home with a repo id, to ask it about the tokens above the last one of
	// a chain. Without it only the handoff's own home is asked.
	HomeOf func(ctx context.Context, repoID string) (Home, error)

	// Opener finds the key for sealed envelopes, if the author has none.
	Opener func(ctx context.Context) (sign.Signer, error)
}

// Options relax the checks of Verify. They never switch a signature off.
type Options struct {
	AllowExpired bool
	// AsKnown asks only the local copies of a home whether a token was revoked, for callers not
	// allowed to wait for a hub.
	AsKnown bool
	// UnknownStands accepts a token even if the home able to revoke one above it is not known
	// here, for callers that cannot, or must not, contact other homes.
	UnknownStands bool
	// Unopened accepts an envelope sealed for others by its trailers alone. All but the content
	// is verified. The guard of a hub uses it: it has no key.
	Unopened bool
	// Lapsed accepts a handoff whose tokens expired, were revoked, or cannot be checked, for
	// callers that only read it or send it on. It then has no Token.
	Lapsed bool
	// lanePinned means the caller's transaction pins the lane it searched for the end of this
	// handoff, so its own home need not be asked first.
	lanePinned bool
}

// Verify proves an open handoff, from the outside in, and stops at the first fault. The state
// was loaded from the same home.
func (vr *Verifier) Verify(ctx context.Context, home Home, s *State, opt Options) (*Verified, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	if len(s.Chain) == 0 {
		if err := vr.errChain(ctx, home, s); err != nil {
			return nil, err
		}
		if opt.AsKnown {
			return nil, errNoPayload(home, s.ID)
		}
		return nil, whyNoPayload(ctx, home, s.ID)
	}
	sender, err := vr.verifyChain(ctx, home, s)
	if err != nil {
		return nil, err
	}
	v, err := vr.open(ctx, s)
	if err != nil && !(opt.Unopened && errors.Is(err, sign.ErrSealed)) {
		return nil, err
	}
	v.sender = sender
	if err := cmp.Or(v.checkPlace(home), v.checkLogText(), screen.Envelope(v.envelope)); err != nil {
		return nil, err
	}
	if now := vr.Keys.now(); now.After(v.Offer().Expires) && !opt.AllowExpired {
		return nil, denied(fault.Expired, "handoff %s expired at %s", s.ID, handoff.FormatTime(v.Offer().Expires)).
			WithHints(fault.See("resume").Because("--allow-expired takes it, if its sender still wants that"))
	}
	return v, vr.authorize(ctx, home, v, opt)
}

// verifyChain checks every commit from the payload to the tip: one signature each, over the raw
// bytes, by a key valid when it signed, and the same story as in the lane. The keys of the
// payload and of a running claim must be valid now as well.
func (vr *Verifier) verifyChain(ctx context.Context, home Home, s *State) (sign.Key, error) {
	var sender sign.Key
	logged, early := map[mark][]*record.Commit{}, map[mark]bool{}
	for _, entry := range s.Entries {
		switch m := markOf(entry.Record()); {
		case entry.Dispute == nil:
			logged[m] = append(logged[m], entry.Commit)
		case entry.Early:
			early[m] = true
		}
	}
	for i, link := range s.Chain {
		if i > 0 && early[markOf(link.Commit.Record)] && link.Commit.Record.Previous == s.Chain[i-1].OID {
			continue // an early step counts neither for the claim nor for the result
		}
		key, err := vr.checkLink(s, i, logged)
		if err == nil && i == 0 {
			sender, err = key, vr.Reader.mayOffer(ctx, home, key, link.Commit.Record)
		}
		if err != nil {
			return sender, err
		}
	}
	offer := s.Chain[0].Commit.Record
	if !home.Is(offer.Home) {
		return sender, denied(fault.AudienceMismatch, "handoff %s is for the home %s, found at %s", s.ID, untrusted.Place(offer.Home), home.ID()).
			WithHints(wrongHome(home, offer.Home)...)
	}
	return sender, nil
}

// checkLink checks commit i of the chain, and returns its signing key. Logged has the
// entries of the lane that count.
func (vr *Verifier) checkLink(s *State, i int, logged map[mark][]*record.Commit) (sign.Key, error) {
	link, payload := s.Chain[i], s.Chain[0].Commit
	r := link.Commit.Record
	key, err := vr.Keys.SignerOf("commit "+link.OID, link.Commit)
	if err == nil {
		err = checkNames(key, link.Commit)
	}
	if err != nil {
		return key, err
	}
	at, now := r.At, vr.Keys.now()
	counts := slices.ContainsFunc(logged[markOf(r)], func(entry *record.Commit) bool { return sameRecord(link.Commit, entry) })
	// The keys of the payload and of a running claim must be valid now. A record made by a clock
	// ahead of ours is judged at its own time. The entry of any other commit was judged at its time.
	live := i == 0 || s.live(r, now)
	if ahead := at.Sub(now); live && (ahead <= 0 || ahead > ClockSkew) {
		at = now
	}
	if err := key.ValidAt(at); err != nil && (live || !counts) {
		err = fault.About("handoff "+string(s.ID), err)
		if f := fault.As(err); i == 0 && f.Reason == fault.KeyRevoked {
			err = f.WithHints(fault.Fact("%s, who offered it, revokes it, and offers the work again with another key", untrusted.Name(r.Actor)))
		}
		return key, err
	}
	switch {
	case r.ID != s.ID, r.Digest != payload.Record.Digest, r.Home != payload.Record.Home, link.Commit.Tree != payload.Tree:
		return key, denied(fault.HandoffMismatch, "commit %s is about another handoff", link.OID)
	case !counts:
		return key, denied(fault.Disputed, "commit %s (%s by %s) has no entry in lane %s", link.OID, r.Event, r.Actor, s.ID.Lane())
	case i == 0 && (r.Event != record.Offered || link.OID != s.Payload):
		return key, denied(fault.HandoffMismatch, "lane %s names another payload than %s", s.ID.Lane(), link.OID)
	case i > 0 && (r.Event.Receipt() || r.Event == record.Offered || r.Previous != s.Chain[i-1].OID):
		return key, denied(fault.MalformedObject, "commit %s is not a step on top of %s", link.OID, s.Chain[i-1].OID)
	}
	return key, nil
}

// live reports whether r belongs to a running claim. One given back or expired is history.
func (s *State) live(r *record.Record, now time.Time) bool {
	return s.Claim != nil && !s.Overdue(now) && r.Key == s.Claim.Key && (r.Nonce == s.Claim.Nonce || r.Claim == s.Claim.Nonce)
}

// open reads tree and envelope: structure, sizes, digest, canonical form. For a payload sealed
// for others it returns sign.ErrSealed and the outline of the payload.
func (vr *Verifier) open(ctx context.Context, s *State) (*Verified, error) {
	parts, err := readTree(ctx, vr.Repo, s)
	if err != nil {
		return nil, err
	}
	links, err := readLinks(ctx, vr.Repo, parts.obo)
	if err != nil {
		return nil, err
	}
	limit := int64(handoff.MaxEnvelope)
	if parts.sealed {
		limit = maxSealed
	}
	raw, err := readPart(ctx, vr.Repo, "the envelope of handoff "+string(s.ID), parts.envelope, "blob", limit)
	if err != nil {
		return nil, err
	}
	offer := s.Chain[0].Commit.Record
	if got := handoff.Digest(raw); got != offer.Digest {
		return nil, denied(fault.DigestMismatch, "envelope of %s has digest %s, but %s was signed", s.ID, got, offer.Digest)
	}
	if parts.sealed {
		raw, err = vr.unseal(ctx, s.ID, raw)
	}
	if errors.Is(err, sign.ErrSealed) {
		env := Outline(offer)
		if len(links) > 0 {
			env.OBO = &handoff.OBORef{JTI: offer.Token, Path: tokenPath(len(links))}
		}
		return &Verified{state: s, envelope: env, sealed: true, links: links}, err
	}
	if err != nil {
		return nil, err
	}
	env, err := handoff.Decode(raw)
	if err != nil {
		err = fault.WithoutTexts(err)
		if f := fault.As(err); f != nil {
			err = f.WithHints(fault.Fact("its sender may have a newer version of githandoff: with that one it can be read"))
		}
		return nil, err
	}
	return &Verified{state: s, envelope: env, raw: raw, sealed: parts.sealed, links: links}, nil
}

// checkPlace requires envelope, trailers, inbox and home to agree.
func (v *Verified) checkPlace(home Home) error {
	env, offer, to := v.envelope, v.Offer(), InboxOf(v.envelope)
	switch {
	case v.raw == nil: // of a sealed envelope, only the trailers can be read
	case env.ID != v.state.ID, env.Source.Agent != offer.From, env.Task != offer.Task, env.Parent != offer.Parent, env.Status != offer.Status,
		env.Counts() != offer.Counts, onFailure(env) != offer.OnFailure:
		return denied(fault.HandoffMismatch, "the envelope of %s and its trailers differ", v.state.ID)
	case offer.To != to && offer.To != handoff.Nobody:
		return denied(fault.HandoffMismatch, "the envelope of %s is for %s, its trailers say %s", v.state.ID, to, offer.To)
	case (env.ExpiresAt != "" || v.sealed) && env.ExpiresAt != handoff.FormatTime(offer.Expires):
		return denied(fault.HandoffMismatch, "the envelope of %s and its trailers expire at different times", v.state.ID)
	}
	switch {
	// A decided handoff may still be in the inbox of undecided ones.
	case v.state.Agent != v.state.To && v.state.Agent != handoff.Nobody:
		return denied(fault.AudienceMismatch, "handoff %s is for %s, but it is in the inbox of %s", v.state.ID, v.state.To, v.state.Agent)
	case env.Target.Repo != "" && !home.Is(env.Target.Repo):
		return denied(fault.AudienceMismatch, "handoff %s is for the repository %s", v.state.ID, untrusted.Place(env.Target.Repo))
	}
	return nil
}

// errChain says why the inbox ref does not lead to the payload named in the lane; nil if its commits are
// in order otherwise, or there are none.
func (vr *Verifier) errChain(ctx context.Context, home Home, s *State) error {
	if len(s.otherChain) == 0 {
		return s.chainErr
	}
	other := *s
	other.Chain = s.otherChain
	_, err := vr.verifyChain(ctx, home, &other)
	return err
}

// VerifyQueued proves a payload waiting in the outbox for its home, as far as this is possible
// without an entry in the lane. No home is asked about its token.
func (vr *Verifier) VerifyQueued(ctx context.Context, home Home, ref string) (*Verified, error) {
	s, _, err := vr.kept(ctx, ref)
	if err != nil {
		return nil, err
	}
	key, err := vr.Keys.SignerOf("commit "+s.Tip, s.Chain[0].Commit)
	if err == nil {
		err = maySend(key, s.Offer.From, s.Offer.At)
	}
	if err != nil {
		return nil, err
	}
	v, err := vr.open(ctx, s)
	if err != nil {
		return nil, err
	}
	v.sender = key
	if err := cmp.Or(v.checkPlace(home), screen.Envelope(v.envelope)); err != nil {
		return nil, err
	}
	return v, vr.authorize(ctx, home, v, Options{AllowExpired: true, AsKnown: true, UnknownStands: true, Lapsed: true})
}

// LoadUnverified reads the envelope of a loaded state without verifying who signed it. Use
// it for hints such as notes, never to print to an agent.
func (vr *Verifier) LoadUnverified(ctx context.Context, s *State) (*handoff.Envelope, error) {
	if len(s.Chain) == 0 {
		return nil, s.Err()
	}
	v, err := vr.open(ctx, s)
	if err != nil {
		return nil, err
	}
	return v.envelope, nil
}
