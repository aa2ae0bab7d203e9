package crossrepo

import (
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// errTwoPlaces refuses a name that pushes to another place than it fetches from. The hints name one
// of these places, for handoffs alone: the pinned one, if there is one. url is one that the name is to
// lead to.
func errTwoPlaces(as Aliases, name, url string) error {
	refusal := fault.New(fault.Usage, fault.PushURL, "%s pushes to one URL and fetches from another", name)
	known, alias := as.pinned(name), inTargets(as, name)
	var seen []string
	var hints []fault.Hint
	for _, url := range append(places(as, name), url, as.pushURL(url)) {
		id, err := RepoID(as.insteadOf(url, "insteadof"), as.base())
		to, err2 := RepoID(as.pushURL(url), as.base())
		if err != nil || err2 != nil || id != to || slices.Contains(seen, id) || known.RepoID != "" && !known.Is(id) {
			continue
		}
		seen = append(seen, id)
		if named := fault.As(as.free(alias, id)); named != nil {
			hints = append(hints, named.Hints[0]) // hint for a place that already has a name
			continue
		}
		add := fault.Run("githandoff", "repo", "add", alias, URL(url).Bare()).Because("sends handoffs there and takes them from there")
		if IsRemote(as.Repo.Config, name) {
			add = add.Because("sends handoffs there and takes them from there; git's own remote stays as it is")
		}
		hints = append(hints, add)
	}
	if len(hints) == 0 {
		hints = []fault.Hint{fault.See("repo add").Because("makes an alias with one URL for both")}
	}
	return refusal.WithHints(hints...)
}

// inTargets returns the name itself, or one like it that is valid in a target.
func inTargets(as Aliases, name string) string {
	if handoff.CheckAlias(name) == nil {
		return name
	}
	return Unused(as, strings.ReplaceAll(name, "/", "-"))
}

// places lists the URLs to which a name leads, as they are configured and as git rewrites them for a push.
func places(as Aliases, name string) []string {
	cfg := as.Repo.Config
	urls := slices.Concat(cfg["handoffrepo."+name+".url"], cfg["remote."+name+".url"], cfg["remote."+name+".pushurl"])
	for _, url := range slices.Clone(urls) {
		urls = append(urls, as.pushURL(url))
	}
	return urls
}

// place returns the alias, without its ids, of a name that will lead to a URL, and the URL to store
// for it; "" if the configured one stays. A URL as hints show it, without its password or token,
// means the configured one. A git remote keeps its URL. One that leads to two places gets one of
// them for handoffs.
func (as Aliases) place(name, url string) (a *Alias, placed string, err error) {
	same := func(other string) bool {
		other = as.insteadOf(other, "insteadof")
		return other == as.insteadOf(url, "insteadof") || URL(other).Bare() == url
	}
	cfg := as.Repo.Config
	own, urls := cfg.Get("handoffrepo."+name+".url"), cfg["remote."+name+".url"]
	a, err = as.read(name)
	switch {
	case fault.Is(err, fault.PushURL):
		if own == "" && !slices.ContainsFunc(places(as, name), same) {
			return nil, "", err
		}
	case own != "" && same(own), own == "" && len(urls) > 0 && same(urls[len(urls)-1]):
		return a, "", err
	case own == "" && len(urls) > 0:
		return nil, "", fault.New(fault.Usage, fault.RepoKnown, "%s is a git remote with the URL %s", name, Quote(URL(urls[0]).String())).
			WithHints(fault.Run("git", "remote", "set-url", name, URL(url).Bare()).Because("moves the remote; another alias leaves it alone"))
	}
	for _, other := range append([]string{name}, as.Names()...) {
		urls := places(as, other)
		if i := slices.IndexFunc(urls, same); i >= 0 {
			url = urls[i]
			break
		}
	}
	a, err = as.onePlace(&Alias{Name: name, target: url}, url, as.pushURL(url))
	return a, url, err
}

// CheckTarget returns the refusal of a target at a git remote whose name no target can have; nil for
// every other target.
func CheckTarget(as Aliases, target string) error {
	agent, remote, _ := strings.Cut(target, "@")
	if handoff.CheckAlias(remote) == nil || !IsRemote(as.Repo.Config, remote) {
		return nil
	}
	a, _, err := as.Resolve(remote)
	if err != nil {
		return err
	}
	refusal := fault.New(fault.Usage, fault.InvalidTarget, "%s is a git remote, and no target can have that name", remote)
	for _, name := range as.Names() {
		if other, _, err := as.Resolve(name); err == nil && handoff.CheckAlias(name) == nil && other.Is(a.derived) {
			return refusal.WithHints(fault.Instead(target, agent+"@"+name))
		}
	}
	name := inTargets(as, remote)
	if handoff.CheckAlias(name) != nil {
		return refusal.WithHints(fault.See("repo add").Because("gives that repository an alias for the target"))
	}
	return refusal.WithHints(fault.Run("githandoff", "repo", "add", name, a.URL.Bare()).Because("gives it a name for targets: %s@%s", agent, name))
}
