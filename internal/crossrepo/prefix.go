package crossrepo

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// usualPrefix is the prefix of handoffs at a hub of which nothing else is said.
const usualPrefix = "refs/handoffs"

// BranchPrefix is the prefix for hosts that take no refs but branches and tags.
const BranchPrefix = "refs/heads/handoffs"

// SetPrefix records below which prefix the hub behind an alias keeps handoffs. Ordinary
// copies of refs there are dropped and not made any more: they would keep payloads.
func (as Aliases) SetPrefix(ctx context.Context, a *Alias, prefix string) error {
	if prefix == usualPrefix {
		prefix = ""
	} else if err := CheckPrefix(prefix); err != nil {
		return err
	}
	settings, key := gitconfig.Of(as.Repo), "handoffrepo."+a.Name+".prefix"
	if a.Prefix != "" && a.Prefix != prefix {
		if err := settings.DropKeepOut(ctx, a.Name, a.Prefix); err != nil {
			return err
		}
	}
	if prefix == "" {
		if err := as.unset(ctx, key); err != nil {
			return err
		}
	} else if err := as.Set(ctx, key, prefix); err != nil {
		return err
	}
	a.Prefix = prefix
	if err := settings.SetKeepOuts(ctx, a.Name); err != nil || prefix == "" {
		return err
	}
	return as.dropFetched(ctx, a)
}

// dropFetched drops the copies that an ordinary fetch or clone made of a hub's handoffs.
func (as Aliases) dropFetched(ctx context.Context, a *Alias) error {
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

// unset removes a setting of this repository's git configuration.
func (as Aliases) unset(ctx context.Context, key string) error {
	_, err := as.Repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "--local", "--unset-all", key}, Finish: true})
	if err != nil && gitexec.ExitCode(err) != 5 { // 5: it was not set
		return fault.New(fault.Unavailable, fault.ConfigUnwritable, "write %s to git config: %w", key, err)
	}
	delete(as.Repo.Config, key)
	return nil
}
