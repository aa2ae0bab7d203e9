package join

import (
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/invite"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

func entry(public sign.PublicKey, g invite.Grant) sign.TrustEntry {
	return sign.TrustEntry{
		KID: public.KID(), Key: public.Text(), Agents: g.Agents, Roles: g.Roles,
		Principals: g.Principals, MaxScope: g.MaxScope, Until: g.Until,
	}
}

// ofInviter returns the entry with which the joiner, an agent of the given name, pins the inviter.
// The inviter wrote the offer, with the names and roles in it. So its key takes no name and no
// principal that another key has here, and loosens no limit with which it is pinned already.
func (h *Handler) ofInviter(public sign.PublicKey, g invite.Grant, joiner string) (sign.TrustEntry, error) {
	e := entry(public, g)
	if slices.Contains(e.Agents, joiner) {
		return e, inviterTaken(joiner)
	}
	for _, old := range h.Trust.Entries() {
		if old.KID == e.KID || old.Retired != "" {
			continue
		}
		for _, name := range slices.Concat(e.Agents, e.Principals) {
			if slices.Contains(old.Agents, name) || slices.Contains(old.Principals, name) {
				return e, inviterTaken(name)
			}
		}
	}
	if key, known := h.Trust.Lookup(e.KID); known {
		if len(key.Entry().MaxScope) > 0 {
			e.MaxScope = nil
		}
		if key.Entry().Until != "" {
			e.Until = ""
		}
	}
	return e, h.apart(e)
}

func inviterTaken(name string) error {
	return fault.New(fault.Conflict, fault.NameTaken, "the inviter claims the name %s, which another key has here", untrusted.Line(name)).
		WithHints(fault.Run("githandoff", "trust", "list").Because("lists the keys that are trusted here"),
			fault.See("trust add").Because("pins a second key of the same owner, who confirms its fingerprint"))
}

// mayPin refuses an inviter's key that this clone cannot pin, before anything is changed for the
// invitation.
func (h *Handler) mayPin(e sign.TrustEntry) error {
	err := h.Trust.MayAdd(h.TrustPath, e)
	if fault.CodeOf(err) == fault.Usage { // the inviter wrote the faulty entry
		return fault.New(fault.Denied, fault.Malformed, "the invitation is malformed: %w", err)
	}
	return err
}

// apart refuses an entry that would give a known key rights which neither this invitation nor its
// entry gives: an entry has one list of names, one of roles and one end for all of them.
func (h *Handler) apart(e sign.TrustEntry) error {
	key, known := h.Trust.Lookup(e.KID)
	if !known || key.Entry().Retired != "" || !e.Mixes(key.Entry()) {
		return nil
	}
	return fault.New(fault.Conflict, fault.NameTaken, "key %s is trusted here under another name, with other roles or until another time: the invitation cannot add to that", e.KID).
		WithHints(fault.Run("githandoff", "trust", "list").Because("shows what it is trusted for"),
			fault.Fact("whoever joins takes a key of their own: githandoff init --as NAME makes one in another worktree"))
}
