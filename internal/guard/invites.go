package guard

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/invite"
	"githandoff/internal/obo"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

// invitesPrefix is where invitations are: see internal/invite.
const invitesPrefix = refs.Root + "invites/"

// invitation reports whether a ref holds an invitation.
func invitation(name string) bool {
	id, ok := strings.CutPrefix(name, invitesPrefix)
	return ok && handoff.IsHex(id, 32)
}

// invited judges an invitation. Its offer must be by a key in the hub's own trust. Any key may
// answer it, once, with a signed answer: the joiner is not known yet. Anybody may delete it,
// because an invitation that was used is deleted. At worst, somebody has to ask for a new one.
func (pj publishedJudge) invited(ctx context.Context, e refs.Edit) error {
	if e.New == "" {
		return nil
	}
	next, err := pj.invite(ctx, e.New)
	if err != nil {
		return err
	}
	offer, answer, err := next.Shown(strings.TrimPrefix(e.Ref, invitesPrefix), sign.CheckInvite)
	if err != nil {
		return err
	}
	if e.Old == "" {
		if answer != nil {
			return denied(fault.Malformed, "an invitation must come without its answer")
		}
		return pj.inviter(offer)
	}
	before, err := pj.invite(ctx, e.Old)
	if err != nil {
		return err
	}
	if before.Answer != nil || answer == nil || *before.Offer != *next.Offer {
		return denied(fault.Rollback, "an invitation may change only by its one answer")
	}
	return nil
}

func (pj publishedJudge) invite(ctx context.Context, oid string) (*invite.Messages, error) {
	raw, err := pj.file(ctx, oid, invite.MaxMessages)
	if err != nil {
		return nil, err
	}
	return invite.ParseMessages(raw)
}

// inviter requires that the key of an offer may act at this hub, and that the offer gives it no
// role, name, principal, scope or end that it does not have here. A root key of this hub may name
// its agents freely.
func (pj publishedJudge) inviter(o *invite.Offer) error {
	public, err := sign.ParsePublic([]byte(o.Key))
	if err != nil {
		return err
	}
	key, ok := pj.Verifier.Keys.Trust.Lookup(public.KID())
	if !ok {
		return denied(fault.UntrustedKey, "the inviter's %w", &sign.UnknownKeyError{KID: public.KID()})
	}
	if err := key.ValidAt(pj.Verifier.Keys.Now()); err != nil {
		return err
	}
	has := key.Entry()
	if key.HasRole(sign.RoleRoot) {
		has.Agents = o.Inviter.Agents
	}
	for _, claim := range []struct{ offered, has []string }{
		{o.Inviter.Roles, has.Roles}, {o.Inviter.Agents, has.Agents}, {o.Inviter.Principals, has.Principals},
	} {
		for _, name := range claim.offered {
			if !slices.Contains(claim.has, name) {
				return denied(fault.UntrustedKey, "the invitation offers %s as %s, which it is not here", public.KID(), untrusted.Line(name))
			}
		}
	}
	if err := offeredUntil(key, o.Inviter); err != nil {
		return err
	}
	return offeredWithin(key, o.Inviter)
}

// offeredUntil requires an offered key to expire no later than it does here.
func offeredUntil(key sign.Key, offered invite.Grant) error {
	until := key.Entry().Until
	if until == "" {
		return nil
	}
	here, err := handoff.ParseTime(until)
	if err != nil {
		return err
	}
	if then, err := handoff.ParseTime(offered.Until); err == nil && !then.After(here) {
		return nil
	}
	return denied(fault.UntrustedKey, "the invitation offers %s until %s; here it is trusted until %s; its owner agrees to that with githandoff trust add %s --until %s",
		key.KID(), cmp.Or(untrusted.Line(offered.Until), "no end"), until, key.KID(), until)
}

// offeredWithin requires an offered root to keep within the scopes that its key has here.
func offeredWithin(key sign.Key, offered invite.Grant) error {
	if !slices.Contains(offered.Roles, sign.RoleRoot) {
		return nil // a scope limits only a root
	}
	for _, limit := range key.Limits() {
		if len(offered.MaxScope) == 0 || !obo.CoversAll(limit, offered.MaxScope) {
			return denied(fault.UntrustedKey, "the invitation offers %s as a root within %s; here it is one within %s",
				key.KID(), scopes(offered.MaxScope), scopes(limit))
		}
	}
	return nil
}

func scopes(list []string) string {
	if len(list) == 0 {
		return "no limit"
	}
	return untrusted.Line(strings.Join(list, ", "))
}
