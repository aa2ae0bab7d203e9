package lifecycle

import (
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/sign"
)

// trustOwn trusts the key that acts here, if it is an agent's.
func (e *Engine) trustOwn() fault.Hint {
	if handoff.CheckAgent(e.Actor) != nil {
		return fault.Fact("the key of %s is trusted where that person works", e.Actor)
	}
	return fault.Run("githandoff", "init", "--as", e.Actor).Because("trusts the key of this worktree's own agent")
}

// whoseKey is the hint for an agent of which no key is trusted. Only its owner can
// say which one it is.
func whoseKey(agent string) fault.Hint {
	return fault.See("trust add").Because("trusts a key of %s, once its owner confirmed its fingerprint", agent)
}

// deciders names those whom an agent asks for a decision: the principals of the
// root keys that are trusted here.
func (e *Engine) deciders() fault.Hint {
	var people []string
	for _, entry := range e.Trust.Entries() {
		key, _ := e.Trust.Lookup(entry.KID)
		if key.MayAct(sign.RoleRoot, "", e.now()) == nil {
			people = append(people, key.Entry().Principals...)
		}
	}
	slices.Sort(people)
	if people = slices.Compact(people); len(people) == 0 {
		return fault.Fact("a person decides this, and no person's root key is trusted here yet")
	}
	return fault.Fact("ask %s to decide it", strings.Join(people[:min(len(people), 3)], " or "))
}

// elsewhere are the hints for a record that names another home than the one where it
// lies. A hub can have more than one name.
func elsewhere(home Home, repoID string) []fault.Hint {
	if h, ok := home.(interface {
		Named(repoID string) []fault.Hint
	}); ok {
		return h.Named(repoID)
	}
	return nil
}
