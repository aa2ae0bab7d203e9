package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// pinned lets a trust list answer for the keys of a chain.
type pinned struct{ *sign.Trust }

func (p pinned) Verify(namespace string, message, armored []byte) (string, error) {
	k, err := p.Trust.Verify(namespace, message, armored)
	return k.KID(), err
}

func (p pinned) ValidAt(kid string, at time.Time) error {
	k, _ := p.Lookup(kid)
	return k.ValidAt(at)
}

func (p pinned) Root(kid string) (obo.RootPowers, error) {
	k, _ := p.Lookup(kid)
	if !k.HasRole(sign.RoleRoot) {
		return obo.RootPowers{}, denied(fault.UntrustedKey, "key %s is not trusted as %s", kid, sign.RoleRoot)
	}
	return obo.RootPowers{Principals: k.Entry().Principals, Limits: k.Limits()}, nil
}

// byToken marks a Handoff-Principal as proven by a token.
const byToken = " (token)"

// readLinks reads the tokens of a payload, each within its size limit.
func readLinks(ctx context.Context, repo *refs.Repo, tree string) ([]obo.SignedToken, error) {
	if tree == "" {
		return nil, nil
	}
	raw, err := readPart(ctx, repo, "the tree "+tree+" of the payload", tree, "tree", maxTree)
	if err != nil {
		return nil, err
	}
	ids, err := parseTokenTree(repo.Format, raw)
	if err != nil {
		return nil, err
	}
	links := make([]obo.SignedToken, len(ids))
	for i, id := range ids {
		if links[i].Token, err = readPart(ctx, repo, "the blob "+id.token+" of the payload", id.token, "blob", obo.MaxToken); err != nil {
			return nil, err
		}
		if links[i].Sig, err = readPart(ctx, repo, "the blob "+id.sig+" of the payload", id.sig, "blob", obo.MaxSignature); err != nil {
			return nil, err
		}
	}
	return links, nil
}

// readPart reads one object of a payload. The argument what is its name in the refusal of a
// missing one.
func readPart(ctx context.Context, repo *refs.Repo, what, oid, kind string, limit int64) ([]byte, error) {
	o, err := refs.ReadNamed(ctx, repo, oid, limit, what)
	if err != nil {
		return nil, err
	}
	if o.Type != kind {
		return nil, denied(fault.MalformedObject, "%s is a %s", what, o.Type)
	}
	return o.Body, nil
}

// Above returns the tokens above the last one of a loaded handoff. They are read and not verified: they say
// at which homes to look for a revocation. Those of a sealed handoff are readable for everybody.
func (vr *Verifier) Above(ctx context.Context, s *State) ([]*obo.Claims, error) {
	if len(s.Chain) == 0 {
		return nil, nil
	}
	parts, err := readTree(ctx, vr.Repo, s)
	if err != nil {
		return nil, err
	}
	links, err := readLinks(ctx, vr.Repo, parts.obo)
	if err != nil || len(links) == 0 {
		return nil, err
	}
	var above []*obo.Claims
	for _, link := range links[:len(links)-1] {
		c, err := obo.Decode(link.Token)
		if err != nil {
			return nil, err
		}
		above = append(above, c)
	}
	return above, nil
}

// HasOffer reports whether the log of a home, as it is known here, has the handoff of a token: no other home
// has its revocation.
func (vr *Verifier) HasOffer(ctx context.Context, home Home, c *obo.Claims) bool {
	known := &chainStatus{verifier: vr, home: home, state: &State{}, opt: Options{AsKnown: true}}
	s, err := known.issued(ctx, home, c)
	return s != nil && err == nil
}

// authorize verifies the tokens of a payload otherwise proven. The chain must verify, no link
// may be revoked, each claim must be signed by a key named in the last token, and this token
// must not have been used up before.
func (vr *Verifier) authorize(ctx context.Context, home Home, v *Verified, opt Options) error {
	env, offer := v.envelope, v.Offer()
	if len(v.links) == 0 && env.OBO == nil && offer.Token == "" {
		return nil
	}
	switch {
	case len(v.links) == 0 || env.OBO == nil || env.OBO.Path != tokenPath(len(v.links)) || env.OBO.JTI != offer.Token:
		return denied(fault.HandoffMismatch, "the tokens of %s, its envelope and its trailers differ", env.ID)
	case !strings.HasSuffix(offer.Principal, byToken):
		return denied(fault.PrincipalMismatch, "handoff %s has a token, and its trailers do not say on whose behalf", env.ID)
	}
	status := &chainStatus{verifier: vr, home: home, state: v.state, opt: opt, ids: append([]handoff.ID{env.ID}, ancestors(env)...)}
	token, err := obo.VerifyChain(v.links, vr.chainContext(ctx, v, status))
	if err == nil {
		err = cmp.Or(status.late(), status.delegated(), v.bind(token), vr.Used.checkUnused(env.ID, offer))
	}
	switch {
	case err == nil:
		v.token = token
		return nil
	case status.down != nil && opt.lanePinned:
		return status.down // keep the step for later, because the home cannot be asked now
	case fault.Is(err, fault.Expired):
		err = fault.As(err).WithHints(fault.Fact("ask the person who lent the authority to issue it again, with githandoff obo issue %s", env.ID))
	case fault.Is(err, fault.StatusUnknown):
		err = fault.As(err).WithHints(status.hints()...)
	}
	if f := fault.As(err); opt.Lapsed && f != nil && lapsed(f.Reason) {
		v.lapse, err = err, nil
	}
	return err
}

// lapsed reports whether the tokens are authentic but give no authority now.
func lapsed(reason fault.Reason) bool {
	return slices.Contains([]fault.Reason{fault.Expired, fault.Revoked, fault.StatusUnknown}, reason)
}

func (vr *Verifier) chainContext(ctx context.Context, v *Verified, status *chainStatus) obo.VerifyContext {
	env, offer := v.envelope, v.Offer()
	agent := v.state.To
	if agent == handoff.Nobody && env.Target.Agent != nil {
		agent = *env.Target.Agent // the agent that a decided handoff is for
	}
	return obo.VerifyContext{
		Now: vr.Keys.now(), Keys: pinned{vr.Keys.Trust}, HomeIs: status.home.Is,
		Handoff: env.ID, Digest: offer.Digest, JTI: offer.Token, Agent: agent,
		Ancestors: ancestors(env), Principal: strings.TrimSuffix(offer.Principal, byToken),
		Revoked: func(c *obo.Claims) (bool, error) { return status.revoked(ctx, c) },
	}
}

// ancestors returns the ids above a handoff, its parent first.
func ancestors(env *handoff.Envelope) []handoff.ID {
	var ids []handoff.ID
	for _, a := range slices.Backward(env.Lineage) {
		ids = append(ids, a.ID)
	}
	if env.Parent != "" && (len(ids) == 0 || ids[0] != env.Parent) {
		return []handoff.ID{env.Parent} // a lineage that does not end at the parent proves nothing
	}
	return ids
}

// bind requires the issuer of the last token to have signed the payload too, and each claim to
// be by a key named in this token.
func (v *Verified) bind(token *obo.VerifiedToken) error {
	if leaf := token.Leaf(); leaf.Issuer != v.Offer().Key {
		return denied(fault.HandoffMismatch, "token %s is signed by %s, the payload by %s", leaf.JTI, leaf.Issuer, v.Offer().Key)
	}
	for _, e := range v.state.Entries {
		if r := e.Record(); e.Dispute == nil && r.Event == record.Claimed {
			if err := token.Binds(r.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// chainStatus asks the homes of a chain's handoffs what became of them, the first one first.
type chainStatus struct {
	verifier *Verifier
	home     Home   // home of the last handoff
	state    *State // state of the last handoff at that home
	opt      Options
	ids      []handoff.ID // the last handoff and those above it, as far as known
	down     error        // error of asking the home of the last handoff; nil if it answered

	unnamed []fault.Hint // hints at how to name homes that have no name here

	claims []*obo.Claims
	states []*State
}

// revoked looks for an entry revoking a token in the lane of its handoff, at the one home with
// its issuer's offer in the log.
func (c *chainStatus) revoked(ctx context.Context, claims *obo.Claims) (bool, error) {
	s, err := c.issued(ctx, c.home, claims)
	for _, id := range claims.Audience {
		if s != nil || err != nil {
			break
		}
		if c.home.Is(id) || c.verifier.HomeOf == nil {
			continue
		}
		there, herr := c.verifier.HomeOf(ctx, id)
		if herr != nil { // id cannot be reached; the home may be another of the audience
			if f := fault.As(herr); f != nil {
				c.unnamed = append(c.unnamed, f.Hints...)
			}
			continue
		}
		s, err = c.issued(ctx, there, claims)
	}
	switch {
	case err != nil:
		return false, err
	case s == nil && c.opt.UnknownStands:
		s = &State{ID: claims.Handoff.ID}
	case s == nil:
		return false, fmt.Errorf("handoff %s was offered at none of the homes that are known here, of %s",
			claims.Handoff.ID, strings.Join(claims.Audience, ", "))
	}
	c.claims, c.states = append(c.claims, claims), append(c.states, s)
	return s.Revoked != nil, nil
}

// hints returns the hints on how to reach the homes above.
func (c *chainStatus) hints() []fault.Hint {
	if len(c.unnamed) > 0 {
		return c.unnamed
	}
	return []fault.Hint{fault.Fact("try again when that home can be reached")}
}

// issued reads the state of a token's handoff in the log of a home; nil if the issuer did
// not offer it there.
func (c *chainStatus) issued(ctx context.Context, home Home, claims *obo.Claims) (*State, error) {
	vr, id := c.verifier, claims.Handoff.ID
	if !c.opt.AsKnown && !home.LaneIsFresh(id) && !(c.opt.lanePinned && id == c.ids[0]) {
		// The whole chain at once: most have one home.
		if err := home.Refresh(ctx, FetchSpec{Lanes: append([]handoff.ID{id}, c.ids[:min(len(c.ids), obo.MaxLinks)]...)}); err != nil {
			if home == c.home {
				c.down = err
			}
			return nil, err
		}
	}
	tip, err := vr.Repo.Resolve(ctx, home.Namespace().Lane(id))
	if err != nil {
		return nil, err
	}
	s := c.state
	if home != c.home || id != s.ID || tip != s.LaneTip { // otherwise the state is that of the verified handoff
		s = &State{ID: id, LaneTip: tip}
		if err := vr.Reader.replay(ctx, home, s); err != nil {
			return nil, err
		}
	}
	if o := s.Offer; o == nil || o.Token != claims.JTI || o.Key != claims.Issuer || o.Digest != "sha256:"+claims.Handoff.SHA256 {
		return nil, nil
	}
	return s, nil
}

// late refuses a token issued after the end of the handoff above it. An ended handoff confers
// no authority, even on somebody with a copy.
func (c *chainStatus) late() error {
	for i := 1; i < len(c.claims); i++ {
		over, at := c.states[i-1].Receipt, time.Unix(c.claims[i].IssuedAt, 0)
		if over != nil && at.After(over.At.Add(obo.ClockSkew)) {
			return denied(fault.IssuerNotHolder, "token %s was issued after handoff %s had ended", c.claims[i].JTI, c.claims[i-1].Handoff.ID)
		}
	}
	return nil
}

// names reports whether this key named the child while it held the handoff: in a valid entry,
// "progressed", or in the receipt of a failure or a reroute.
func (s *State) names(child handoff.ID, kid string) bool {
	return slices.Contains(s.named, naming{child: child, key: kid})
}

// delegated refuses a token not passed on by the holder of the handoff above it: only the
// holder may, only until the end, and the log must say so. A home not known here cannot be
// asked for its log.
func (c *chainStatus) delegated() error {
	for i := 1; i < len(c.claims); i++ {
		parent, token := c.states[i-1], c.claims[i]
		if parent.Offer != nil && !parent.names(token.Handoff.ID, token.Issuer) {
			return notPassedOn(token, c.claims[i-1].Handoff.ID)
		}
	}
	return nil
}

func notPassedOn(token *obo.Claims, parent handoff.ID) error {
	return denied(fault.IssuerNotHolder, "token %s was issued by %s, and the log of handoff %s has no entry by which its holder passed it on to %s",
		token.JTI, token.Issuer, parent, token.Handoff.ID)
}

// checkClaim compares a claim, or its renewal, with the token: the token must name its key. The
// lease is cut to end with the token.
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

// checkRenewal is like checkClaim for the renewal of a claim. Its token must be good now.
func (vr *Verifier) checkRenewal(ctx context.Context, home Home, s *State, rec *record.Record) error {
	if s.Offer.Token == "" {
		return nil
	}
	v, err := vr.Verify(ctx, home, s, Options{AllowExpired: true, lanePinned: true})
	if err != nil {
		return ToRecipient(err, s.ID)
	}
	return v.checkClaim(rec)
}

// checkNotRevoked refuses to acknowledge work whose authority was revoked before it was done. A
// token expired meanwhile does not matter.
func (vr *Verifier) checkNotRevoked(ctx context.Context, home Home, s *State) error {
	if s.Offer.Token == "" || len(s.Chain) == 0 {
		return nil
	}
	v, err := vr.Verify(ctx, home, s, Options{AllowExpired: true, Lapsed: true, lanePinned: true})
	if err == nil && fault.Is(v.lapse, fault.Revoked) {
		err = ToRecipient(v.lapse, s.ID)
	}
	return err
}

// ToRecipient adds to a refusal how a recipient ends the handoff, if its authority was revoked: it is
// neither claimed nor renewed nor acknowledged any more.
func ToRecipient(err error, id handoff.ID) error {
	if !fault.Is(err, fault.Revoked) {
		return err
	}
	return fault.As(err).WithHints(fault.Run("githandoff", "fail", string(id), "--reason", "its authority was revoked").Because("ends it"))
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
