package sign

import "slices"

// joinTeams lets the keys of the teams' lists count, each within what the signer
// of its list was pinned for. Of a key that is pinned here as well a list shortens
// the time, if its signer may. A list whose signer is not pinned as a root any
// more counts for nothing.
func (t *Trust) joinTeams(pinned map[KID]*pin) {
	slices.SortStableFunc(t.teams, byWidth(pinned))
	listed := map[string]map[KID]grant{}
	var homes []string
	for _, team := range t.teams {
		signer := pinned[team.Signer]
		if signer == nil || !slices.Contains(signer.entry.Roles, RoleRoot) {
			continue
		}
		if listed[team.Home] == nil {
			listed[team.Home], homes = map[KID]grant{}, append(homes, team.Home)
		}
		for _, e := range team.Keys {
			if p := pinned[e.KID]; p != nil {
				if signer.mayRetire(p) {
					p.shorten(e)
					p.seen = append(p.seen, e.Seen)
				}
				continue
			}
			g := newGrant(e, team.Home, signer)
			if before, ok := listed[team.Home][e.KID]; ok {
				g = before.with(g)
			}
			listed[team.Home][e.KID] = g
		}
	}
	for _, home := range homes {
		for kid, g := range listed[home] {
			if other := t.pins[kid]; other != nil { // at two homes: what both say
				other.narrow(g.pin.entry)
				other.limits = append(other.limits, g.pin.limits...)
				continue
			}
			t.pins[kid] = g.pin
		}
	}
}

// retiredByList reports whether a list retired a key that is to be pinned, and may.
func (t *Trust) retiredByList(e TrustEntry) bool {
	for _, team := range t.teams {
		signer := t.pins[team.Signer]
		if signer == nil || signer.list != "" || !slices.Contains(signer.entry.Roles, RoleRoot) || !signer.mayRetire(newPin(e)) {
			continue
		}
		if slices.ContainsFunc(team.Keys, func(old TrustEntry) bool { return old.KID == e.KID && old.Retired != "" }) {
			return true
		}
	}
	return false
}
