package cli

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// keepOut is the refspec that keeps "git fetch --prune" off our refs. Where nothing is
// fetched into refs/handoffs it does nothing, and go-git, libgit2 and what is built on them
// open no repository that has one: so it stands only where it is needed.
const keepOut = "^refs/handoffs/*"

// reaches reports whether a fetch refspec writes into refs/handoffs, as that of a mirror does.
func reaches(spec string) bool {
	spec = strings.TrimPrefix(spec, "+")
	_, dst, ok := strings.Cut(spec, ":")
	if !ok || strings.HasPrefix(spec, "^") {
		return false
	}
	prefix, _, pattern := strings.Cut(dst, "*")
	return strings.HasPrefix(prefix, refs.Root) || pattern && strings.HasPrefix(refs.Root, prefix)
}

// refspecState says of a remote whether the refspec is needed, and whether it is there.
func refspecState(repo *refs.Repo, remote string) (needed, there bool) {
	specs := repo.Config["remote."+remote+".fetch"]
	return slices.ContainsFunc(specs, reaches), slices.Contains(specs, keepOut)
}

// setRefspec adds the refspec where it is needed, and takes it away where it is not.
func (a *app) setRefspec(ctx context.Context, repo *refs.Repo, remote string) error {
	key := "remote." + remote + ".fetch"
	switch needed, there := refspecState(repo, remote); {
	case needed && !there:
		return a.addConfig(ctx, repo, key, keepOut)
	case there && !needed:
		return a.dropConfig(ctx, repo, key, keepOut)
	}
	return nil
}

// dropConfig removes each line of git config that gives key that value.
func (a *app) dropConfig(ctx context.Context, repo *refs.Repo, key, value string) error {
	return a.setConfig(ctx, key, func() error {
		_, err := repo.Runner.Run(ctx, gitexec.Cmd{
			Args: []string{"config", "--local", "--fixed-value", "--unset-all", key, value}, Finish: true,
		})
		if gitexec.ExitCode(err) == 5 { // it is not there, or no more
			err = nil
		}
		if err == nil {
			repo.Config[key] = slices.DeleteFunc(repo.Config[key], func(v string) bool { return v == value })
		}
		return err
	})
}
