package initrepo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// ownKey is the key of a worktree, and its entry in the trust list here.
type ownKey struct {
	public sign.PublicKey
	entry  sign.TrustEntry
	trust  *sign.Trust
	other  bool // the key is new here
}

// key makes or finds the key. It changes nothing in the repository.
func (h *Handler) key(ctx context.Context, repo *refs.Repo, r Request) (*ownKey, error) {
	name := r.Agent
	if err := handoff.CheckAgent(name); err != nil && !r.Person {
		return nil, fault.New(fault.Usage, fault.BadUsage, "%v", err).WithHints(BadName(name))
	}
	trust, err := h.Trust(repo)
	if err != nil {
		return nil, err
	}
	public, fresh, err := h.Key(ctx, repo, name)
	if err != nil {
		return nil, err
	}
	_, known := trust.Lookup(public.KID())
	if !known {
		if err := public.ValidAt(h.Now()); err != nil {
			return nil, err
		}
	}
	if fresh {
		h.tellOfLostKeys(trust, name, public.KID())
	}
	entry := sign.TrustEntry{KID: public.KID(), Key: public.Text(), Agents: []string{name}, Roles: []string{sign.RoleSender, sign.RoleRecipient}}
	if r.Person {
		entry.Agents, entry.Roles, entry.Principals = nil, []string{sign.RoleRoot}, []string{"user:" + name}
	}
	return &ownKey{public, entry, trust, !known}, nil
}

// pin lets the repository trust the key, and take over what its owner stated of it since.
func (k *ownKey) pin(repo *refs.Repo, now time.Time) error {
	if key, ok := k.trust.Lookup(k.entry.KID); ok && covers(key.Entry(), k.entry) {
		return k.trust.Learn(k.public, now)
	}
	return k.trust.Add(repo.Own("trust.json"), k.entry)
}

// tellOfLostKeys warns that a new key is not the one trusted by others under its name.
func (h *Handler) tellOfLostKeys(trust *sign.Trust, name string, kid sign.KID) {
	var old []string
	for _, e := range trust.Entries() {
		if e.KID != kid && e.Retired == "" && e.IsFor(name) {
			old = append(old, e.KID)
		}
	}
	if len(old) > 0 {
		h.Warn(fmt.Errorf("%s has a new key, %s; the key that is trusted under that name, %s, is not in the keystore here: "+
			"others accept the new one only after githandoff trust add", name, kid, strings.Join(old, ", ")))
	}
}

// covers reports whether a pinned entry has all that another one gives.
func covers(have, want sign.TrustEntry) bool {
	all := func(have, want []string) bool {
		return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
	}
	return have.Retired == "" && all(have.Agents, want.Agents) && all(have.Roles, want.Roles) && all(have.Principals, want.Principals)
}
