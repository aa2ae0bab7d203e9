package crossrepo

import (
	"cmp"
	"context"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
)

// Alias is the short name of another repository.
type Alias struct {
	Name   string
	URL    URL      // URL in the configuration, with insteadOf applied
	RepoID string   // pinned id of the repository
	Also   []string // further ids of the repository; see AddAs
	Prefix string   // prefix of its refs, without a trailing "/"; empty for refs/handoffs

	// target is the argument of git fetch and git push: the name of a git remote, so that all
	// its settings apply, or else the URL as configured, which git rewrites itself.
	target string

	derived string // the id that follows from the URL
	source  string // name whose settings apply; see Aliases.source
}

// hinted returns the target for a command that somebody pastes.
func (a *Alias) hinted() string { return URL(a.target).Bare() }

// Path returns the place to which the alias leads, if that is a path. Its ids may name a former place.
func (a *Alias) Path() (path string, ok bool) { return filePath(a.derived) }

// Aliases resolves aliases from git configuration, nowhere else.
type Aliases struct {
	Repo *refs.Repo
}

// Names lists all aliases: git remotes and handoffrepo sections.
func (as Aliases) Names() []string {
	names := as.Repo.Config.Subsections("remote", "url")
	names = append(names, as.Repo.Config.Subsections("handoffrepo", "url")...)
	slices.Sort(names)
	return slices.Compact(names)
}

// Get resolves an alias and checks it against the pinned repository. An alias met for the first
// time is pinned now.
func (as Aliases) Get(ctx context.Context, name string) (*Alias, error) {
	a, pinned, err := as.Resolve(name)
	if err != nil || pinned {
		return a, err
	}
	return a, as.meet(ctx, a)
}

// meet pins an alias met for the first time, with the prefix of another name for the same place. It
// writes the id last: until then, the settings of that other name apply.
func (as Aliases) meet(ctx context.Context, a *Alias) error {
	if a.Prefix != "" {
		if err := gitconfig.Of(as.Repo).Set(ctx, gitconfig.AliasPrefix(a.Name), a.Prefix); err != nil {
			return err
		}
		if err := keepApart(ctx, as, a); err != nil {
			return err
		}
	}
	return as.pin(ctx, a)
}

// Resolve is like Get without pinning: it changes nothing.
func (as Aliases) Resolve(name string) (a *Alias, pinned bool, err error) {
	if a, err = as.read(name); err != nil {
		return nil, false, err
	}
	if err := apart(as, name, a.derived); err != nil {
		return nil, false, err
	}
	known := as.pinned(a.source)
	a.RepoID, a.Also = known.RepoID, known.Also
	if a.RepoID == "" {
		a.RepoID = a.derived
		return a, false, nil
	}
	pinned = a.source == name
	switch {
	case a.Is(a.derived):
		return a, pinned, nil
	case as.Repo.Config.Get("handoffrepo."+a.source+".pinnedurl") != string(a.URL):
		return nil, false, errOtherRepo(a)
	}
	return a, pinned, movedByPlace(as, a)
}

// movedByPlace refuses an alias whose relative path leads elsewhere from this worktree than from
// the one where it was pinned. It returns nil unless both places exist: if the pinned one is gone,
// the hub moved together with this clone.
func movedByPlace(as Aliases, a *Alias) error {
	if elsewhere, err := RepoID(string(a.URL), "/"); err != nil || elsewhere == a.derived {
		return nil //nolint:nilerr // the URL is not relative to a worktree
	}
	dir, _ := filePath(a.RepoID)
	other, _ := filePath(a.derived)
	for _, place := range []string{dir, other} {
		if _, err := os.Stat(place); err != nil {
			return nil //nolint:nilerr // git reports a place that does not exist
		}
	}
	absolute := fault.Run("git", "config", "handoffrepo."+a.Name+".url", dir)
	if IsRemote(as.Repo.Config, a.Name) {
		absolute = fault.Run("git", "remote", "set-url", a.Name, dir)
	}
	return fault.New(fault.Denied, fault.AudienceMismatch, "%s was pinned as %s, and its relative path leads to %s from this worktree", a.Name, a.RepoID, a.derived).
		WithHints(absolute.Because("makes the path absolute"))
}

// apart refuses an alias that leads to this repository itself. A handoff sent by it would stay
// here, because no hub brings its receipt.
func apart(as Aliases, name, repoID string) error {
	dir, local := filePath(repoID)
	if !local {
		return nil
	}
	own := slices.Contains(as.Repo.Paths(), dir)
	if dirs, ok := refs.Locate(dir, nil); ok && dirs.Top == dir {
		own = own || dirs.CommonDir == as.Repo.CommonDir
	}
	if !own {
		return nil
	}
	const instead = "agents of this repository are named without an alias"
	hint := fault.Fact(instead)
	switch {
	case IsRemote(as.Repo.Config, name):
		hint = fault.Run("git", "remote", "remove", name).Because("removes it: " + instead)
	case slices.Contains(as.Names(), name):
		hint = fault.Run("githandoff", "repo", "remove", name).Because("removes it: " + instead)
	}
	return fault.New(fault.Usage, fault.BadURL, "%s leads to this repository itself", name).WithHints(hint)
}

func (as Aliases) read(name string) (*Alias, error) {
	cfg := as.Repo.Config
	if own := cfg.Get("handoffrepo." + name + ".url"); own != "" {
		return as.onePlace(&Alias{Name: name, target: own}, own, as.pushURL(own))
	}
	urls := cfg["remote."+name+".url"]
	if len(urls) == 0 {
		return nil, fault.New(fault.NotFound, fault.UnknownAlias, "no repository is named %s here", Quote(name)).
			WithHints(as.suggest(name)...)
	}
	if cfg.Bool("remote." + name + ".mirror") {
		return nil, fault.New(fault.Usage, fault.MirrorRemote, "%s is a mirror: a mirroring push deletes handoffs", name).
			WithHints(as.Repo.Unset("remote."+name+".mirror", "", "makes it an ordinary remote")...)
	}
	if group := "remotes." + name; len(strings.Fields(strings.Join(cfg[group], " "))) > 1 {
		return nil, fault.New(fault.Usage, fault.RepoKnown, "%s is also a group of remotes, which git fetches instead", name).
			WithHints(as.Repo.Unset(group, "", "removes the group")...)
	}
	push, own := as.pushURL(urls[0]), cfg["remote."+name+".pushurl"]
	if len(own) > 0 {
		push = as.insteadOf(own[0], "insteadof")
	}
	a, err := as.onePlace(&Alias{Name: name, target: name}, urls[0], push)
	if err == nil && (len(urls) > 1 || len(own) > 1) {
		return nil, errTwoPlaces(as, name, urls[0])
	}
	return a, err
}

// onePlace fills in an alias, except its ids, if it fetches from and pushes to one repository.
func (as Aliases) onePlace(a *Alias, url, push string) (*Alias, error) {
	a.URL = URL(as.insteadOf(url, "insteadof"))
	want, err := RepoID(string(a.URL), as.base())
	if err != nil && push == string(a.URL) {
		return nil, err // the alias fetches from and pushes to one URL, which is invalid
	}
	got, err2 := RepoID(push, as.base())
	a.derived, a.source = want, as.source(a.Name, a.URL, want)
	known := as.pinned(a.source)
	// The alias may fetch under one of the hub's ids and push under another.
	oneHub := want == got || known.Is(want) && known.Is(got)
	if err != nil || err2 != nil || !oneHub {
		return nil, errTwoPlaces(as, a.Name, url)
	}
	a.Prefix = cmp.Or(as.Repo.Config.Get(gitconfig.AliasPrefix(a.Name)), as.Repo.Config.Get(gitconfig.AliasPrefix(a.source)))
	if a.Prefix != "" {
		err = CheckPrefix(a.Prefix)
	}
	return a, err
}

// source returns the name whose settings identify the repository of an alias: the alias itself or,
// while no id is pinned for it, another name pinned for this URL or id. "git remote rename" leaves
// our settings below the former name. A hub without its prefix and its further ids would look like
// another home, and its open handoffs would be offered there a second time.
func (as Aliases) source(name string, url URL, derived string) string {
	cfg := as.Repo.Config
	if cfg.Get("handoffrepo."+name+".id") != "" {
		return name
	}
	others := cfg.Subsections("handoffrepo", "id")
	slices.Sort(others)
	for _, other := range others {
		if cfg.Get("handoffrepo."+other+".pinnedurl") == string(url) || derived != "" && as.pinned(other).Is(derived) {
			return other
		}
	}
	return name
}

// settle pins the aliases that still use the settings of another name, before those change.
func settle(ctx context.Context, as Aliases, below string) error {
	for _, name := range as.Names() {
		if a, err := as.read(name); err != nil || name == below || a.source != below {
			continue
		}
		if _, err := as.Get(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// pushURL returns the URL to which git pushes for a URL without a pushurl.
func (as Aliases) pushURL(url string) string {
	if push := as.insteadOf(url, "pushinsteadof"); push != url {
		return push
	}
	return as.insteadOf(url, "insteadof")
}

// insteadOf rewrites a URL as git does: the longest matching prefix wins.
func (as Aliases) insteadOf(raw, variable string) string {
	best, base := "", ""
	for _, name := range as.Repo.Config.Subsections("url", variable) {
		for _, prefix := range as.Repo.Config["url."+name+"."+variable] {
			if len(prefix) > len(best) && strings.HasPrefix(raw, prefix) {
				best, base = prefix, name
			}
		}
	}
	if best == "" {
		return raw
	}
	return base + raw[len(best):]
}

// base returns the directory where relative URLs start.
func (as Aliases) base() string {
	if as.Repo.Worktree != "" {
		return as.Repo.Worktree
	}
	return as.Repo.CommonDir
}

// pin writes the ids and the URL of an alias into git config. If only one is written, the next look pins
// a new alias again. The former id of a known one never stands beside its new URL: Look would believe it.
func (as Aliases) pin(ctx context.Context, a *Alias) error {
	if err := as.pinAlso(ctx, a); err != nil {
		return err
	}
	settings := [][2]string{{"id", a.RepoID}, {"pinnedurl", string(a.URL)}}
	if as.pinned(a.Name).RepoID == "" {
		slices.Reverse(settings)
	}
	for _, kv := range settings {
		if err := gitconfig.Of(as.Repo).Set(ctx, "handoffrepo."+a.Name+"."+kv[0], kv[1]); err != nil {
			return err
		}
	}
	return nil
}

// ByID finds the alias of a repo id.
func (as Aliases) ByID(ctx context.Context, repoID string) (*Alias, error) {
	var unusable error // first error of an alias pinned as repoID; returned if no other alias leads there
	for _, name := range as.Names() {
		known := as.pinned(name)
		meant := known.Is(repoID)
		if known.RepoID != "" && !meant {
			if err := movedTo(as, name, known.RepoID, repoID); err != nil {
				return nil, err
			}
			continue
		}
		a, isPinned, err := as.Resolve(name)
		if err == nil && a.Is(repoID) {
			if !isPinned {
				err = as.meet(ctx, a)
			}
			return a, err
		}
		if err != nil && meant {
			unusable = cmp.Or(unusable, err)
		}
	}
	return nil, cmp.Or(unusable, ErrNameless(as, repoID))
}

// ErrNameless returns the error of a repository to which no alias leads.
func ErrNameless(as Aliases, repoID string) error {
	return fault.New(fault.NotFound, fault.UnknownHome, "no alias leads to %s", repoID).WithHints(as.reach(repoID))
}

// movedTo refuses an alias that is pinned as another repository and whose URL now leads to the
// given one. It returns nil for any other alias.
func movedTo(as Aliases, name, pinned, repoID string) error {
	a, err := as.read(name)
	if err != nil || a.derived != repoID {
		return nil //nolint:nilerr // a command that uses this alias reports the error
	}
	a.RepoID = pinned
	return errOtherRepo(a)
}

// ErrNamed is returned for a setting that names no repository of this clone.
func ErrNamed(as Aliases, setting, name string) error {
	hints := append(as.Repo.Unset(setting, name, "removes that name"), as.suggest("")...)
	return fault.New(fault.Usage, fault.UnknownAlias, "%s names %s, and no repository has that name here", setting, Quote(name)).WithHints(hints[:min(len(hints), fault.MaxHints)]...)
}

// suggest returns the hints for a name without a repository.
func (as Aliases) suggest(name string) []fault.Hint {
	known := as.Names()
	add := fault.See("repo add").Because("gives a repository that name")
	if len(known) == 0 {
		return []fault.Hint{add}
	}
	list := fault.Run("githandoff", "repo", "list").Because("known here: %s", strings.Join(known, ", "))
	if near := fault.Nearest(name, known); near != "" {
		return []fault.Hint{fault.Instead(name, near), list, add}
	}
	return []fault.Hint{list, add}
}

// reach returns the hint that names a repository by its id. The id of a repository with a URL is a
// form of that URL; the id of a repository that is its own home is not.
func (as Aliases) reach(repoID string) fault.Hint {
	url, ok := strings.CutPrefix(repoID, "git+")
	if !ok {
		return fault.See("repo add").Because("names that repository, by a path or URL that leads to it")
	}
	base := strings.TrimSuffix(path.Base(url), ".git")
	if handoff.CheckAgent(base) != nil {
		base = "home"
	}
	return fault.Run("githandoff", "repo", "add", Unused(as, base), url).Because("names that repository")
}

// maxQuoted limits the length of foreign text in a message.
const maxQuoted = 400

// Quote escapes foreign text.
func Quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "…"
	}
	return strconv.QuoteToGraphic(s)
}

// Add names a repository, or confirms the changed URL of an alias. A git remote of that name
// keeps its URL, which must equal url. One repository has one URL: another alias for the same
// id is refused.
func (as Aliases) Add(ctx context.Context, name, url string) (*Alias, error) {
	if IsRemote(as.Repo.Config, url) && url != name { // git would read url as the remote, and RepoID as a path
		return nil, fault.New(fault.Usage, fault.RepoKnown, "%s is a git remote here, and the alias of its own repository", url).
			WithHints(fault.Run("githandoff", "repo", "list").Because("lists the aliases with their URLs"))
	}
	id, err := RepoID(url, as.base())
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(apart(as, name, id), as.free(name, id)); err != nil {
		return nil, err
	}
	if err := settle(ctx, as, name); err != nil {
		return nil, err
	}
	a, placed, err := as.place(name, url)
	if err != nil {
		return nil, err
	}
	a.RepoID = id
	if known := as.pinned(a.source); known.Is(id) {
		a.RepoID, a.Also = known.RepoID, known.Also // keep the pinned ids
	}
	return a, keep(ctx, as, a, placed)
}

// keep stores a checked alias, and its URL unless that is "".
func keep(ctx context.Context, as Aliases, a *Alias, url string) error {
	if url != "" {
		if err := gitconfig.Of(as.Repo).Set(ctx, "handoffrepo."+a.Name+".url", url); err != nil {
			return err
		}
	}
	return as.meet(ctx, a)
}

// Remove forgets an alias. One that is a git remote is refused: its URL would stay, and whatever
// repository it led to would be taken for the pinned one from then on.
func (as Aliases) Remove(ctx context.Context, name string) error {
	section := "handoffrepo." + name
	if as.Repo.Config.Get(section+".id") == "" && as.Repo.Config.Get(section+".url") == "" {
		return fault.New(fault.NotFound, fault.UnknownAlias, "no repository is named %s here", untrusted.Line(name)).
			WithHints(fault.Run("githandoff", "repo", "list").Because("lists the names"))
	}
	if IsRemote(as.Repo.Config, name) {
		hints := []fault.Hint{fault.Run("git", "remote", "remove", name).Because("removes the remote; after it, githandoff repo remove %s forgets the repository", name)}
		if as.Repo.Config.Get(section+".url") != "" {
			hints = append(hints, fault.Run("git", "config", "--unset", section+".url").Because("has handoffs use the URL of the remote again"))
		}
		return fault.New(fault.Usage, fault.RepoKnown, "%s is a git remote", name).WithHints(hints...)
	}
	if err := settle(ctx, as, name); err != nil {
		return err
	}
	return gitconfig.Of(as.Repo).RemoveSection(ctx, section)
}

// IsRemote reports whether an alias is the name of a git remote.
func IsRemote(config refs.Config, name string) bool { return len(config["remote."+name+".url"]) > 0 }
