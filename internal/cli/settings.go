package cli

import (
	"context"
	"slices"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// settings changes the git config of a repository.
type settings struct{ repo *refs.Repo }

func settingsOf(repo *refs.Repo) settings { return settings{repo} }

// add adds a line to git config that gives key that value.
func (s settings) add(ctx context.Context, key, value string) error {
	return s.write(ctx, key, func() error {
		_, err := s.repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", "--local", "--add", key, value}, Finish: true})
		if err == nil {
			s.repo.Config[key] = append(s.repo.Config[key], value)
		}
		return err
	})
}

// write repeats a write of git config: another git may hold its lock.
func (s settings) write(ctx context.Context, key string, write func() error) error {
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

// drop removes each line of git config that gives key that value.
func (s settings) drop(ctx context.Context, key, value string) error {
	return s.write(ctx, key, func() error {
		_, err := s.repo.Runner.Run(ctx, gitexec.Cmd{
			Args: []string{"config", "--local", "--fixed-value", "--unset-all", key, value}, Finish: true,
		})
		if gitexec.ExitCode(err) == 5 { // it is not there, or no more
			err = nil
		}
		if err == nil {
			s.repo.Config[key] = slices.DeleteFunc(s.repo.Config[key], func(v string) bool { return v == value })
		}
		return err
	})
}
