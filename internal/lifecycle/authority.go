package lifecycle

import (
	"context"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
)

// Authority has the members of a new handoff's token that its envelope does not have.
type Authority struct {
	// Above is the handoff whose token this one follows from, held or at least
	// held by one of the engine's keys; nil for a first token, which a root key
	// for the principal signs.
	Above     *Verified
	Principal string   // user:alice@example.com; "": that of the token above
	Scope     []string // none: that of the token above
	Audience  []string // repo ids where the work may go on, besides the home; none: those of the token above
}

// PrepareFor is Prepare with a token for the target agent. The engine's key signs both. A
// token that this clone itself would not believe is refused, with the reason that
// verification gives, and env stays unchanged.
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
		Revoked: func(*obo.Claims) (bool, error) { return false, nil }, // it is new, and those above were asked for
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

// params are the claims of the new token but for the digest of its envelope.
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
	if p.Keys = by.Keys.recipients(p.Agent); len(p.Keys) == 0 {
		return p, denied(fault.UntrustedKey, "no key is trusted here as a recipient of %s, so none could hold the token", p.Agent).
			WithHints(whoseKey(p.Agent))
	}
	p.JTI, err = obo.NewJTI(by.Random)
	return p, err
}

// leadsTo says why no token may follow, at a home, from the one that v carries. Others
// cannot ask a repository that only its own users can reach whether it revoked a token.
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

// Again returns v's principal, scope and audience as the basis of a new first token. A
// root key that does not hold v signs it.
func (v *Verified) Again() Authority {
	return Authority{Principal: v.token.Principal(), Scope: v.token.Scope(), Audience: v.token.Leaf().Audience}
}

// checkClaim compares a claim, or its renewal, with the token: the token must name its key,
// and the lease must not outlive the token.
func (v *Verified) checkClaim(rec *record.Record) error {
	if v.token == nil {
		return nil
	}
	rec.Lease = sooner(rec.Lease, v.token.Expires())
	if err := v.token.Binds(rec.Key); err != nil {
		return fault.As(err).WithHints(fault.Fact("ask its sender to trust this key as a recipient of %s, and then to reroute it", rec.To))
	}
	return nil
}

// checkRenewal is checkClaim for the renewal of a claim. Its token must be good now.
func (vr *Verifier) checkRenewal(ctx context.Context, home Home, s *State, rec *record.Record) error {
	if s.Offer.Token == "" {
		return nil
	}
	v, err := vr.Verify(ctx, home, s, Options{AllowExpired: true, fenced: true})
	if err != nil {
		return err
	}
	return v.checkClaim(rec)
}

// checkNotRevoked refuses to acknowledge work whose authority was revoked before it was done.
// A token that ran out meanwhile does not matter.
func (vr *Verifier) checkNotRevoked(ctx context.Context, home Home, s *State) error {
	if s.Offer.Token == "" || len(s.Chain) == 0 {
		return nil
	}
	v, err := vr.Verify(ctx, home, s, Options{AllowExpired: true, Lapsed: true, fenced: true})
	if err == nil && fault.Is(v.lapse, fault.Revoked) {
		err = fault.As(v.lapse).WithHints(fault.Run("githandoff", "fail", string(s.ID), "--reason", "its authority was revoked").Because("ends it"))
	}
	return err
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
