package hooks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"githandoff/internal/fault"
)

// A State says what is in the place of a hook.
type State string

// The states.
const (
	Absent   State = "absent"   // nothing
	Ours     State = "ours"     // our script
	Chained  State = "chained"  // our script, which first runs the earlier hook
	Outdated State = "outdated" // our script, of another version or not executable
	Edited   State = "edited"   // our script, changed by somebody since
	Foreign  State = "foreign"  // somebody else's hook
	Moved    State = "moved"    // somebody else's hook, which moved our script aside and runs it
	Called   State = "called"   // a hook, a hook manager or a setting of somebody else, which calls githandoff
)

// Unused reports whether nothing in the place of the hook calls githandoff.
func (s State) Unused() bool { return s == Absent || s == Foreign }

// A Result has the states of one hook before and after. They are equal if no change was
// needed or allowed.
type Result struct {
	Name          string
	Path          string // path of the hook, or of a manager's file; for a setting, its key
	Before, After State
	Backup        string // path of the kept hook; "" if there is none
}

const (
	backupSuffix = ".before-githandoff"
	scriptMode   = 0o755
)

// Managers add these suffixes to the name of a hook that they find. pre-commit runs that hook
// first. lefthook puts it back when it is uninstalled.
const (
	runSuffix  = ".legacy"
	keptSuffix = ".old"
)

// A place is one hook of a hooks directory, as it was found.
type place struct {
	name         string
	path, backup string
	hook, kept   file
	shell        string   // words that start a shell for the hook that is or will be kept; "" for none, see shellFor
	asides       []string // paths to which hook managers moved our own script
	state        State
}

// Status looks at the hooks of dir, git's directory of hooks ("git rev-parse --git-path
// hooks"). The directory need not exist.
func Status(dir string, names []string) ([]Result, error) {
	places, err := survey(dir, names)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(places))
	for i, p := range places {
		results[i] = p.result(p.state)
		results[i].After = results[i].Before
	}
	return results, nil
}

// Install puts the named hooks into dir, which it makes if need be. exe is the absolute path
// of the githandoff to start, or empty for the one in PATH. An existing hook is kept and
// chained; an edited one of ours is left alone. Installing again changes nothing, or completes
// an interrupted run.
//
// Nothing is written if one of the hooks cannot be installed: "hook_manager" if
// a hook manager wrote it, "hook_backup_exists" if another kept hook is in the
// way, "hook_not_a_file", "unknown_hook", "invalid_path".
func Install(dir string, names []string, exe string) ([]Result, error) {
	if err := checkExe(exe); err != nil {
		return nil, err
	}
	places, err := survey(dir, names)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if err := p.admit(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("make hooks directory: %w", err)
	}
	var results []Result
	for _, p := range places {
		r, err := p.install(exe)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

// Uninstall takes the named hooks out of dir and puts the earlier ones back, byte for byte and
// with their modes. It leaves foreign hooks alone, and ours if somebody edited them. Our script
// goes also where a hook manager moved it aside.
func Uninstall(dir string, names []string) ([]Result, error) {
	places, err := survey(dir, names)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, p := range places {
		r, err := p.uninstall()
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, sweep(dir)
}

func survey(dir string, names []string) ([]place, error) {
	places := make([]place, len(names))
	for i, name := range names {
		if err := checkName(name); err != nil {
			return nil, err
		}
		path := filepath.Join(dir, name)
		p := place{name: name, path: path, backup: path + backupSuffix}
		var err error
		if p.hook, err = load(p.path); err != nil {
			return nil, err
		}
		if p.kept, err = load(p.backup); err != nil {
			return nil, err
		}
		for _, suffix := range []string{runSuffix, keptSuffix} {
			moved, err := load(path + suffix)
			if err != nil && !fault.Is(err, fault.HookNotAFile) {
				return nil, err
			}
			if moved.exists && originOf(moved.data) == intact {
				p.asides = append(p.asides, path+suffix)
			}
		}
		p.shell = p.shellOfKept()
		p.state = p.classify()
		places[i] = p
	}
	return places, nil
}

// shellOfKept is [shellFor] of the hook that is or will be kept, also through a symbolic link.
func (p place) shellOfKept() string {
	path := p.path
	if p.kept.exists {
		path = p.backup
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, _ := os.ReadFile(path) // an unreadable hook needs no shell of ours
	return shellFor(data)
}

func (p place) classify() State {
	if !p.hook.exists {
		return Absent
	}
	switch originOf(p.hook.data) {
	case theirs:
		return Foreign
	case edited:
		return Edited
	}
	switch {
	case p.hook.mode&0o111 == 0 || !current(p.name, p.shell, p.hook.data):
		return Outdated
	case p.kept.exists:
		return Chained
	}
	return Ours
}

func (p place) result(after State) Result {
	r := Result{Name: p.name, Path: p.path, Before: p.state, After: after}
	if p.state == Foreign && slices.Contains(p.asides, p.path+runSuffix) {
		r.Before = Moved
	}
	if p.kept.exists {
		r.Backup = p.backup
	}
	return r
}

// admit refuses a hook Install must not touch.
func (p place) admit() error {
	if p.state != Foreign {
		return nil
	}
	if name := generator(p.hook.data); name != "" {
		return fault.New(fault.Other, fault.HookManager, "hook %q was written by %s, which would overwrite ours", p.path, name).
			WithHints(fault.Fact("the configuration of %s must call githandoff hook run %s", name, p.name))
	}
	if p.kept.exists && !p.kept.equal(p.hook) {
		return fault.New(fault.Other, fault.HookBackupExists, "cannot back up hook %q: %q already exists", p.path, p.backup).
			WithHints(fault.Run("diff", p.backup, p.path).Because("compares the two; remove the one you do not need"))
	}
	return nil
}

func (p place) install(exe string) (Result, error) {
	if p.state == Edited {
		return p.result(Edited), nil
	}
	if p.state == Foreign && !p.kept.exists {
		if err := store(p.backup, p.hook); err != nil {
			return Result{}, err
		}
		p.kept = p.hook
	}
	ours := file{exists: true, mode: scriptMode, data: render(p.name, exe, p.shell)}
	if !ours.equal(p.hook) {
		if err := store(p.path, ours); err != nil {
			return Result{}, err
		}
	}
	if p.kept.exists {
		return p.result(Chained), nil
	}
	return p.result(Ours), nil
}

func (p *place) uninstall() (Result, error) {
	err := p.uninstallAside()
	after := Absent
	switch {
	case err != nil:
	case p.state == Foreign && p.kept.exists && p.kept.equal(p.hook):
		// An installation was killed between its two steps.
		after, p.kept, err = Foreign, file{}, os.Remove(p.backup)
	case p.state == Foreign || p.state == Edited:
		after = p.state
	case p.kept.exists:
		after, p.kept, err = Foreign, file{}, os.Rename(p.backup, p.path)
	case p.hook.exists:
		err = os.Remove(p.path)
	}
	if err != nil {
		return Result{}, fmt.Errorf("remove hook: %w", err)
	}
	return p.result(after), nil
}

// uninstallAside removes our script from the places to which hook managers moved it. The hook that
// it ran takes its place.
func (p *place) uninstallAside() error {
	for _, aside := range p.asides {
		var err error
		if p.state == Foreign && p.kept.exists && !p.kept.equal(p.hook) {
			p.kept, err = file{}, os.Rename(p.backup, aside)
		} else {
			err = os.Remove(aside)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
