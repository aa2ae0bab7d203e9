package gitconfig

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// HooksDir asks git for the directory of its hooks, and for the scope of its setting ("" without
// one), which is returned with HooksOff as well. It starts git by name, because gitexec's usual way
// switches hooks off.
func HooksDir(ctx context.Context, repo *refs.Repo) (dir, scope string, err error) {
	run := whereHooksRun(repo)
	out, err := run.Run(ctx, gitexec.Cmd{
		Name: "git", Args: []string{"config", "--show-scope", "--get", "core.hooksPath"},
	})
	if err != nil && gitexec.ExitCode(err) != 1 { // exit code 1 means that it is not set
		return "", "", err
	}
	scope, _, _ = strings.Cut(string(out), "\t")
	out, err = run.Run(ctx, gitexec.Cmd{
		Name: "git", Args: []string{"rev-parse", "--path-format=absolute", "--git-path", "hooks"},
	})
	if err != nil && (gitexec.ExitCode(err) != 128 || gitexec.Unexplained(err)) {
		return "", "", err
	}
	dir = strings.TrimSuffix(string(out), "\n")
	if info, serr := os.Stat(dir); err != nil || serr == nil && !info.IsDir() || serr != nil && !errors.Is(serr, fs.ErrNotExist) {
		if scope == "" && err == nil {
			return "", "", fault.New(fault.Unavailable, fault.HooksOff, "%q is not a directory, so git runs no hooks here", dir).
				WithHints(fault.Run("ls", "-ld", "--", dir).Because("shows what is in the way"))
		}
		return "", scope, fault.New(fault.Unavailable, fault.HooksOff, "core.hooksPath does not name a directory, so git runs no hooks here").
			WithHints(fault.Run("git", "config", "--show-scope", "--show-origin", "--get", "core.hooksPath").Because("says which file sets it"))
	}
	return dir, scope, nil
}

// whereHooksRun returns a runner for the directory in which git runs the hooks, and to which a relative setting is
// relative: the top of the work tree, or a bare repository.
func whereHooksRun(repo *refs.Repo) *gitexec.Runner {
	env := append(slices.Clone(repo.Runner.Env), "GIT_DIR="+repo.GitDir)
	top := repo.Worktree
	if top == "" && filepath.Base(repo.GitDir) == ".git" && repo.Config.Get("core.worktree") == "" {
		top = filepath.Dir(repo.GitDir) // the command was started in the git directory
	}
	switch {
	case repo.Bare:
		return &gitexec.Runner{Dir: repo.GitDir, Env: env, Limit: repo.Runner.Limit}
	case top != "":
		return &gitexec.Runner{Dir: top, Env: append(env, "GIT_WORK_TREE="+top), Limit: repo.Runner.Limit}
	}
	return repo.Runner // in the git directory of a linked work tree or of a submodule
}

// hookCommands is the first git that runs hooks from its configuration.
const hookCommands = "2.54"

// HookCommands returns the commands that git runs because of its configuration: by the hook, and by the
// setting with the command. A git that is too old runs none.
func HookCommands(ctx context.Context, repo *refs.Repo) (map[string]map[string]string, error) {
	found := map[string]map[string]string{}
	for _, name := range repo.Config.Subsections("hook", "event") {
		events, setting := repo.Config["hook."+name+".event"], "hook."+name+".command"
		for i := slices.Index(events, ""); i >= 0; i = slices.Index(events, "") {
			events = events[i+1:] // an empty value clears those before it
		}
		for _, hook := range events {
			if repo.Config.Off("hook."+name+".enabled") || repo.Config.Off("hook."+hook+".enabled") {
				continue
			}
			if found[hook] == nil {
				found[hook] = map[string]string{}
			}
			found[hook][setting] = repo.Config.Get(setting)
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	if known, err := repo.HasGit(ctx, hookCommands); err != nil || !known {
		return nil, err
	}
	return found, nil
}
