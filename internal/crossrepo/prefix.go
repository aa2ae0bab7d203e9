package crossrepo

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/refs"
)

// UsualPrefix is the prefix of handoffs at a hub of which nothing else is said.
const UsualPrefix = "refs/handoffs"

// BranchPrefix is the prefix for hosts limited to branches and tags.
const BranchPrefix = "refs/heads/handoffs"

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

// otherNames returns the other names that are pinned for the repository of an alias, which has one prefix.
// They have no URL now, and "git remote rename" may give them one again.
func otherNames(as Aliases, a *Alias) []string {
	return slices.DeleteFunc(as.Repo.Config.Subsections("handoffrepo", "id"), func(name string) bool {
		return name == a.Name || !a.Is(as.Repo.Config.Get("handoffrepo."+name+".id"))
	})
}

// keepApart keeps a hub's handoffs below its prefix out of an ordinary fetch, and drops the copies
// that one made.
func keepApart(ctx context.Context, as Aliases, a *Alias) error {
	if err := gitconfig.Of(as.Repo).SetKeepOuts(ctx, a.Name); err != nil {
		return err
	}
	return dropFetched(ctx, as, a)
}

// changePrefix writes another prefix down, and forgets what was found out about the refs
// below the former one.
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

// hasMemory refuses a prefix below which the hub lacks what this clone has seen of its log:
// the handoffs are elsewhere. Where this clone has seen nothing, nothing is asked.
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
