package crossrepo

import (
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// byHub begins the summary of a ref that the hub refused, after git here had found its
// lease to hold.
const byHub = "[remote rejected] "

// goesAlong is git's status of a ref that failed only because another ref of the same
// atomic push did.
var goesAlong = []string{"(atomic push failure)", "(atomic transaction failed)", "(transaction aborted)"}

// forGood are words of refusals that a second try meets again: hooks and settings of git
// at the hub, and of other servers. Whatever is not among them is tried again.
var forGood = []string{"hook declined", "deny ", "denied", "prohibited", "not permitted", "not allowed", "protected", "maximum allowed size"}

// culprit is the ref that the hub itself refused; "" where it refused none.
func (r *report) culprit() string {
	best := ""
	for ref, flag := range r.flag {
		if flag != '!' || !strings.HasPrefix(r.summary[ref], byHub) {
			continue
		}
		along := slices.Contains(goesAlong, strings.TrimPrefix(r.summary[ref], byHub))
		if best == "" || !along && (slices.Contains(goesAlong, strings.TrimPrefix(r.summary[best], byHub)) || ref < best) {
			best = ref
		}
	}
	return best
}

// refusedForGood reports whether the hub refused every ref of a push, for a reason that
// does not pass. Then nothing moved there, and the leases held: there is nothing to read.
func (r *report) refusedForGood(edits []refs.Edit) bool {
	return len(r.flag) == len(edits) && r.RefusedForGood()
}

// RefusedForGood is the same for all refs that the hub spoke of.
func (r *report) RefusedForGood() bool {
	for ref, flag := range r.flag {
		if flag != '!' || !strings.HasPrefix(r.summary[ref], byHub) {
			return false
		}
	}
	why := r.summary[r.culprit()] // "" where it spoke of none
	return slices.ContainsFunc(forGood, func(word string) bool { return strings.Contains(why, word) })
}

// errPushRefused reports a push that the hub refused, in the hub's words.
func (h *remote) errPushRefused(edits []refs.Edit, r *report, cause error) error {
	said := remoteLines(cause)
	if lock := lockAmong(said); lock != "" {
		return h.errLocked(lock)
	}
	ref := r.culprit()
	why := append([]string{strings.TrimPrefix(r.summary[ref], byHub)}, said...)
	text := strings.Join(why, "; ")
	keeps := r.keepsRefs(h, edits)
	if keeps && r.refusedForGood(edits) {
		k := readKnown(h)
		k.KeepsRefs = text
		writeKnown(h, k)
	}
	hint := settingFor(h, text, keeps)
	f := fault.New(fault.Unavailable, fault.HubRefused, "%s refuses %s: %s", h.Alias.Name, ref, Quote(text)).WithHints(hint)
	if r.refusedForGood(edits) {
		f.Err = refs.ErrRefused
	}
	return f
}

// keepsRefs reports whether it was a deletion that the hub refused: by its words, or
// because it would have moved the other refs.
func (r *report) keepsRefs(h *remote, edits []refs.Edit) bool {
	ref, along := r.culprit(), len(edits) == 1
	for _, summary := range r.summary {
		along = along || slices.Contains(goesAlong, strings.TrimPrefix(summary, byHub))
	}
	return slices.ContainsFunc(edits, func(e refs.Edit) bool {
		return e.New == "" && h.RemoteName(e.Ref) == ref && (along || strings.Contains(r.summary[ref], "delet"))
	})
}

// errHidden is the refusal of a hub that has a ref and shows it only in a push.
func errHidden(h *remote, ref string) error {
	return fault.New(fault.Unavailable, fault.HubRefused, "%s has %s but hides it from fetches: nobody can take work from there", h.Alias.Name, ref).
		WithHints(fault.Fact("at the hub, uploadpack.hideRefs or transfer.hideRefs must not name refs/handoffs"))
}
