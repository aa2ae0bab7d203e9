package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Author signs records with the key of one agent or person: payloads, steps, and
// joins of lanes.
type Author struct {
	Keys   *Keys
	Signer sign.Signer
	Actor  string // agent name, or a person's mail address
	Random io.Reader
	Guest  bool          // the worktree is set up for another agent
	Format gitobj.Format // object format of the payloads' repository

	seal bool // whether this author seals the payloads that it prepares
}

// commit signs rec into a commit object. mail is the address of its author: that of the actor's name, or that
// of the payload that it is about. A parent "" is left out.
func (by *Author) commit(ctx context.Context, mail string, rec *record.Record, tree string, parents ...string) (*refs.Object, error) {
	parents = slices.DeleteFunc(parents, func(p string) bool { return p == "" })
	c := &record.Commit{Tree: tree, Parents: parents, Email: mail, Record: rec}
	if err := c.Check(); err != nil {
		return nil, fault.New(fault.Invalid, fault.Malformed, "%w", err)
	}
	signature, err := by.Signer.Sign(ctx, sign.NamespaceGit, c.Payload())
	if err != nil {
		return nil, err
	}
	c.Signature = signature
	return refs.NewObject(gitobj.FormatOf(tree), "commit", c.Encode()), nil
}

// stamp fills in the trailers common to all records of this author.
func (by *Author) stamp(rec *record.Record, event record.Event, previous string) error {
	nonce, err := handoff.RandomHex(by.Random) // the nonce tells two commits of one key in one second apart
	if err != nil {
		return fmt.Errorf("read a nonce: %w", err)
	}
	rec.Event, rec.Actor, rec.Key = event, by.Actor, by.Signer.KID()
	rec.Previous, rec.Nonce, rec.At = cmp.Or(previous, record.None), nonce, by.Keys.now()
	return nil
}

// maySign refuses an offer that this clone itself would not believe. A recipient may sign one
// offer: the return handoff of a failure.
func (by *Author) maySign(r *record.Record) error {
	key, ok := by.Keys.Trust.Lookup(r.Key)
	if !ok {
		return by.notPinned()
	}
	if err := key.Named(by.Actor, sign.Mail(by.Actor)); err != nil {
		return err
	}
	err := maySend(key, r.From, r.At)
	if err != nil && key.MayAct(sign.RoleRecipient, r.From, r.At) == nil {
		return nil
	}
	return err
}

func (by *Author) notPinned() error {
	return denied(fault.UntrustedKey, "the key %s is not trusted here", by.Signer.KID()).
		WithHints(by.trustOwn())
}

// trustOwn returns the hint to trust the key acting here, if it is an agent's.
func (by *Author) trustOwn() fault.Hint {
	if handoff.CheckAgent(by.Actor) != nil {
		return fault.Fact("the key of %s is trusted where that person works: run the command there", by.Actor)
	}
	if by.Guest {
		return fault.Run("githandoff", "trust", "add", by.Signer.KID(), "--agent", by.Actor).Because("trusts the key of %s", by.Actor)
	}
	return fault.Run("githandoff", "init", "--as", by.Actor).Because("trusts the key of this worktree's own agent")
}

// MayTakeBack refuses an author who may not drop a payload before its offer. Its sender may,
// and so may a root key.
func (by *Author) MayTakeBack(offer *record.Record) error {
	if by.maySign(&record.Record{Key: by.Signer.KID(), From: offer.From, At: by.Keys.now()}) != nil {
		return denied(fault.UntrustedKey, "%s may not take back handoff %s, which %s sent", by.Actor, offer.ID, offer.From)
	}
	return nil
}

// MayDecide refuses an author without a root key.
func (by *Author) MayDecide() error {
	if by.IsRoot() {
		return nil
	}
	return denied(fault.UntrustedKey, "%s may not decide: its key is not a root key here", by.Actor).
		WithHints(by.Keys.deciders())
}

// IsRoot reports whether the author's key is a root key now.
func (by *Author) IsRoot() bool {
	return by.Signer != nil && by.MayAct(sign.RoleRoot, "")
}

// MayAct reports whether the author's key may act in a role under an agent's name now.
func (by *Author) MayAct(role, agent string) bool {
	key, ok := by.Keys.Trust.Lookup(by.Signer.KID())
	return ok && key.MayAct(role, agent, by.Keys.now()) == nil
}

// SpeaksFor reports whether the author's key may issue first tokens on behalf of
// a principal now.
func (by *Author) SpeaksFor(principal string) bool {
	key, ok := by.Keys.Trust.Lookup(by.Signer.KID())
	return ok && key.SpeaksFor(principal) && key.ValidAt(by.Keys.now()) == nil
}

// checkHeld says why the caller may not act as the holder.
func (by *Author) checkHeld(s *State, h ClaimProof) error {
	if s.Receipt != nil {
		return s.endedErr(fault.NotHolder)
	}
	if err := s.Err(); err != nil {
		return err
	}
	switch {
	case s.Claim == nil:
		refusal := fault.As(errNotHeld(s))
		if !Shows(s, h.Nonce) {
			refusal.Err = ErrUnseen
		}
		return refusal
	case s.Claim.Nonce != h.Nonce || s.Claim.Key != by.Signer.KID():
		return by.HeldBy(s)
	}
	return nil
}

// ErrUnseen is the cause of the refusal of a step whose claim the lane, as it is known here, never had. A git that
// outlived its githandoff may have brought the claim to the home, or may still do so.
var ErrUnseen = errors.New("the claim was not seen at its home")

// HeldBy returns the refusal of a step on a handoff held by another agent, or by the same agent
// elsewhere.
func (by *Author) HeldBy(s *State) error {
	f := fault.New(fault.Conflict, fault.NotHolder, "handoff %s is held by %s until %s",
		s.ID, s.Claim.Actor, handoff.FormatTime(s.Lease))
	switch {
	case s.Claim.Actor == by.Actor && by.Signer != nil && s.Claim.Key != by.Signer.KID():
		return f.WithHints(fault.Fact("it was taken with another key of %s, %s: finish it with that one or, if that is retired, resume it after the lease; %s can release it before", by.Actor, s.Claim.Key, s.Offer.From))
	case s.Claim.Actor == by.Actor:
		return f.WithHints(fault.Fact("it was taken in another clone or worktree of %s: finish it there or, if that is gone, resume it after the lease", by.Actor))
	}
	return f.WithHints(fault.Run("githandoff", "status").Because("lists the handoffs held here"))
}

// HowToBreak returns the hint on a step for which the claim has to be broken first: the command, if
// this key may break the claim, or else who may.
func (by *Author) HowToBreak(s *State) fault.Hint {
	if by.Actor != s.Offer.From && !by.IsRoot() {
		return fault.Run("githandoff", "show", string(s.ID)).Because("names its source and its holder; they can, and a root key")
	}
	if s.releasedElsewhere() {
		return fault.Fact("%s gave it back, with a key that does not count here: run this again after the lease, or a person with a root key ends it now", s.elsewhere.Record().Actor)
	}
	return fault.Run("githandoff", "release", "--force", string(s.ID)).Because("breaks that claim")
}

// checkStep refuses a step that the table of steps does not give to this author.
func (by *Author) checkStep(s *State, rec *record.Record) error {
	key, ok := by.Keys.Trust.Lookup(rec.Key)
	if !ok {
		return by.notPinned()
	}
	err := key.Named(by.Actor, sign.Mail(by.Actor))
	if err == nil {
		err = checkStep(s, key, rec)
	}
	if !fault.Is(err, fault.Disputed) {
		return err
	}
	may := attempt{state: s, step: rec}.others()
	if may == "" {
		return err
	}
	hint := fault.Run("githandoff", "show", string(s.ID)).Because("shows its state")
	if rec.Event == record.Failed && by.Actor == s.Offer.From {
		hint = fault.Run("githandoff", "revoke", string(s.ID)).Because("withdraws it")
	}
	return denied(fault.UntrustedKey, "%s may not %s handoff %s: only %s may", by.Actor, verb(rec.Event), s.ID, may).WithHints(hint)
}

// draft makes the record of a step on s: the trailers of every record of the handoff, and those
// added by fill for this event. It asks the table of steps before anything is signed, so only a
// step that counts is written.
func (by *Author) draft(s *State, event record.Event, fill func(*record.Record)) (*record.Record, error) {
	rec := nextRecord(s)
	if err := by.stamp(&rec, event, s.below()); err != nil {
		return nil, err
	}
	fill(&rec)
	if err := by.checkStep(s, &rec); err != nil {
		return nil, err
	}
	return &rec, nil
}

// nextRecord returns the record of the next step on s, without the event's own trailers.
func nextRecord(s *State) record.Record {
	r := record.Record{
		ID: s.ID, From: s.Offer.From, To: s.To, Home: s.Offer.Home,
		Digest: s.Offer.Digest, Expires: s.Offer.Expires, Task: s.Offer.Task, Token: s.Offer.Token,
	}
	if s.Claim != nil {
		r.Claim = s.Claim.Nonce
	}
	if r.Token != "" {
		r.Principal = s.Offer.Principal
	}
	return r
}

// Authority has the members of a new handoff's token that are not in its envelope.
type Authority struct {
	// Above is the handoff whose token is passed on, held by one of the engine's keys; nil for a
	// first token, which a root key for the principal signs.
	Above     *Verified
	Principal string   // such as user:alice@example.com; "" for that of the token above
	Scope     []string // empty for that of the token above
	Audience  []string // ids of further repositories where the work may go on; empty for those of the token above
}

// PrepareFor is like [Author.Prepare] with a token for the target agent. The engine's key signs
// both. A token this clone itself would not believe is refused, for the reason given by its
// verification. PrepareFor does not change env.
func (by *Author) PrepareFor(ctx context.Context, home Home, env *handoff.Envelope, a Authority) (*Payload, error) {
	params, err := by.params(home, env, a)
	if err != nil {
		return nil, err
	}
	var links []obo.SignedToken
	if a.Above != nil {
		links = slices.Clone(a.Above.links)
	}
	bearing := *env
	bearing.OBO = &handoff.OBORef{JTI: params.JTI, Path: tokenPath(len(links) + 1)}
	raw, err := by.wrap(&bearing)
	if err != nil {
		return nil, err
	}
	params.Digest = handoff.Digest(raw)
	token, err := a.token(params)
	if err != nil {
		return nil, err
	}
	sig, err := by.Signer.Sign(ctx, obo.Namespace, token)
	if err != nil {
		return nil, err
	}
	links = append(links, obo.SignedToken{Token: token, Sig: sig})
	own, err := obo.VerifyChain(links, obo.VerifyContext{
		Now: by.Keys.now(), Keys: pinned{by.Keys.Trust}, HomeIs: home.Is,
		Handoff: env.ID, Digest: params.Digest, JTI: params.JTI, Agent: params.Agent, Ancestors: ancestors(env),
		Revoked: func(*obo.Claims) (bool, error) { return false, nil }, // the token is new, and those above it were checked
	})
	if err != nil {
		return nil, err
	}
	rec := record.Record{Token: own.JTI(), Principal: own.Principal() + byToken}
	return by.prepare(ctx, home, &bearing, raw, rec, links)
}

func (a Authority) token(p obo.Params) ([]byte, error) {
	if a.Above == nil {
		return obo.Issue(p)
	}
	above := a.Above.links
	return obo.Attenuate(above[len(above)-1].Token, p)
}

// params returns the claims of the new token without the digest of its envelope.
func (by *Author) params(home Home, env *handoff.Envelope, a Authority) (obo.Params, error) {
	p := obo.Params{Issuer: by.Signer.KID(), Handoff: env.ID, IssuedAt: by.Keys.now(), Principal: a.Principal, Scope: a.Scope}
	if env.Target.Agent == nil {
		return p, fault.New(fault.Usage, fault.NoAgent, "a token names the agent that it is for, and handoff %s is for nobody yet", env.ID).
			WithHints(fault.See("emit").Because("--to names the agent"))
	}
	p.Agent = *env.Target.Agent
	var err error
	if p.ExpiresAt, err = handoff.ParseTime(env.ExpiresAt); err != nil {
		return p, err
	}
	p.ExpiresAt = sooner(p.ExpiresAt, p.IssuedAt.Add(obo.DefaultLifetime))
	if len(a.Audience) > 0 || a.Above == nil {
		p.Audience = append([]string{home.ID()}, a.Audience...)
	}
	if a.Above != nil {
		if err := a.Above.leadsTo(home); err != nil {
			return p, err
		}
		p.ExpiresAt = sooner(p.ExpiresAt, a.Above.token.Expires())
	}
	if p.Keys = by.Keys.Recipients(p.Agent); len(p.Keys) == 0 {
		return p, denied(fault.UntrustedKey, "no key is trusted here as a recipient of %s, so none could hold the token", p.Agent).
			WithHints(whoseKey(p.Agent))
	}
	p.JTI, err = obo.NewJTI(by.Random)
	return p, err
}

// leadsTo says why v's token cannot be passed on to a home. Other users cannot reach a local
// repository to ask whether it revoked a token.
func (v *Verified) leadsTo(home Home) error {
	switch {
	case v.token == nil:
		return denied(fault.IssuerNotHolder, "handoff %s gives no authority to pass on", v.state.ID)
	case !slices.ContainsFunc(v.token.Leaf().Audience, home.Is):
		return denied(fault.AudienceMismatch, "token %s is not for %s", v.token.JTI(), home.ID()).
			WithHints(fault.SeeAll("emit").Because("the principal must name every repository at the start, with --audience"))
	case strings.HasPrefix(v.Offer().Home, "local:") && !home.Is(v.Offer().Home):
		return denied(fault.StatusUnknown, "nobody at %s could ask this repository whether token %s was revoked", home.ID(), v.token.JTI()).
			WithHints(fault.See("emit").Because("--to sends the first handoff to a hub, as agent@alias"))
	}
	return nil
}

// Again returns v's principal, scope and audience as the basis of a new first token. A root key
// signs it without holding v.
func (v *Verified) Again() Authority {
	return Authority{Principal: v.token.Principal(), Scope: v.token.Scope(), Audience: v.token.Leaf().Audience}
}
