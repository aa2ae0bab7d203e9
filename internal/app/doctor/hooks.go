package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/hooks"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// ofOthers returns whether a trusted key was pinned for a guard. "init" pinned the keys of agents
// that work in this repository; in a clone they need the keys of others as well.
func ofOthers(repo *refs.Repo) func(sign.TrustEntry) bool {
	own := workspace.AgentsOfClone(repo)
	works := len(own) > 0 && len(crossrepo.Aliases{Repo: repo}.Names()) > 0
	return func(e sign.TrustEntry) bool {
		return !works && !slices.ContainsFunc(e.Agents, func(name string) bool { return slices.Contains(own, name) })
	}
}

func (d *checkup) checkHooks(ctx context.Context) {
	if d.repo.Bare { // nobody commits in a bare repository
		checkGuard(ctx, d)
		return
	}
	dir, scope, err := gitconfig.HooksDir(ctx, d.repo)
	if fault.Is(err, fault.HooksOff) {
		d.ok("hooks", "%s", err)
		return
	}
	if err != nil {
		d.problem("hooks", err)
		return
	}
	commands, err := gitconfig.HookCommands(ctx, d.repo)
	if err != nil {
		d.problem("hooks", err)
		return
	}
	results, _, err := hooks.CloneStatus(d.repo.Worktree, dir, filepath.Join(d.repo.CommonDir, "hooks"), commands)
	if err != nil {
		d.problem("hooks", err)
		return
	}
	var absent, bad []string
	for _, r := range results {
		switch r.Before {
		case hooks.Ours, hooks.Chained, hooks.Moved, hooks.Called:
		case hooks.Absent, hooks.Foreign:
			absent = append(absent, r.Name)
		default:
			bad = append(bad, fmt.Sprintf("%s is %s", r.Name, r.Before))
		}
	}
	install := fault.Run("githandoff", "hook", "install")
	switch {
	case len(bad) > 0:
		d.wrong("hooks", install.Because("rewrites them; an edited one is kept until you remove it"), "%s", strings.Join(bad, ", "))
	case len(absent) == len(results) && scope != "" && outOfReach(d.repo):
		d.wrong("hooks", install, "git does not run the hooks that are installed, because core.hooksPath leads to others")
	case len(absent) == len(results):
		d.ok("hooks", "not installed (%s)", install)
	case len(absent) > 0:
		d.wrong("hooks", install, "not installed: %s", strings.Join(absent, ", "))
	default:
		d.ok("hooks", "installed")
	}
}

// outOfReach reports whether our hooks are where git looks without core.hooksPath. husky and others set it.
func outOfReach(repo *refs.Repo) bool {
	found, err := hooks.Status(filepath.Join(repo.CommonDir, "hooks"), hooks.Names())
	return err == nil && slices.ContainsFunc(found, func(r hooks.Result) bool { return !r.Before.Unused() })
}

// checkGuarded compares the prefix of the guard with those of the handoffs at the hub.
func checkGuarded(ctx context.Context, d *checkup) {
	list, err := d.repo.List(ctx, "refs")
	if err != nil {
		d.problem("guard", err)
		return
	}
	var names []string
	for _, ref := range list {
		names = append(names, ref.Name)
	}
	prefix, err := crossrepo.HubPrefix(d.repo)
	if err != nil {
		d.wrong("guard", fault.Run("git", "config", "--unset-all", gitconfig.HubPrefix).Because("if clones keep handoffs below refs/handoffs"), "it refuses every push: %w", err)
		return
	}
	judged := cmp.Or(prefix, crossrepo.UsualPrefix)
	for _, home := range crossrepo.LanePrefixes(names) {
		if home == judged {
			continue
		}
		solution := fault.Run("githandoff", "hook", "install", "--server", "--prefix", home)
		if home == crossrepo.UsualPrefix {
			solution = fault.Run("git", "config", "--unset-all", gitconfig.HubPrefix)
		}
		d.wrong("guard", solution.Because("if the team works below that prefix"), "it judges handoffs below %s, and there are handoffs below %s", judged, home)
	}
}

// checkGuard checks whether a hub that should have a guard has one: its keys are pinned, and its
// URLs named, for nothing else.
func checkGuard(ctx context.Context, d *checkup) {
	install := fault.Run("githandoff", "hook", "install", "--server")
	dir, _, err := gitconfig.HooksDir(ctx, d.repo)
	if err != nil {
		d.problem("guard", err)
		return
	}
	place := hooks.ServerDir(dir, d.repo.CommonDir)
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
		checkGuarded(ctx, d)
		return
	case hooks.Edited, hooks.Outdated:
		d.wrong("guard", install.Because("rewrites it; remove an edited one first"), "%s is %s", guard.Path, guard.Before)
		return
	}
	trust, err := sign.LoadHubTrust(d.repo.Own("trust.json"), d.repo.CommonDir)
	meant := len(d.repo.Config[refs.ConfigKey(gitconfig.HubURL)]) > 0 || err == nil && slices.ContainsFunc(trust.Entries(), ofOthers(d.repo))
	switch {
	case place != dir && len(elsewhere) > 0 && slices.Contains([]hooks.State{hooks.Ours, hooks.Chained, hooks.Outdated}, elsewhere[0].Before):
		d.wrong("guard", install.Because("installs it where the server does not overwrite it"), "%s is overwritten by the server of this hub", elsewhere[0].Path)
	case meant:
		d.wrong("guard", install.Because("puts it back"), "keys or URLs are pinned for a guard, but there is none at %s: every push is taken", guard.Path)
	default:
		d.ok("guard", "none (%s)", install)
	}
}
