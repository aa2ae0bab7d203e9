package lifecycle

import (
	"cmp"
	"context"
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

// byToken is how Handoff-Principal says that a token proves it.
const byToken = " (token)"

// readLinks reads the tokens of a payload, each no larger than it may be.
func readLinks(ctx context.Context, repo *refs.Repo, tree string) ([]obo.SignedToken, error) {
	if tree == "" {
		return nil, nil
	}
	raw, err := readPart(ctx, repo, tokenPart("tree", tree), tree, "tree", maxTree)
	if err != nil {
		return nil, err
	}
	ids, err := parseTokenTree(raw)
	if err != nil {
		return nil, err
	}
	links := make([]obo.SignedToken, len(ids))
	for i, id := range ids {
		if links[i].Token, err = readPart(ctx, repo, tokenPart("blob", id.token), id.token, "blob", obo.MaxToken); err != nil {
			return nil, err
		}
		if links[i].Sig, err = readPart(ctx, repo, tokenPart("blob", id.sig), id.sig, "blob", obo.MaxSignature); err != nil {
			return nil, err
		}
	}
	return links, nil
}

func tokenPart(kind, oid string) string { return "the " + kind + " " + oid + " of the payload" }

// readPart reads one object of a payload; what names it where it is missing.
func readPart(ctx context.Context, repo *refs.Repo, what, oid, kind string, limit int64) ([]byte, error) {
	o, err := repo.Read(ctx, oid, limit)
	if err != nil {
		return nil, err
	}
	if o == nil || o.Type != kind {
		return nil, denied(fault.MalformedObject, "%s is missing", what)
	}
	return o.Body, nil
}

// authorize verifies the tokens of a payload that is proven otherwise: the
// chain, whether any link was revoked, that each claim was signed by a key that
// the last one names, and that it was not used up before.
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
		err = cmp.Or(status.late(), status.delegated(), v.bind(token), vr.Memory.unused(env.ID, offer))
	}
	switch {
	case err == nil:
		v.token = token
		return nil
	case status.down != nil && opt.fenced:
		return status.down // the step is kept for later, not refused
	case fault.Is(err, fault.Expired):
		err = fault.As(err).WithHints(fault.Fact("ask the person who lent the authority to issue it again, with githandoff obo issue %s", env.ID))
	case fault.Is(err, fault.StatusUnknown):
		err = fault.As(err).WithHints(status.mends()...)
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
	if agent == refs.Nobody && env.Target.Agent != nil {
		agent = *env.Target.Agent // who it is for, once that was decided
	}
	return obo.VerifyContext{
		Now: vr.Keys.now(), Keys: pinned{vr.Keys.Trust}, HomeIs: status.home.Is,
		Handoff: env.ID, Digest: offer.Digest, JTI: offer.Token, Agent: agent,
		Ancestors: ancestors(env), Principal: strings.TrimSuffix(offer.Principal, byToken),
		Revoked: func(c *obo.Claims) (bool, error) { return status.revoked(ctx, c) },
	}
}

// ancestors are the ids above a handoff, its parent first.
func ancestors(env *handoff.Envelope) []handoff.ID {
	var ids []handoff.ID
	for _, a := range slices.Backward(env.Lineage) {
		ids = append(ids, a.ID)
	}
	if env.Parent != "" && (len(ids) == 0 || ids[0] != env.Parent) {
		return []handoff.ID{env.Parent} // a lineage that does not lead to it says nothing
	}
	return ids
}

// bind requires that the key that issued the last token also signed the payload, and that
// each claim is by a key that the token names.
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
