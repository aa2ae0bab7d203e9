package crossrepo

import (
	"testing"
	"fmt"

	"githandoff/internal/lifecycle"
)

func TestDbg(t *testing.T) {
	v := hubVenue(t, byPath())
	source, fixer := v.seat(t, "investigator"), v.seat(t, "fixer")
	p := v.prepare(t, source, "fixer")
	at := lifecycle.Place{Agent: "fixer", ID: p.Record.ID}
	late := v.clone(t, "investigator", source.Engine.Signer)
	source.Engine.Offer(t.Context(), source.home, p)
	h := fixer.mustClaim(t, at)
	fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
	fmt.Println(v.at.Git(t, "for-each-ref"))
	v.at.Git(t, "config", "core.logAllRefUpdates", "always")
	late.Repo.Runner.Env = append(late.Repo.Runner.Env, "GIT_TRACE=/tmp/dbg.trace")
	_, err := late.Engine.Offer(t.Context(), late.home, p)
	fmt.Println(err)
	fmt.Println(v.at.Git(t, "for-each-ref"))
}
