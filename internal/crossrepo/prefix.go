package crossrepo

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/refs"
)

// UsualPrefix is the prefix of handoffs at a hub for which no other prefix is set.
const UsualPrefix = "refs/handoffs"

// BranchPrefix is the prefix for hosts limited to branches and tags.
const BranchPrefix = "refs/heads/handoffs"

// HubPrefix returns the prefix below which the clients of a guarded hub, repo, keep handoffs; ""
// if it has no setting for it.
func HubPrefix(repo *refs.Repo) (string, error) {
	values := repo.Config[gitconfig.HubPrefix]
	if len(values) == 0 {
		return "", nil
	}
	last := values[len(values)-1]
	return last, CheckPrefix(last)
}

// CheckPrefix refuses a prefix unfit for handoffs: one that is no ref name, has fewer than
// three parts, or belongs to something else.
func CheckPrefix(prefix string) error {
	bad := func(why string) error {
		return fault.New(fault.Usage, fault.BadUsage, "%s cannot be the prefix of handoffs: %s", Quote(prefix), why).
			WithHints(fault.Fact("if a host takes only branches, the prefix is refs/heads/handoffs"))
	}
	part := strings.Split(prefix, "/")
	switch {
	case len(prefix) > maxPrefix:
		return bad("it is too long")
	case len(part) < 3 || part[0] != "refs":
		return bad("it is not of the form refs/heads/NAME")
	case part[1] == "handoffs" || part[1] == "notes" || part[1] == "tags" || part[1] == "remotes":
		return bad("refs/" + part[1] + " has another use")
	}
	for _, p := range part {
		if !partName(p) {
			return bad("its parts are made of a-z, 0-9, \"-\", \"_\" and single dots, and begin with a letter or digit")
		}
	}
	return nil
}

// maxPrefix limits the length of a prefix in bytes. Names below it must fit the file systems of
// servers.
const maxPrefix = 100

// partName reports whether every file system and server keeps one part of a prefix as it is.
func partName(p string) bool {
	if p == "" || strings.HasSuffix(p, ".lock") || strings.HasSuffix(p, ".") || strings.Contains(p, "..") {
		return false
	}
	for i, c := range p {
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !plain && (i == 0 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return true
}

// SetPrefix records below which prefix the hub behind an alias keeps handoffs. Ordinary
// copies of refs there are dropped and not made any more: they would keep payloads.
func (as Aliases) SetPrefix(ctx context.Context, a *Alias, prefix string) error {
	if prefix == UsualPrefix {
		prefix = ""
	} else if err := CheckPrefix(prefix); err != nil {
		return err
	}
	if a.Prefix != prefix {
		if err := hasMemory(ctx, as, a, prefix); err != nil {
			return err
		}
		for _, name := range append(otherNames(as, a), a.Name) {
			one := *a
			one.Name, one.Prefix = name, as.Repo.Config.Get(gitconfig.AliasPrefix(name))
			if err := changePrefix(ctx, as, &one, prefix); err != nil {
				return err
			}
		}
		a.Prefix = prefix
	}
	if prefix == "" {
		return nil
	}
	return keepApart(ctx, as, a)
}

// otherNames returns the other names pinned for the repository of an alias, which has one prefix.
// Names without a URL count, because "git remote rename" may give them one again.
func otherNames(as Aliases, a *Alias) []string {
	return slices.DeleteFunc(as.Repo.Config.Subsections("handoffrepo", "id"), func(name string) bool {
		return name == a.Name || !a.Is(as.Repo.Config.Get("handoffrepo."+name+".id"))
	})
}

// keepApart excludes a hub's handoffs from ordinary fetches, and drops the copies that one made.
func keepApart(ctx context.Context, as Aliases, a *Alias) error {
	if err := gitconfig.Of(as.Repo).SetKeepOuts(ctx, a.Name); err != nil {
		return err
	}
	return dropFetched(ctx, as, a)
}

// changePrefix stores another prefix, and forgets the findings about the refs below the former one.
func changePrefix(ctx context.Context, as Aliases, a *Alias, prefix string) error {
	key := gitconfig.AliasPrefix(a.Name)
	if a.Prefix != "" {
		if err := gitconfig.Of(as.Repo).DropKeepOut(ctx, a.Name, a.Prefix); err != nil {
			return err
		}
	}
	if prefix == "" {
		if err := gitconfig.Of(as.Repo).Unset(ctx, key); err != nil {
			return err
		}
	} else if err := gitconfig.Of(as.Repo).Set(ctx, key, prefix); err != nil {
		return err
	}
	a.Prefix = prefix
	NewHub(a, as.Repo, nil).book.note(func(k *findings) { *k = findings{} })
	return nil
}

// hasMemory refuses a prefix below which the hub lacks entries that this clone has seen: the
// handoffs are elsewhere. If this clone has seen none, the hub is not asked.
func hasMemory(ctx context.Context, as Aliases, a *Alias, prefix string) error {
	next := *a
	next.Prefix = prefix
	_, err := remembers(ctx, NewHub(&next, as.Repo, nil), a.IDs())
	if !fault.Is(err, fault.Rollback) {
		return err
	}
	return fault.New(fault.Denied, fault.Rollback, "the log of %s below %s lacks entries that this clone has seen below %s", a.Name, next.Root(), a.Root()).
		WithHints(fault.Run("githandoff", "repo", "add", a.Name, a.URL.Bare(), "--prefix", next.Below(), "--move").
			Because("moves the refs of handoffs there, for the whole team"))
}

// dropFetched drops the copies of a hub's handoffs made by an ordinary fetch or clone.
func dropFetched(ctx context.Context, as Aliases, a *Alias) error {
	copies := gitconfig.Of(as.Repo).Fetched(a.Name, a.Prefix)
	if len(copies) == 0 {
		return nil
	}
	list, err := as.Repo.List(ctx, copies...)
	if err != nil {
		return err
	}
	var drop []refs.Edit
	for _, ref := range list {
		drop = append(drop, refs.Edit{Ref: ref.Name, Old: ref.OID})
	}
	return as.Repo.Apply(ctx, refs.Transaction{Edits: drop})
}
