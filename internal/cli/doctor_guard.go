package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"githandoff/hooks"
	"githandoff/internal/fault"
	"githandoff/internal/refs"
)

// checkGuard looks whether a hub that is to have a guard has one: its keys were pinned, or
// its URLs were named, for nothing else.
func checkGuard(ctx context.Context, d *doctor, repo *refs.Repo) {
	install := fault.Run("githandoff", "hook", "install", "--server")
	dir, _, err := effectiveHooks(ctx, repo)
	if err != nil {
		d.problem("guard", err)
		return
	}
	place := hooks.ServerDir(dir, repo.CommonDir)
	results, err := hooks.Status(place, hooks.ServerNames())
	if err != nil {
		d.problem("guard", err)
		return
	}
	guard := results[0]
	elsewhere, _ := hooks.Status(dir, hooks.ServerNames())
	switch guard.Before {
	case hooks.Ours, hooks.Chained:
		first := filepath.Join(dir, hooks.ServerNames()[0])
		if info, err := os.Stat(first); place != dir && err == nil && info.Mode()&0o111 == 0 {
			d.wrong("guard", fault.Run("chmod", "+x", first), "git does not run %s, which runs the guard: it is not executable", first)
			return
		}
		d.ok("guard", "%s", guard.Path)
		return
	case hooks.Edited, hooks.Outdated:
		d.wrong("guard", install.Because("rewrites it; remove an edited one first"), "%s is %s", guard.Path, guard.Before)
		return
	}
	trust, err := hubTrust(repo)
	meant := len(repo.Config[strings.ToLower(hubURL)]) > 0 || err == nil && len(trust.Entries()) > 0
	switch {
	case place != dir && len(elsewhere) > 0 && (elsewhere[0].Before == hooks.Ours || elsewhere[0].Before == hooks.Chained):
		d.wrong("guard", install.Because("installs it where the server does not overwrite it"), "%s is overwritten by the server of this hub", elsewhere[0].Path)
	case meant:
		d.wrong("guard", install.Because("puts it back"), "keys or URLs are pinned for a guard, but there is none at %s: every push is taken", guard.Path)
	default:
		d.ok("guard", "none (%s)", install)
	}
}
