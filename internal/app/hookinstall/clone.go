// Package hookinstall installs githandoff in the hooks of git: those of a clone, and the
// guard of a hub.
package hookinstall

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"githandoff/hooks"
	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/gitexec"
	"githandoff/internal/refs"
)

// Handler installs and removes the hooks of a repository.
type Handler struct {
	Repo *refs.Repo
	Path string // $PATH, in which hooks look for this program
}

// Installed is the result of Install.
type Installed struct {
	Hooks  []hooks.Result
	Scope  string // scope of core.hooksPath if other repositories share it: global or system; "" otherwise
	Manual *Manual
}

// Manual says how to call githandoff where the hooks belong to somebody else. Then none was
// installed.
type Manual struct {
	Manager string // hook manager that runs the hooks; "" for hooks that are files of the work tree
	Lines   []Line
	Then    string // command to run after the lines were added; "" for none
}

// Line calls githandoff for one hook; its text belongs in a file.
type Line struct{ Hook, File, Text string }

// Install installs the hooks of a clone.
func (h *Handler) Install(ctx context.Context) (*Installed, error) {
	if h.Repo.Bare {
		return nil, fault.New(fault.Usage, fault.BareRepository, "git runs none of these hooks in a bare repository").
			WithHints(fault.Run("githandoff", "hook", "install", "--server").Because("guards a hub, if this repository is one"))
	}
	dir, scope, err := gitconfig.HooksDir(ctx, h.Repo)
	if err != nil {
		return nil, err
	}
	if m, ok := hooks.DetectManager(h.Repo.Worktree, dir); ok {
		return &Installed{Manual: manual(m, m.File)}, nil
	}
	if h.tracked(ctx, dir) {
		file := func(name string) string { return filepath.Join(dir, name) }
		return &Installed{Manual: manual(hooks.Manager{Config: dir}, file)}, nil
	}
	exe, err := hooks.Program(h.Path)
	if err != nil {
		return nil, err
	}
	if !forAll(scope) {
		scope = ""
	}
	// A hook that calls githandoff already would run it twice.
	found, _, err := h.clone(ctx, dir)
	if err != nil {
		return nil, err
	}
	called := slices.DeleteFunc(found, func(r hooks.Result) bool { return r.After != hooks.Called })
	names := slices.DeleteFunc(hooks.Names(), func(name string) bool {
		return slices.ContainsFunc(called, func(r hooks.Result) bool { return r.Name == name })
	})
	done, err := hooks.Install(dir, names, exe)
	return &Installed{Hooks: append(called, done...), Scope: scope}, err
}

// clone looks at the hooks of a clone.
func (h *Handler) clone(ctx context.Context, dir string) (found []hooks.Result, manager string, err error) {
	commands, err := gitconfig.HookCommands(ctx, h.Repo)
	if err != nil {
		return nil, "", err
	}
	return hooks.CloneStatus(h.Repo.Worktree, dir, h.usualDir(), commands)
}

// ofWorktree is the scope of a setting that leaves the hooks of other worktrees as they are.
const ofWorktree = "worktree"

// usualDir returns the directory of hooks without core.hooksPath.
func (h *Handler) usualDir() string { return filepath.Join(h.Repo.CommonDir, "hooks") }

// forAll reports whether a setting of this scope is for other repositories as well.
func forAll(scope string) bool { return scope == "global" || scope == "system" }

func manual(m hooks.Manager, file func(hook string) string) *Manual {
	by := &Manual{Manager: m.Name, Then: m.Then()}
	for _, name := range hooks.Names() {
		by.Lines = append(by.Lines, Line{name, file(name), m.Line(name)})
	}
	return by
}

// tracked reports whether hooks in dir would be part of somebody's next commit: dir is in the
// work tree, and git does not ignore all of them.
func (h *Handler) tracked(ctx context.Context, dir string) bool {
	top, err := filepath.EvalSymlinks(h.Repo.Worktree)
	if err != nil || !inside(dir, top) || inside(dir, h.Repo.CommonDir) || inside(dir, h.Repo.GitDir) {
		return false
	}
	var paths strings.Builder
	for _, name := range hooks.Names() {
		paths.WriteString(filepath.Join(dir, name) + "\x00")
	}
	// Exit code 1 means it ignores none of them.
	out, _ := h.Repo.Runner.Run(ctx, gitexec.Cmd{
		Args: []string{"check-ignore", "-z", "--stdin"}, Stdin: strings.NewReader(paths.String()),
	})
	return string(out) != paths.String()
}

// inside reports whether path is dir or below it.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Uninstall removes the hooks of a clone, and in a bare repository the guard as well. It returns
// the hooks found.
func (h *Handler) Uninstall(ctx context.Context) ([]hooks.Result, error) {
	dir, scope, err := gitconfig.HooksDir(ctx, h.Repo)
	if fault.Is(err, fault.HooksOff) && scope != "" && scope != ofWorktree {
		dir, err = h.usualDir(), nil
	}
	if err != nil {
		return nil, err
	}
	done, err := hooks.Uninstall(dir, hooks.Names())
	switch {
	case err != nil:
	case h.Repo.Bare:
		done, err = h.removeGuard(ctx, dir)
	default:
		var commands hooks.Commands
		commands, err = gitconfig.HookCommands(ctx, h.Repo)
		hooks.MarkCalled(done, h.Repo.Worktree, dir, commands)
		if err == nil && scope != "" && scope != ofWorktree {
			var more []hooks.Result
			more, err = h.uninstallUnused()
			done = append(done, more...)
		}
	}
	return slices.DeleteFunc(done, func(r hooks.Result) bool { return r.Before == hooks.Absent }), err
}

// uninstallUnused removes our hooks from where git looks without core.hooksPath: they would run
// again when that setting is gone.
func (h *Handler) uninstallUnused() ([]hooks.Result, error) {
	done, err := hooks.Uninstall(h.usualDir(), hooks.Names())
	return slices.DeleteFunc(done, func(r hooks.Result) bool { return r.Before.Unused() && r.Backup == "" }), err
}

// Status looks at the hooks of a clone, or at the guard of a hub, and names the manager of the
// hooks; "" if there is none.
func (h *Handler) Status(ctx context.Context) (found []hooks.Result, manager string, err error) {
	dir, _, err := gitconfig.HooksDir(ctx, h.Repo)
	if err != nil {
		return nil, "", err
	}
	if !h.Repo.Bare {
		return h.clone(ctx, dir)
	}
	found, err = hooks.Status(hooks.ServerDir(dir, h.Repo.CommonDir), hooks.ServerNames())
	return found, "", err
}
