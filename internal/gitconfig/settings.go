// Package gitconfig changes the git config of a repository, and reads from it what git
// itself decides: the directory of its hooks, and the refspecs of its remotes.
package gitconfig

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// HubURL is the setting with the URLs by which clients reach a hub. Together with its path they
// identify the repository. They are never learnt from a push.
const HubURL = "handoff.hubUrl"

// HubPrefix is the setting of a guarded hub for the prefix of its handoffs, if not refs/handoffs.
const HubPrefix = "handoff.prefix"

// Settings changes the git config of a repository.
type Settings struct{ repo *refs.Repo }

// Of returns the settings of a repository.
func Of(repo *refs.Repo) Settings { return Settings{repo} }

// Add adds a line with key and value to git config.
func (s Settings) Add(ctx context.Context, key, value string) error {
	return s.write(ctx, key, func() error {
		_, err := s.repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "--local", "--add", key, value}, Finish: true})
		if err == nil {
			s.repo.Config[key] = append(s.repo.Config[key], value)
		}
		return err
	})
}

// Drop removes each line with key and value from git config.
func (s Settings) Drop(ctx context.Context, key, value string) error {
	return s.write(ctx, key, func() error {
		_, err := s.repo.Runner.Run(ctx, gitexec.Cmd{
			Args: []string{"config", "--local", "--fixed-value", "--unset-all", key, value}, Finish: true,
		})
		if gitexec.ExitCode(err) == 5 { // it is not set
			err = nil
		}
		if err == nil {
			s.repo.Config[key] = slices.DeleteFunc(s.repo.Config[key], func(v string) bool { return v == value })
		}
		return err
	})
}

// write repeats a write of git config: another git may hold its lock.
func (s Settings) write(ctx context.Context, key string, write func() error) error {
	for try := 0; ; try++ {
		err := write()
		if err == nil {
			return nil
		}
		if try == 8 {
			return fault.New(fault.Unavailable, fault.ConfigUnwritable, "write %s to git config: %w", key, err)
		}
		if perr := refs.Pause(ctx, try); perr != nil {
			return perr
		}
	}
}
