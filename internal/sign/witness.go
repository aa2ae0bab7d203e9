package sign

import (
	"slices"
	"time"
)

// HasTeams reports whether a list of a team was adopted.
func (t *Trust) HasTeams() bool { return len(t.teams) > 0 }

// Unwitnessed lists the keys that are not valid any more and of which this
// repository's list does not say what had been seen by then: retired from
// elsewhere, by another list, or by a time that has come. Of a key that only a
// team's list has, what that one says is enough.
func (t *Trust) Unwitnessed(now time.Time) []KID {
	var kids []KID
	for _, e := range t.Entries() {
		until, _ := parseTime(e.Until)
		over := e.Retired != "" || !until.IsZero() && !now.Before(until)
		noted := slices.ContainsFunc(t.repo, func(own TrustEntry) bool { return own.KID == e.KID && len(own.Seen) > 0 })
		if k, _ := t.Lookup(e.KID); over && !noted && (k.List() == "" || len(k.Seen()) == 0) {
			kids = append(kids, e.KID)
		}
	}
	return kids
}

// Witness writes down, in the repository's list, what had been seen when a key was
// noticed to be valid no more. A key that only another list has is pinned here for
// that, as it is there.
func (t *Trust) Witness(kid KID, seen map[string]string) error {
	k, ok := t.Lookup(kid)
	if !ok || t.repoPath == "" {
		return unknownKey(kid)
	}
	return t.change(t.repoPath, func(entries []TrustEntry) ([]TrustEntry, error) {
		i := slices.IndexFunc(entries, func(e TrustEntry) bool { return e.KID == kid })
		if i < 0 {
			i, entries = len(entries), append(entries, k.Entry())
			entries[i].Seen = nil
		}
		if len(entries[i].Seen) == 0 {
			entries[i].Seen = seen
		}
		return entries, nil
	})
}
