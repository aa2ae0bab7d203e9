package crossrepo

import (
	"context"
	"fmt"
	"slices"

	"githandoff/internal/gitconfig"
)

// Replaced returns the ids of the repository that an alias means now, if a URL, or the ids given
// with it, name another one.
func Replaced(as Aliases, name, url string, ids []string) ([]string, error) {
	derived, err := RepoID(url, as.base())
	if err != nil {
		return nil, err
	}
	now := as.pinned(name)
	if now.RepoID == "" || now.Is(derived) || slices.Contains(ids, now.RepoID) {
		return nil, nil
	}
	if a, err := as.read(name); err == nil && a.derived == derived {
		return nil, nil // git's configuration already gives the alias this URL
	}
	return now.IDs(), nil
}

// pinOthers pins the ids of an alias for the other names of its repository: with other ids, they
// would mean another home.
func pinOthers(ctx context.Context, as Aliases, a *Alias) error {
	for _, name := range otherNames(as, a) {
		if err := as.pinAlso(ctx, &Alias{Name: name, Also: a.Also}); err != nil {
			return err
		}
		if err := gitconfig.Of(as.Repo).Set(ctx, "handoffrepo."+name+".id", a.RepoID); err != nil {
			return err
		}
	}
	return nil
}

// Unused returns a name like the given one that no alias has.
func Unused(as Aliases, name string) string {
	free := name
	for n := 2; slices.Contains(as.Names(), free); n++ {
		free = fmt.Sprint(name, "-", n)
	}
	return free
}
