package hookinstall

import (
	"context"
	"slices"

	"githandoff/hooks"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/guard"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Names are how clients know a hub.
type Names struct {
	URLs   []string
	Prefix string // prefix of the refs in which clients keep handoffs; "" for refs/handoffs
}

// Guarded is the result of InstallGuard.
type Guarded struct {
	Hooks     []hooks.Result
	NotAtomic bool // no client can push here: receive.advertiseAtomic is off
	NoKey     bool // every handoff is refused: no key is trusted at this hub
	NoURL     bool // the hub is known by its path alone
	OldGit    bool // each merge by an agent is refused: git is older than guard.MergesGit
}

// InstallGuard lets a hub judge what is pushed to it. The result has what was done before an
// error.
func (h *Handler) InstallGuard(ctx context.Context, n Names) (*Guarded, error) {
	g := &Guarded{}
	if !h.Repo.Bare {
		return g, fault.New(fault.Usage, fault.NotBare, "a hub is a bare repository, but this one has a work tree").
			WithHints(fault.See("hook install").Because("--server is for the bare repository at the hub"))
	}
	if err := n.check(); err != nil {
		return g, err
	}
	dir, scope, err := gitconfig.HooksDir(ctx, h.Repo)
	if err != nil {
		return g, err
	}
	if forAll(scope) {
		return g, fault.New(fault.Usage, fault.HooksShared, "core.hooksPath is a %s setting: this hook would run in every repository", scope).
			WithHints(fault.Run("git", "--git-dir="+h.Repo.GitDir, "config", "core.hooksPath", "hooks").Because("gives this repository hooks of its own"))
	}
	if g.Hooks, err = h.putGuard(dir); err != nil {
		return g, err
	}
	if err := h.keepNames(ctx, n); err != nil {
		return g, err
	}
	g.NotAtomic = h.Repo.Config.Get("receive.advertiseatomic") != "" && !h.Repo.Config.Bool("receive.advertiseatomic")
	trust, err := sign.LoadHubTrust(h.Repo.Own("trust.json"), h.Repo.CommonDir)
	if err != nil {
		return g, err
	}
	g.NoKey, g.NoURL = len(trust.Entries()) == 0, len(n.URLs)+len(h.Repo.Config[refs.ConfigKey(gitconfig.HubURL)]) == 0
	known, err := h.Repo.HasGit(ctx, guard.MergesGit)
	g.OldGit = err == nil && !known
	return g, err
}

func (h *Handler) putGuard(dir string) ([]hooks.Result, error) {
	exe, err := hooks.Program(h.Path)
	if err != nil {
		return nil, err
	}
	place := hooks.ServerDir(dir, h.Repo.CommonDir)
	done, err := hooks.Install(place, hooks.ServerNames(), exe)
	if err == nil && place != dir { // an earlier guard must not run as well, nor block the server's hook
		_, err = hooks.Uninstall(dir, hooks.ServerNames())
	}
	for i, r := range done {
		if r.After == hooks.Edited {
			return done[:i], fault.New(fault.Other, fault.HookEdited, "%s was edited after githandoff wrote it, and is not changed", r.Path).
				WithHints(fault.Run("mv", r.Path, r.Path+".edited").Because("sets it aside; then install again"))
		}
	}
	return done, err
}

// check refuses impossible URLs and prefixes of a hub.
func (n Names) check() error {
	for _, url := range n.URLs {
		if _, err := crossrepo.RepoID(url, ""); err != nil {
			return err
		}
	}
	if n.Prefix == "" {
		return nil
	}
	return crossrepo.CheckPrefix(n.Prefix)
}

// keepNames writes down the URLs of a hub, and the prefix of its refs.
func (h *Handler) keepNames(ctx context.Context, n Names) error {
	settings := gitconfig.Of(h.Repo)
	for _, url := range n.URLs {
		if slices.Contains(h.Repo.Config[refs.ConfigKey(gitconfig.HubURL)], url) {
			continue
		}
		if err := settings.Add(ctx, gitconfig.HubURL, url); err != nil {
			return err
		}
	}
	before := h.Repo.Config.Get(gitconfig.HubPrefix)
	if n.Prefix == "" || n.Prefix == before {
		return nil
	}
	if before != "" {
		if err := settings.Drop(ctx, gitconfig.HubPrefix, before); err != nil {
			return err
		}
	}
	return settings.Add(ctx, gitconfig.HubPrefix, n.Prefix)
}

// removeGuard takes out the hook of a hub, and its settings.
func (h *Handler) removeGuard(ctx context.Context, dir string) ([]hooks.Result, error) {
	done, err := hooks.Uninstall(dir, hooks.ServerNames())
	if err != nil {
		return done, err
	}
	if place := hooks.ServerDir(dir, h.Repo.CommonDir); place != dir {
		there, err := hooks.Uninstall(place, hooks.ServerNames())
		done = append(done, there...)
		if err != nil {
			return done, err
		}
	}
	for _, key := range []string{gitconfig.HubURL, gitconfig.HubPrefix} {
		if err := gitconfig.Of(h.Repo).Unset(ctx, key); err != nil {
			return done, err
		}
	}
	return done, nil
}
