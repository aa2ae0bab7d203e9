// Package gitconfig changes the git config of a repository, and reads from it what git
// itself decides: the directory of its hooks, and the refspecs of its remotes.
package gitconfig

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// HubURL is the setting with the URLs by which clients reach a hub. Together with its path they
// identify the repository. They are never learnt from a push.
const HubURL = "handoff.hubUrl"

// HubPrefix is the setting of a guarded hub for the prefix of its handoffs, if not refs/handoffs.
const HubPrefix = "handoff.prefix"

// AliasPrefix returns the setting of the prefix below which a hub keeps handoffs, by the alias of the hub.
func AliasPrefix(alias string) string { return "handoffrepo." + alias + ".prefix" }

// Settings changes the git config of a repository, and keeps the copy of it in memory up to date.
type Settings struct {
	repo  *refs.Repo
	scope string // file option of "git config", such as --local
}

// Of returns the settings of a repository, which all its worktrees share.
func Of(repo *refs.Repo) Settings { return Settings{repo, "--local"} }

// OfWorktree returns the settings of one worktree, and lets git read such settings
// (extensions.worktreeConfig). From then on, the settings that all worktrees share count in each of
// them; so core.bare and core.worktree move to those of the main worktree first, as "git help
// worktree" demands. They move as well if the extension is set already: without that, no linked
// worktree is usable.
func OfWorktree(ctx context.Context, repo *refs.Repo) (Settings, error) {
	own, shared := Settings{repo, "--worktree"}, Of(repo)
	for _, key := range []string{"core.bare", "core.worktree"} {
		if key == "core.bare" && !repo.Config.Bool(key) {
			continue
		}
		out, err := repo.Runner.Run(ctx, gitexec.Cmd{Args: []string{"config", shared.scope, "--null", "--get", key}})
		value := strings.TrimSuffix(string(out), "\x00")
		switch {
		case gitexec.ExitCode(err) == missing:
			continue
		case err != nil:
			return own, err
		}
		if key == "core.bare" {
			value = "true" // a key without a value means true, but an empty value means false
		}
		main := Settings{repo, "--file=" + filepath.Join(repo.CommonDir, "config.worktree")}
		if err := main.Set(ctx, key, value); err != nil {
			return own, err
		}
		if err := shared.Unset(ctx, key); err != nil {
			return own, err
		}
	}
	return own, shared.Set(ctx, "extensions.worktreeConfig", "true")
}

// Set gives a key one value, in place of all that it has.
func (s Settings) Set(ctx context.Context, key, value string) error {
	return s.write(ctx, key, []string{value}, "--replace-all", key, value)
}

// Add adds a line with key and value.
func (s Settings) Add(ctx context.Context, key, value string) error {
	return s.write(ctx, key, append(s.values(key), value), "--add", key, value)
}

// Drop removes each line with key and value.
func (s Settings) Drop(ctx context.Context, key, value string) error {
	rest := slices.DeleteFunc(s.values(key), func(v string) bool { return v == value })
	return s.write(ctx, key, rest, "--fixed-value", "--unset-all", key, value)
}

// Unset removes each line with key.
func (s Settings) Unset(ctx context.Context, key string) error {
	return s.write(ctx, key, nil, "--unset-all", key)
}

// RemoveSection removes a section, "name.subsection", with all its keys.
func (s Settings) RemoveSection(ctx context.Context, section string) error {
	if err := s.write(ctx, section, nil, "--remove-section", section); err != nil {
		return err
	}
	maps.DeleteFunc(s.repo.Config, func(key string, _ []string) bool {
		variable, below := strings.CutPrefix(key, section+".")
		return below && !strings.Contains(variable, ".") // otherwise the key belongs to a section with a longer name
	})
	return nil
}

const (
	missing = 1 // exit code of "git config --get"
	notSet  = 5 // exit code of "git config --unset-all"
	tries   = 9 // attempts in about a second while another git holds the lock
)

func (s Settings) values(key string) []string {
	return slices.Clone(s.repo.Config[refs.ConfigKey(key)])
}

// write runs git config, and notes the values that a key has then. It waits for another git that
// holds the lock of the file, for a second at most.
func (s Settings) write(ctx context.Context, key string, now []string, args ...string) error {
	cmd := gitexec.Cmd{Args: append([]string{"config", s.scope}, args...), Finish: true}
	for try := 0; ; try++ {
		_, err := s.repo.Runner.Run(ctx, cmd)
		if err == nil || gitexec.ExitCode(err) == notSet {
			s.repo.Config.Put(key, now)
			return nil
		}
		locked := strings.Contains(err.Error(), "File exists")
		if !locked || try == tries-1 {
			return s.unwritable(key, locked, err)
		}
		if err := refs.Pause(ctx, try); err != nil {
			return err
		}
	}
}

// unwritable returns the refusal of a setting that git could not write, with a hint at the cause, if
// that is known.
func (s Settings) unwritable(key string, locked bool, err error) error {
	f := fault.New(fault.Unavailable, fault.ConfigUnwritable, "write %s to git config: %w", key, err)
	switch {
	case locked:
		return f.WithHints(refs.LockHint(filepath.Join(s.repo.CommonDir, "config.lock")))
	case unix.Access(s.repo.CommonDir, unix.W_OK) != nil:
		return f.WithHints(refs.WhoMayWrite(s.repo.CommonDir))
	}
	if full := refs.DiskFault(err); fault.Is(full, fault.DiskFull) {
		return f.WithHints(fault.As(full).Hints...)
	}
	return f
}
