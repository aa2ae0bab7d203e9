package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"githandoff/hooks"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/gitexec"
	"githandoff/internal/guard"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/team"
	"githandoff/internal/workspace"
)

// installGuard lets a hub judge what is pushed to it.
func (c *hookCommand) installGuard(ctx context.Context) error {
	repo, err := c.openRepo(ctx)
	if err != nil {
		return err
	}
	if !repo.Bare {
		return fault.New(fault.Usage, fault.NotBare, "a hub is a bare repository, but this one has a work tree").
			WithHints(fault.See("hook install").Because("--server is for the bare repository at the hub"))
	}
	if err := c.checkNames(); err != nil {
		return err
	}
	dir, scope, err := gitconfig.HooksDir(ctx, repo)
	if err != nil {
		return err
	}
	if scope == "global" || scope == "system" {
		return fault.New(fault.Usage, fault.HooksShared, "core.hooksPath is a %s setting: this hook would run in every repository", scope).
			WithHints(fault.Run("git", "-C", repo.GitDir, "config", "core.hooksPath", "hooks").Because("gives this repository hooks of its own"))
	}
	exe, err := c.program()
	if err != nil {
		return err
	}
	place := hooks.ServerDir(dir, repo.CommonDir)
	done, err := hooks.Install(place, hooks.ServerNames(), exe)
	if err == nil && place != dir { // one of before must not run as well, nor stand in the way of the server's
		_, err = hooks.Uninstall(dir, hooks.ServerNames())
	}
	for _, r := range done {
		if r.After == hooks.Edited {
			return fault.New(fault.Other, fault.HookEdited, "%s was edited after githandoff wrote it, and is not changed", r.Path).
				WithHints(fault.Run("mv", r.Path, r.Path+".edited").Because("sets it aside; then install again"))
		}
		c.print(r)
	}
	if err != nil {
		return err
	}
	if err := c.keepNames(ctx, repo); err != nil {
		return err
	}
	return c.adviseGuard(repo)
}

// checkNames refuses URLs and a prefix that a hub cannot have.
func (c *hookCommand) checkNames() error {
	for _, url := range c.urls {
		if _, err := crossrepo.RepoID(url, ""); err != nil {
			return err
		}
	}
	if c.prefix == "" {
		return nil
	}
	return crossrepo.CheckPrefix(c.prefix)
}

// keepNames writes down the URLs of a hub, and the prefix of its refs.
func (c *hookCommand) keepNames(ctx context.Context, repo *refs.Repo) error {
	settings := gitconfig.Of(repo)
	for _, url := range c.urls {
		if slices.Contains(repo.Config[strings.ToLower(gitconfig.HubURL)], url) {
			continue
		}
		if err := settings.Add(ctx, gitconfig.HubURL, url); err != nil {
			return err
		}
	}
	before := repo.Config.Get(gitconfig.HubPrefix)
	if c.prefix == "" || c.prefix == before {
		return nil
	}
	if before != "" {
		if err := settings.Drop(ctx, gitconfig.HubPrefix, before); err != nil {
			return err
		}
	}
	return settings.Add(ctx, gitconfig.HubPrefix, c.prefix)
}

// adviseGuard warns of settings that do not work with a guard.
func (c *hookCommand) adviseGuard(repo *refs.Repo) error {
	if v := repo.Config.Get("receive.advertiseatomic"); v != "" && !repo.Config.Bool("receive.advertiseatomic") {
		c.Warn(fmt.Errorf("receive.advertiseAtomic is off: no client of githandoff can push here"))
	}
	trust, err := hubTrust(repo)
	if err != nil {
		return err
	}
	if len(trust.Entries()) == 0 {
		c.Say("githandoff: no key is trusted at this hub yet, so it refuses every handoff: githandoff trust add FILE --agent A --role sender")
	}
	return nil
}

// hubTrust is the hub's own trust list. The keys that the user of the server pinned for
// himself say nothing about those who push.
func hubTrust(repo *refs.Repo) (*sign.Trust, error) {
	return sign.LoadHubTrust(trustPath(repo), repo.CommonDir)
}

// hubPrefix is the prefix below which clients keep handoffs at this hub; "" if it has no
// setting for it.
func hubPrefix(repo *refs.Repo) (string, error) {
	values := repo.Config[gitconfig.HubPrefix]
	if len(values) == 0 {
		return "", nil
	}
	last := values[len(values)-1]
	return last, crossrepo.CheckPrefix(last)
}

// publishedKey finds a published key: at a hub with a prefix first below that.
func publishedKey(ctx context.Context, t *team.Team, kid sign.KID) (public sign.PublicKey, where string, err error) {
	prefix, err := hubPrefix(t.Repo)
	if err != nil {
		return public, "", err
	}
	if prefix != "" && t.Repo.Bare {
		if public, err = t.KeyHere(ctx, refs.Namespace(prefix+"/"), kid); !fault.Is(err, fault.NoKey) {
			return public, "this repository", err
		}
	}
	return t.PublishedKey(ctx, kid)
}

// removeGuard takes out the hook of a hub, and its settings.
func (c *hookCommand) removeGuard(ctx context.Context, repo *refs.Repo, dir string) ([]hooks.Result, error) {
	done, err := hooks.Uninstall(dir, hooks.ServerNames())
	if err != nil {
		return done, err
	}
	if place := hooks.ServerDir(dir, repo.CommonDir); place != dir {
		there, err := hooks.Uninstall(place, hooks.ServerNames())
		done = append(done, there...)
		if err != nil {
			return done, err
		}
	}
	for _, key := range []string{gitconfig.HubURL, gitconfig.HubPrefix} {
		_, err = repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "--local", "--unset-all", key}})
		if err != nil && gitexec.ExitCode(err) != 5 { // 5: it was not set
			return done, err
		}
	}
	return done, nil
}

// guardHook judges what is pushed to a hub.
type guardHook struct {
	*app
}

// guard is the judge of this hub.
func (hook *guardHook) guard(repo *refs.Repo) (*guard.Guard, error) {
	trust, err := hubTrust(repo)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, url := range repo.Config[strings.ToLower(gitconfig.HubURL)] {
		id, err := crossrepo.RepoID(url, "")
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	for _, path := range repo.Paths() {
		ids = append(ids, crossrepo.FileID(path))
	}
	if own := repo.Config.Get("handoff.repoid"); own != "" {
		ids = append(ids, own)
	}
	home := &lifecycle.LocalHome{Repo: repo, RepoID: ids[0], Paths: slices.Clip(ids)}
	engine := lifecycle.New(lifecycle.Setup{Repo: repo, Trust: trust, Now: hook.Now})
	g := &guard.Guard{Home: home, Verifier: engine.Verifier}
	prefix, err := hubPrefix(repo)
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		g.KeepBelow(prefix)
	}
	return g, nil
}

// preReceive judges a push. Unlike the hooks of a clone it fails if it cannot do so: a push
// that was not judged is refused.
func (hook *guardHook) preReceive(ctx context.Context) error {
	repo, err := hook.openRepo(ctx)
	if err != nil {
		return err
	}
	g, err := hook.guard(repo)
	if err != nil {
		return err
	}
	edits, err := guard.ReadEdits(hook.Stdin)
	if err != nil {
		return err
	}
	if err := g.TakeLists(ctx); err != nil {
		return err
	}
	refused, err := g.Check(ctx, edits)
	if err != nil || len(refused) == 0 {
		return err
	}
	for _, r := range refused {
		f := fault.As(r.Err)
		fmt.Fprintf(hook.Stderr, "githandoff: %s: %s: %s%s\n", printable(r.Ref), f.Reason, printable(f.Message), hook.remedy(ctx, repo, g, r.Err))
	}
	return exitStatus(fault.CodeOf(refused[0].Err))
}

// remedy says how a root key or the owner of the hub admits a key that is not known here. It
// names the agent that the published key claims to belong to: the owner compares the
// fingerprint, as "trust add" says.
func (hook *guardHook) remedy(ctx context.Context, repo *refs.Repo, g *guard.Guard, refusal error) string {
	var unknown *sign.UnknownKeyError
	if !errors.As(refusal, &unknown) {
		return ""
	}
	root := ""
	if sign.HasRoot(g.Verifier.Keys.Trust) {
		root = "a root key lists whoever joined its team with githandoff sync; or "
	}
	here := team.New(&workspace.Workspace{Homes: workspace.Homes{Repo: repo}})
	public, err := here.KeyHere(ctx, refs.LocalNamespace, unknown.KID)
	if err != nil { // it is not published: its owner has to send it
		return ""
	}
	if pin := team.PinHint(public); len(pin.Run) > 0 {
		return "; " + root + "the owner of this repository trusts it there with " + printable(fault.Hint{Run: pin.Run}.String())
	}
	return ""
}
