package sign

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// joinTeams makes the keys of the teams' lists count, each within the limits of its list's signer.
// A list also shortens the time of a key that is pinned here, if its signer may do so. Once the
// signer of a list is no longer pinned as a root, the list counts for nothing.
func (t *Trust) joinTeams() {
	pinned := maps.Clone(t.pins)
	slices.SortStableFunc(t.teams, byWidth(pinned))
	listed := map[string]map[KID][]grant{}
	var homes []string
	for _, team := range t.teams {
		signer := pinned[team.Signer]
		if signer == nil || !slices.Contains(signer.entry.Roles, RoleRoot) {
			continue
		}
		if listed[team.Home] == nil {
			listed[team.Home], homes = map[KID][]grant{}, append(homes, team.Home)
		}
		for _, e := range team.Keys {
			if p := pinned[e.KID]; p != nil {
				if signer.mayRetire(p) {
					p.shorten(e)
					p.seen = append(p.seen, e.Seen)
				}
				continue
			}
			listed[team.Home][e.KID] = append(listed[team.Home][e.KID], newGrant(e, team.Home, signer))
		}
	}
	for _, home := range homes {
		for kid, grants := range listed[home] {
			p := combined(grants)
			if other := t.pins[kid]; other != nil { // the key is listed at two homes: only what both allow counts
				other.narrow(p.entry)
				other.limits = append(other.limits, p.limits...)
				continue
			}
			t.pins[kid] = p
		}
	}
}

// TakeList lets the keys of a list returned by OpenTeam count at a hub, each within its
// signer's limits. Nothing is written: the hub reads the list anew with each push. A list
// makes nobody a root there, so TakeList leaves out the keys of other roots.
func TakeList(t *Trust, team *Team) {
	own := *team
	own.Keys = slices.DeleteFunc(slices.Clone(team.Keys), func(e TrustEntry) bool {
		p := t.pins[e.KID]
		return slices.Contains(e.Roles, RoleRoot) && (p == nil || p.list != "")
	})
	t.teams = append(t.teams, &own)
	t.merge()
}

// A root key speaks for its principals, within its limits, in its time. Its list of other
// keys reaches no further.

// within reports whether p has no principal or scope beyond those of other.
func (p *pin) within(other *pin) bool {
	return subset(p.entry.Principals, other.entry.Principals) && limitsWithin(p.limits, other.limits)
}

// covers reports whether p grants at least what other grants.
func (p *pin) covers(other *pin) bool {
	return other.within(p) && subset(other.entry.Agents, p.entry.Agents) && subset(other.entry.Roles, p.entry.Roles)
}

// mayRetire reports whether a list signed by p may end the trust in a key for which somebody else
// vouches: the key must be within p's limits and, if it is a root, narrower than p.
func (p *pin) mayRetire(other *pin) bool {
	if other.entry.KID == p.entry.KID || !other.within(p) {
		return false
	}
	return !slices.Contains(other.entry.Roles, RoleRoot) || !p.within(other)
}

// limitsWithin reports whether each of the outer lists is kept by at least one of the inner lists.
func limitsWithin(inner, outer [][]string) bool {
	for _, limit := range outer {
		kept := func(list []string) bool {
			return !slices.ContainsFunc(list, func(scope string) bool {
				return !slices.ContainsFunc(limit, func(l string) bool { return Covers(l, scope) })
			})
		}
		if !slices.ContainsFunc(inner, kept) {
			return false
		}
	}
	return true
}

// Covers compares two well-formed scopes: a final "*" stands for any rest, and an action
// without a target for all its targets. It takes no scope apart, for this package does not
// know the meaning of scopes.
func Covers(limit, scope string) bool {
	if limit == scope || strings.HasPrefix(scope, limit+":") {
		return true
	}
	stem, open := strings.CutSuffix(limit, "*")
	return open && len(scope) > len(stem) && strings.HasPrefix(scope, stem)
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// byWidth sorts lists by the width of their signers, widest first, so the lists of one home
// give the same result in any order of reading.
func byWidth(pinned map[KID]*pin) func(a, b *Team) int {
	width := func(t *Team) (limits, principals int) {
		if p := pinned[t.Signer]; p != nil {
			return len(p.limits), -len(p.entry.Principals)
		}
		return 0, 0
	}
	return func(a, b *Team) int {
		la, pa := width(a)
		lb, pb := width(b)
		return cmp.Or(strings.Compare(a.Home, b.Home), cmp.Compare(la, lb), cmp.Compare(pa, pb), strings.Compare(a.Signer, b.Signer))
	}
}

// grant is the entry of a list as it counts, its signer, and the time at which the list itself
// retires the key.
type grant struct {
	pin     *pin
	signer  *pin
	retired string
}

// newGrant limits an entry of a list to the entry of its signer.
func newGrant(e TrustEntry, home string, signer *pin) grant {
	p := newPin(e)
	p.list = home
	p.entry.Principals = intersect(e.Principals, signer.entry.Principals)
	p.limits = append(p.limits, signer.limits...)
	if p.entry.MaxScope == nil {
		p.entry.MaxScope = signer.entry.MaxScope
	}
	p.shorten(signer.entry)
	return grant{p, signer, e.Retired}
}

// combined combines the entries of roots at one home for a key. The widest of them counts, each
// within the limits of its root. The entry of a retired root counts only if no other root vouches
// for the key, and then it ends with its root. If one root that may retire the key does so, the key
// is retired for all.
func combined(grants []grant) *pin {
	best := grants[0]
	for _, g := range grants[1:] {
		if best.over() != g.over() {
			if best.over() {
				best = g
			}
		} else if g.pin.covers(best.pin) && !best.pin.covers(g.pin) {
			best = g
		}
	}
	for _, g := range grants {
		if g.pin != best.pin && g.retired != "" && g.signer.mayRetire(best.pin) {
			best.pin.shorten(TrustEntry{Retired: g.retired})
			best.pin.seen = append(best.pin.seen, g.pin.seen...)
		}
	}
	return best.pin
}

// over reports whether the entry ended with its root.
func (g grant) over() bool { return g.signer.entry.Retired != "" }
