package hooks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/fault"
)

func allNames() []string { return append(Names(), ServerNames()...) }

func states(t *testing.T, dir string, names ...string) []State {
	t.Helper()
	results, err := Status(dir, names)
	require.NoError(t, err)
	var found []State
	for _, r := range results {
		found = append(found, r.After)
	}
	return found
}

func TestInstall_uninstall(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hooks")
	require.NoError(t, os.Mkdir(dir, 0o755))
	write(t, filepath.Join(dir, "post-commit"), "#!/bin/sh\nexit 0\n", 0o750)
	write(t, filepath.Join(dir, "pre-push"), "not executable, no line feed \x00\xff", 0o644)
	require.NoError(t, os.Symlink("../shared/hook", filepath.Join(dir, "post-merge")))
	write(t, filepath.Join(dir, "pre-commit"), "#!/bin/sh\n", 0o755)
	before := snapshot(t, dir)

	names := []string{"post-commit", "pre-push", "post-merge", "post-rewrite"}
	assert.Equal(t, []State{Foreign, Foreign, Foreign, Absent}, states(t, dir, names...))

	results, err := Install(dir, names, "/usr/bin/githandoff")
	require.NoError(t, err)
	assert.Equal(t, []Result{
		{"post-commit", filepath.Join(dir, "post-commit"), Foreign, Chained, filepath.Join(dir, "post-commit.before-githandoff")},
		{"pre-push", filepath.Join(dir, "pre-push"), Foreign, Chained, filepath.Join(dir, "pre-push.before-githandoff")},
		{"post-merge", filepath.Join(dir, "post-merge"), Foreign, Chained, filepath.Join(dir, "post-merge.before-githandoff")},
		{"post-rewrite", filepath.Join(dir, "post-rewrite"), Absent, Ours, ""},
	}, results)
	installed := snapshot(t, dir)
	for _, name := range names[:3] {
		assert.Equal(t, before[name], installed[name+backupSuffix], name)
	}
	assert.Len(t, installed, 4+3+1)

	again, err := Install(dir, names, "/usr/bin/githandoff")
	require.NoError(t, err)
	for _, r := range again {
		assert.Equal(t, r.Before, r.After)
	}
	assert.Equal(t, installed, snapshot(t, dir))

	results, err = Uninstall(dir, names)
	require.NoError(t, err)
	assert.Equal(t, before, snapshot(t, dir))
	assert.Equal(t, Result{"post-commit", filepath.Join(dir, "post-commit"), Chained, Foreign, ""}, results[0])
	assert.Equal(t, Result{"post-rewrite", filepath.Join(dir, "post-rewrite"), Ours, Absent, ""}, results[3])
}

// Install and Uninstall restore the directory, whatever it contained, and however often both are repeated.
func TestInstall_restoresAnything(t *testing.T) {
	root := t.TempDir()
	names := []string{"post-commit", "pre-push"}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(root, "hooks")
		require.NoError(rt, err)
		for _, name := range names {
			path := filepath.Join(dir, name)
			switch rapid.IntRange(0, 2).Draw(rt, "kind of "+name) {
			case 1:
				require.NoError(rt, os.Symlink(rapid.StringMatching(`[a-z./]{1,9}`).Draw(rt, "link"), path))
			case 2:
				require.NoError(rt, os.WriteFile(path, rapid.SliceOf(rapid.Byte()).Draw(rt, "data"), 0o600))
				mode := os.FileMode(rapid.IntRange(0, 0o777).Draw(rt, "mode")) | 0o400
				require.NoError(rt, os.Chmod(path, mode))
			}
		}
		before := snapshot(rt, dir)
		for range rapid.IntRange(1, 3).Draw(rt, "installations") {
			exe := rapid.StringMatching(`|/[ -~]{1,9}`).Draw(rt, "exe")
			_, err := Install(dir, names, exe)
			require.NoError(rt, err)
		}
		results, err := Status(dir, names)
		require.NoError(rt, err)
		for _, r := range results {
			_, had := before[r.Name]
			assert.Equal(rt, map[bool]State{false: Ours, true: Chained}[had], r.After)
		}
		for range rapid.IntRange(1, 2).Draw(rt, "removals") {
			_, err = Uninstall(dir, names)
			require.NoError(rt, err)
		}
		assert.Equal(rt, before, snapshot(rt, dir))
	})
}

func TestInstall_editedIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "post-commit")
	_, err := Install(dir, []string{"post-commit"}, "")
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	write(t, path, string(data)+"echo mine\n", 0o755)
	before := snapshot(t, dir)

	assert.Equal(t, []State{Edited}, states(t, dir, "post-commit"))
	want := []Result{{"post-commit", path, Edited, Edited, ""}}
	for _, do := range []func() ([]Result, error){
		func() ([]Result, error) { return Install(dir, []string{"post-commit"}, "") },
		func() ([]Result, error) { return Uninstall(dir, []string{"post-commit"}) },
	} {
		results, err := do()
		require.NoError(t, err)
		assert.Equal(t, want, results)
		assert.Equal(t, before, snapshot(t, dir))
	}
}

func TestStatus_outdated(t *testing.T) {
	older := encode(version+1, []byte("githandoff='/usr/bin/githandoff'\n"))
	tests := []struct {
		name string
		data []byte
		mode os.FileMode
		want State
	}{
		{"current", render("post-commit", "/a'b", ""), 0o755, Ours},
		{"another version", older, 0o755, Outdated},
		{"of another hook", render("post-merge", "", ""), 0o755, Outdated},
		{"not executable", render("post-commit", "", ""), 0o644, Outdated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "post-commit"), string(tt.data), tt.mode)
			assert.Equal(t, []State{tt.want}, states(t, dir, "post-commit"))

			_, err := Install(dir, []string{"post-commit"}, "/new")
			require.NoError(t, err)
			assert.Equal(t, []State{Ours}, states(t, dir, "post-commit"))
			got, err := load(filepath.Join(dir, "post-commit"))
			require.NoError(t, err)
			assert.Equal(t, file{exists: true, mode: 0o755, data: render("post-commit", "/new", "")}, got)
			assert.Len(t, snapshot(t, dir), 1, "an older one of ours is no hook to keep")
		})
	}
}

// A process died between the two steps of an installation.
func TestInstall_interrupted(t *testing.T) {
	half := func(t *testing.T) string {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "pre-push"), "#!/bin/sh\n", 0o755)
		write(t, filepath.Join(dir, "pre-push.before-githandoff"), "#!/bin/sh\n", 0o755)
		write(t, filepath.Join(dir, ".githandoff-1", "pre-push"), "#!/bi", 0o600)
		return dir
	}
	want := map[string]file{"pre-push": {exists: true, mode: 0o755, data: []byte("#!/bin/sh\n")}}

	dir := half(t)
	_, err := Uninstall(dir, Names())
	require.NoError(t, err)
	assert.Equal(t, want, snapshot(t, dir))

	dir = half(t)
	_, err = Install(dir, []string{"pre-push"}, "")
	require.NoError(t, err)
	assert.Equal(t, []State{Chained}, states(t, dir, "pre-push"))
	_, err = Uninstall(dir, Names())
	require.NoError(t, err)
	assert.Equal(t, want, snapshot(t, dir))
}

func TestUninstall_hookGone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pre-push")
	write(t, path, "#!/bin/sh\n", 0o755)
	_, err := Install(dir, []string{"pre-push"}, "")
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))

	results, err := Uninstall(dir, []string{"pre-push"})
	require.NoError(t, err)
	assert.Equal(t, []Result{{"pre-push", path, Absent, Foreign, ""}}, results)
	assert.Len(t, snapshot(t, dir), 1)
}

func TestUninstall_replacedHook(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "pre-push")
	write(t, path, "#!/bin/sh\n", 0o755)
	_, err := Install(dir, []string{"pre-push"}, "")
	require.NoError(t, err)
	write(t, path, "#!/bin/sh\n: another\n", 0o755)
	before := snapshot(t, dir)

	results, err := Uninstall(dir, []string{"pre-push"})
	require.NoError(t, err)
	assert.Equal(t, []Result{{"pre-push", path, Foreign, Foreign, path + ".before-githandoff"}}, results)
	assert.Equal(t, before, snapshot(t, dir))
}

func TestUninstall_noDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	_, err := Uninstall(dir, Names())
	require.NoError(t, err)
	assert.NoDirExists(t, dir)

	_, err = Install(dir, Names(), "")
	require.NoError(t, err)
	assert.Len(t, snapshot(t, dir), len(Names()))
}

func TestInstall_refusals(t *testing.T) {
	tests := []struct {
		name, reason string
		names        []string
		exe          string
		prepare      func(dir string)
	}{
		{name: "unknown hook", reason: "unknown_hook", names: []string{"post-commit", "../config"}},
		{name: "relative program", reason: "invalid_path", names: []string{"post-commit"}, exe: "bin/githandoff"},
		{name: "program on two lines", reason: "invalid_path", names: []string{"post-commit"}, exe: "/a\nb"},
		{
			name: "directory", reason: "hook_not_a_file", names: []string{"post-commit", "pre-push"},
			prepare: func(dir string) { require.NoError(t, os.Mkdir(filepath.Join(dir, "pre-push"), 0o755)) },
		},
		{
			name: "another backup", reason: "hook_backup_exists", names: []string{"post-commit", "pre-push"},
			prepare: func(dir string) {
				write(t, filepath.Join(dir, "pre-push"), "a", 0o755)
				write(t, filepath.Join(dir, "pre-push.before-githandoff"), "b", 0o755)
			},
		},
		{
			name: "backup with another mode", reason: "hook_backup_exists", names: []string{"pre-push"},
			prepare: func(dir string) {
				write(t, filepath.Join(dir, "pre-push"), "a", 0o755)
				write(t, filepath.Join(dir, "pre-push.before-githandoff"), "a", 0o644)
			},
		},
		{
			name: "hook of a manager", reason: "hook_manager", names: []string{"post-commit", "pre-push"},
			prepare: func(dir string) {
				write(t, filepath.Join(dir, "pre-push"), "#!/bin/sh\ncall_lefthook run \"pre-push\" \"$@\"\n", 0o755)
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if tt.prepare != nil {
				tt.prepare(dir)
			}
			before, err := os.ReadDir(dir)
			require.NoError(t, err)
			_, err = Install(dir, tt.names, tt.exe)
			assert.True(t, fault.Is(err, fault.Reason(tt.reason)), "%v", err)
			after, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Equal(t, len(before), len(after), "something was written")
		})
	}
}
