package doctor

import (
	"context"
	"fmt"

	"githandoff/internal/fault"
	"githandoff/internal/sign"
	"githandoff/internal/team"
)

// checkPublished names the published keys that nobody pinned here: no problem,
// but perhaps why somebody's work is not believed.
func (d *checkup) checkPublished(ctx context.Context) {
	w, err := d.Workspace(ctx)
	if err != nil {
		return // another check reports it
	}
	unpinned, more, err := team.New(w).Unpinned(ctx)
	if err != nil {
		d.problem("published", err)
		return
	}
	named := unpinned[:min(len(unpinned), mostNamed)]
	for _, public := range named {
		d.report(Finding{
			Check: "published", Status: OK, Message: fmt.Sprintf("key %s is published and not trusted here; %s", public.KID(), team.Says(public)),
			Hints: []fault.Hint{team.PinHint(public)},
		})
	}
	if more += len(unpinned) - len(named); more > 0 {
		d.report(Finding{
			Check: "published", Status: OK, Message: fault.Count(more, "more key") + " published and not trusted here",
			Hints: []fault.Hint{fault.Run("githandoff", "trust", "review").Because("shows them")},
		})
	}
}

// mostNamed bounds the published keys that are named one by one.
const mostNamed = 8

// checkTrust counts the keys that are trusted here, and names those that their
// owners revoked.
func (d *checkup) checkTrust(trust *sign.Trust) {
	keys := sign.KeysOf(trust)
	d.ok("trust", "%s", fault.Count(len(keys), "key"))
	for _, k := range keys {
		if err := k.Revoked(d.Now); err != nil && k.Entry().Retired == "" {
			d.problem("trust", fault.New(fault.Denied, fault.KeyRevoked, "%w", err).
				WithHints(fault.Run("githandoff", "trust", "remove", k.KID()).Because("retires it here too; the revocation decides which of its signatures count")))
		}
	}
}
