// Package hubguard judges a push at a hub, for its pre-receive hook. The guard gets the
// hub's own trust list, names and prefix.
package hubguard

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/guard"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/team"
)

// Refusal is a ref which a push must not change.
type Refusal struct {
	guard.Refusal

	// Pin admits the signing key, if it is not trusted at the hub: a command, or without one a remark, if
	// the key is not published there. Root is set if a root key of this hub can admit it as well: its list
	// makes nobody a root, so only the key of an agent.
	Pin  fault.Hint
	Root bool
}

// Judge reads a push as git gives it to pre-receive, and lists the refs it must not change. The
// namespace is that of git ($GIT_NAMESPACE); "" if there is none. Judge fails if it cannot judge the
// push, which is then refused.
func Judge(ctx context.Context, repo *refs.Repo, namespace string, push io.Reader, now func() time.Time) ([]Refusal, error) {
	g, err := open(repo, now)
	if err != nil {
		return nil, err
	}
	if namespace != "" {
		g.Within(namespace)
	}
	edits, err := guard.ReadEdits(push)
	if err != nil {
		return nil, err
	}
	if err := g.TakeLists(ctx); err != nil {
		return nil, err
	}
	refused, err := g.Check(ctx, edits)
	if err != nil {
		return nil, err
	}
	all := make([]Refusal, len(refused))
	for i, r := range refused {
		hint, agent := pin(ctx, repo, r.Err)
		all[i] = Refusal{Refusal: r, Pin: hint, Root: agent && hasRoot(g.Verifier.Keys.Trust, now())}
	}
	return all, nil
}

// open makes the guard of a hub. It trusts the hub's own list: the keys pinned by the server's
// user say nothing about the pushers.
func open(repo *refs.Repo, now func() time.Time) (*guard.Guard, error) {
	trust, err := sign.LoadHubTrust(repo.Own("trust.json"), repo.CommonDir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, url := range repo.Config[refs.ConfigKey(gitconfig.HubURL)] {
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
	engine := lifecycle.New(lifecycle.Setup{Repo: repo, Trust: trust, Now: now})
	g := &guard.Guard{Home: home, Verifier: engine.Verifier}
	prefix, err := crossrepo.HubPrefix(repo)
	if err != nil {
		return nil, err
	}
	if prefix != "" {
		g.KeepBelow(prefix)
	}
	return g, nil
}

// hasRoot reports whether the hub trusts a root key now.
func hasRoot(trust *sign.Trust, now time.Time) bool {
	return slices.ContainsFunc(sign.KeysOf(trust), func(k sign.Key) bool { return k.HasRole(sign.RoleRoot) && k.ValidAt(now) == nil })
}

// pin returns the command by which the owner of the hub trusts an unknown published key. It names
// the agent claimed by the key, if it claims one: the owner compares the fingerprint, as "trust add" says.
func pin(ctx context.Context, repo *refs.Repo, refusal error) (hint fault.Hint, agent bool) {
	unknown, ok := errors.AsType[*sign.UnknownKeyError](refusal)
	if !ok {
		return fault.Hint{}, false
	}
	public, err := team.KeyHere(ctx, repo, refs.LocalNamespace, unknown.KID)
	if err != nil {
		return fault.Fact("the owner of this repository needs that key, as githandoff key export prints it"), false
	}
	_, agent = team.Claimed(public)
	return team.PinHint(public), agent
}
