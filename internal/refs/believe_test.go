package refs

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// embed puts a bare repository into a work tree, as a clone could bring it.
func embed(t *testing.T, env []string, config ...string) (outer, inner *gittest.Repo) {
	t.Helper()
	outer = gittest.NewRepo(t, env)
	outer.Commit(t, "a", "x", "first")
	inner = gittest.NewBareAt(t, env, filepath.Join(outer.Dir, "vendor/evil"))
	for i := 0; i+1 < len(config); i += 2 {
		inner.Git(t, "config", "-f", "config", config[i], config[i+1])
	}
	return outer, inner
}

// A bare repository inside a work tree is not used, whatever its configuration is and whichever of its
// directories is the current one. Whoever committed it chooses the programs that git runs there.
func TestOpenEmbedded(t *testing.T) {
	env := gittest.Env(t)
	write := func(t *testing.T, path, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	for name, tc := range map[string]struct {
		config []string
		make   func(t *testing.T, inner string) (stand string)
	}{
		"bare":                   {},
		"says it is not bare":    {config: []string{"core.bare", "false"}},
		"with a work tree":       {config: []string{"core.bare", "false", "core.worktree", ".."}},
		"with the outer as tree": {config: []string{"core.bare", "false", "core.worktree", "../.."}},
		"by an included file": {config: []string{"include.path", "more"}, make: func(t *testing.T, inner string) string {
			write(t, filepath.Join(inner, "more"), "[core]\n\tbare = false\n\tworktree = ..\n")
			return inner
		}},
		"by config.worktree": {
			config: []string{"core.repositoryFormatVersion", "1", "extensions.worktreeConfig", "true"},
			make: func(t *testing.T, inner string) string {
				write(t, filepath.Join(inner, "config.worktree"), "[core]\n\tbare = false\n")
				return inner
			},
		},
		"from objects": {config: []string{"core.bare", "false"}, make: func(_ *testing.T, inner string) string {
			return filepath.Join(inner, "objects")
		}},
		"from refs/heads": {make: func(_ *testing.T, inner string) string { return filepath.Join(inner, "refs/heads") }},
		"through a link": {config: []string{"core.bare", "false"}, make: func(t *testing.T, inner string) string {
			link := filepath.Join(inner, "../../link")
			require.NoError(t, os.Symlink("vendor/evil/refs", link))
			return link
		}},
		"in another one": {make: func(t *testing.T, inner string) string {
			return gittest.NewBareAt(t, env, filepath.Join(inner, "more/evil")).Dir
		}},
		"with its files elsewhere": {make: func(t *testing.T, inner string) string {
			head := filepath.Join(inner, "../head")
			require.NoError(t, os.Mkdir(head, 0o755))
			write(t, filepath.Join(head, "HEAD"), "ref: refs/heads/main\n")
			write(t, filepath.Join(head, "commondir"), "../evil\n")
			return head
		}},
	} {
		t.Run(name, func(t *testing.T) {
			outer, inner := embed(t, env, tc.config...)
			stand := inner.Dir
			if tc.make != nil {
				stand = tc.make(t, inner.Dir)
			}
			run := &gitexec.Runner{Dir: stand, Env: gitexec.Environ(env)}
			_, err := Open(t.Context(), run)
			require.Error(t, err)
			assert.True(t, fault.Is(err, "not_a_repository"), err)
			assert.Equal(t, fault.Usage, fault.CodeOf(err))
			assert.Equal(t, []string{"githandoff", "-C", outer.Dir, "status"}, fault.As(err).Hints[0].Run)
			assert.EqualValues(t, 2, run.Started(), "config, rev-parse")
		})
	}
}

// The user may name such a repository with GIT_DIR, as git allows.
func TestOpenEmbeddedByGitDir(t *testing.T) {
	env := gittest.Env(t)
	outer, inner := embed(t, env)
	r, err := tryOpen(t, &gittest.Repo{Dir: outer.Dir, Env: append(env, "GIT_DIR="+inner.Dir)})
	require.NoError(t, err)
	assert.Equal(t, inner.Dir, r.GitDir)
}

// A bare repository of the user's own is used, and so is the inside of the user's .git.
func TestOpenNotEmbedded(t *testing.T) {
	env := gittest.Env(t)
	bare := gittest.NewBare(t, env)
	r, err := tryOpen(t, &gittest.Repo{Dir: filepath.Join(bare.Dir, "refs"), Env: env})
	require.NoError(t, err)
	assert.Equal(t, bare.Dir, r.GitDir)

	outer, inner := embed(t, env)
	outer.Git(t, "worktree", "add", "--quiet", "--detach", filepath.Join(outer.Dir, "vendor/evil/tree"))
	for _, dir := range []string{outer.Dir, filepath.Dir(inner.Dir), filepath.Join(outer.Dir, ".git/refs"), filepath.Join(inner.Dir, "tree")} {
		r, err := tryOpen(t, &gittest.Repo{Dir: dir, Env: env})
		require.NoError(t, err, dir)
		assert.Equal(t, filepath.Join(outer.Dir, ".git"), r.CommonDir)
	}
}

// git refuses the repository of another user, bare or with a work tree, also in a directory below its top. Its
// configuration names programs that would run as this user.
func TestOpenForeign(t *testing.T) {
	gittest.NeedRoot(t)
	for _, bare := range []bool{false, true} {
		env := gittest.Env(t)
		repo := gittest.NewRepo(t, env)
		if bare {
			repo = gittest.NewBare(t, env)
		}
		dirs := []string{repo.Dir, filepath.Join(repo.Dir, repo.Git(t, "rev-parse", "--git-dir"), "refs")}
		giveAway(t, repo.Dir)
		refusal := "belongs to another user"
		look := exec.Command("git", "rev-parse")
		look.Dir, look.Env = repo.Dir, env
		if look.Run() != nil { // git looks at owners, also the 2.34 of a distribution with the fixes of later ones
			refusal = "dubious ownership"
		}
		for _, dir := range dirs {
			_, err := tryOpen(t, &gittest.Repo{Dir: dir, Env: env})
			require.Error(t, err)
			assert.True(t, fault.Is(err, "not_a_repository"), err)
			assert.ErrorContains(t, err, refusal)
			assert.NotContains(t, err.Error(), "\n")
		}
		_, err := tryOpen(t, repo)
		cure := fault.As(err).Hints[0].Run
		require.Equal(t, []string{"git", "config", "--global", "--add", "safe.directory", repo.Dir}, cure)
		cmd := exec.Command(cure[0], cure[1:]...)
		cmd.Env = env
		require.NoError(t, cmd.Run())
		_, err = tryOpen(t, repo)
		assert.NoError(t, err, "the hint mends it")
	}
}

func giveAway(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Lchown(path, 12345, 12345)
	}))
}

// olderGit puts a git into PATH that does not check owners and reports version 2.35. It is the installed git
// with its check switched off.
func olderGit(t *testing.T) {
	t.Helper()
	all := filepath.Join(t.TempDir(), "all")
	require.NoError(t, os.WriteFile(all, []byte("[safe]\n\tdirectory = *\n"), 0o600))
	gittest.WrapGit(t, `case " $* " in
*' version '*) echo git version 2.35.1; exit ;;
*' safe.directory '*) [ -d .git ] && export GIT_DIR=.git ;;
*) unset GIT_CONFIG_NOSYSTEM; GIT_CONFIG_SYSTEM=`+all+` exec "$git" -c 'safe.directory=*' "$@" ;;
esac`)
}

// If git is too old to check owners, githandoff does.
func TestOpenForeignWithAnOlderGit(t *testing.T) {
	gittest.NeedRoot(t)
	mine, foreign := gittest.NewRepo(t, gittest.Env(t)), gittest.NewRepo(t, gittest.Env(t))
	giveAway(t, foreign.Dir)
	olderGit(t)
	_, err := tryOpen(t, mine)
	require.NoError(t, err)
	_, err = tryOpen(t, foreign)
	require.Error(t, err)
	assert.ErrorContains(t, err, foreign.Dir+" belongs to another user")
	cure := fault.As(err).Hints[0].Run
	assert.Equal(t, "safe.directory", cure[4])

	for _, step := range []struct {
		value string
		opens bool
	}{{"/elsewhere", false}, {foreign.Dir, true}, {"", false}, {"*", true}} {
		foreign.Git(t, "config", "--global", "--add", "safe.directory", step.value)
		_, err = tryOpen(t, foreign)
		assert.Equal(t, step.opens, err == nil, "after %q: %v", step.value, err)
	}
	t.Setenv("SUDO_UID", "12345")
	require.NoError(t, os.Remove(gittest.Getenv(foreign.Env, "GIT_CONFIG_GLOBAL")))
	_, err = tryOpen(t, foreign)
	assert.NoError(t, err, "of whoever called sudo")
}

// A safe.directory in the repository's own configuration is ignored.
func TestOpenForeignSaysItIsSafe(t *testing.T) {
	gittest.NeedRoot(t)
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Git(t, "config", "safe.directory", "*")
	giveAway(t, repo.Dir)
	_, err := tryOpen(t, repo)
	require.Error(t, err)
	olderGit(t)
	_, err = tryOpen(t, repo)
	require.Error(t, err)
}

// A path may contain any character. Such a path is still read right from git's output.
func TestOpenOddPaths(t *testing.T) {
	env := gittest.Env(t)
	for _, name := range []string{"a\nb", "a\n/b", "\nsha1", "a\tb", "a b", `a"b\`, "ü"} {
		dir := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		repo := &gittest.Repo{Dir: dir, Env: env}
		repo.Git(t, "init", "--quiet")
		head := repo.Commit(t, "a", "x", "first")
		r, err := tryOpen(t, repo)
		require.NoError(t, err, "%q", name)
		assert.Equal(t, filepath.Join(dir, ".git"), r.GitDir)
		assert.Equal(t, filepath.Join(dir, ".git"), r.CommonDir)
		assert.Equal(t, filepath.Join(dir, ".git/objects"), r.Objects)
		assert.Equal(t, dir, r.Worktree)
		assert.Equal(t, head, r.Head)
		assert.Equal(t, "main", r.Branch)

		bare := &gittest.Repo{Dir: filepath.Join(t.TempDir(), name), Env: env}
		require.NoError(t, os.MkdirAll(bare.Dir, 0o755))
		bare.Git(t, "init", "--quiet", "--bare")
		r, err = tryOpen(t, bare)
		require.NoError(t, err, "%q", name)
		assert.Equal(t, bare.Dir, r.GitDir)
		assert.True(t, r.Bare)
		assert.Empty(t, r.Worktree)
		assert.Empty(t, r.Head)
	}
}

// git 2.30 refuses --config-env. Its rev-parse prints an option that it does not know, and answers the other
// ones.
func TestOpenWithAGitThatIsTooOld(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	gittest.WrapGit(t, `case "$*" in
*--config-env=*) echo 'unknown option: --config-env' >&2; exit 129 ;;
*--path-format=absolute*)
	echo --path-format=absolute
	exec "$git" rev-parse --git-dir --git-common-dir --git-path objects --show-object-format --is-bare-repository ;;
esac`)
	_, err := tryOpen(t, repo)
	require.True(t, fault.Is(err, "git_too_old"), err)
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
	assert.ErrorContains(t, err, OldestGit)
}

// If the git that is asked where the repository is, or where HEAD is, does not answer all questions, the repository
// is not one without HEAD.
func TestOpenWhereGitIsCutOff(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "a\nb")
	require.NoError(t, os.Mkdir(odd, 0o755))
	byLines := &gittest.Repo{Dir: odd, Env: gittest.Env(t)}
	byLines.Git(t, "init", "--quiet")
	byLines.Commit(t, "a", "x", "first")
	plain := gittest.NewRepo(t, gittest.Env(t))
	plain.Commit(t, "a", "x", "first")
	for _, repo := range []*gittest.Repo{plain, byLines} {
		repo.Env = append(repo.Env, "GIT_OBJECT_DIRECTORY="+filepath.Join(repo.Dir, ".git/objects")) // so git is asked
	}
	for name, tc := range map[string]struct {
		repo   *gittest.Repo
		script string
	}{
		"cut off": {plain, `*' --git-dir '*) "$git" "$@" | sed '/^[0-9a-f]*$/,$d'; printf 0123; exit ;;`},
		"killed":  {plain, `*' --git-dir '*) "$git" "$@" | sed '/^[0-9a-f]*$/,$d'; kill -9 $$ ;;`},
		"HEAD":    {byLines, `*' rev-parse HEAD '*) kill -9 $$ ;;`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryOpen(t, tc.repo)
			require.NoError(t, err)
			gittest.WrapGit(t, "case \" $* \" in\n"+tc.script+"\nesac")
			_, err = tryOpen(t, tc.repo)
			require.True(t, fault.Is(err, fault.GitFailed), "%v", err)
			assert.Equal(t, fault.Unavailable, fault.CodeOf(err))
		})
	}
}

// git 2.33.0 confirms the steps of a transaction only when its input ends. githandoff reports the old version
// and does not wait.
func TestApplyWithAGitThatIsTooOld(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	gittest.WrapGit(t, `case "$*" in
*update-ref*) said=$("$git" "$@"); echo "$said"; exit ;;
*version) echo git version 2.33.0; exit ;;
esac`)
	r := open(t, repo)
	err := r.Apply(t.Context(), Transaction{Edits: []Edit{{Ref: "refs/handoffs/inbox/fixer/x", New: repo.Commit(t, "a", "a", "a")}}})
	require.True(t, fault.Is(err, fault.GitTooOld), "%v", err)
	assert.Empty(t, repo.Git(t, "for-each-ref", "refs/handoffs"))
}

// githandoff does not set GIT_DIR by itself: that would switch off git's checks.
func TestOpenSetsNoGitDir(t *testing.T) {
	bare := gittest.NewBare(t, gittest.Env(t))
	run := &gitexec.Runner{Dir: bare.Dir, Env: gitexec.Environ(bare.Env)}
	r, err := Open(context.Background(), run)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	_, set := gitexec.Lookup(run.Env, "GIT_DIR")
	assert.False(t, set)
}

// githandoff uses its state in a repository only if no other user could have written it: this user's key signs
// the steps in it.
func TestOpenWhatOthersCouldHaveWritten(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, own string){
		"the directory is open": func(t *testing.T, own string) { require.NoError(t, os.Chmod(own, 0o757)) },
		"claims are open":       func(t *testing.T, own string) { require.NoError(t, os.Chmod(own+"/claims", 0o777)) },
		"the directory is a link": func(t *testing.T, own string) {
			require.NoError(t, os.Rename(own, own+"2"))
			require.NoError(t, os.Symlink(own+"2", own))
		},
		"the journal is a link": func(t *testing.T, own string) { require.NoError(t, os.Symlink(t.TempDir(), own+"/journal")) },
		"of another user":       func(t *testing.T, own string) { gittest.NeedRoot(t); require.NoError(t, os.Chown(own, 12345, 12345)) },
		"intents are another's": func(t *testing.T, own string) {
			gittest.NeedRoot(t)
			require.NoError(t, os.Chown(own+"/claims", 12345, 12345))
		},
		"it is no directory": func(t *testing.T, own string) {
			require.NoError(t, os.RemoveAll(own))
			require.NoError(t, os.WriteFile(own, nil, 0o600))
		},
		"that of a linked worktree": func(t *testing.T, own string) {
			require.NoError(t, os.MkdirAll(filepath.Join(own, "../worktrees/linked/githandoff/claims"), 0o700))
			require.NoError(t, os.Chmod(filepath.Join(own, "../worktrees/linked/githandoff/claims"), 0o722))
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := gittest.NewRepo(t, gittest.Env(t))
			repo.Commit(t, "a", "x", "first")
			linked := &gittest.Repo{Dir: filepath.Join(t.TempDir(), "linked"), Env: repo.Env}
			repo.Git(t, "worktree", "add", "--quiet", "--detach", linked.Dir)
			own := filepath.Join(repo.Dir, ".git/githandoff")
			require.NoError(t, os.MkdirAll(own+"/claims/ended", 0o700))
			_, err := tryOpen(t, linked)
			require.NoError(t, err)
			spoil(t, own)
			_, err = tryOpen(t, linked)
			require.Error(t, err)
			assert.True(t, fault.Is(err, "unsafe_file"), err)
			assert.Equal(t, fault.Denied, fault.CodeOf(err))
		})
	}
}

// At a hub the pushers use the trust list and the state of the repository's owner.
func TestOpenStateOfTheOwner(t *testing.T) {
	gittest.NeedRoot(t)
	repo := gittest.NewBare(t, gittest.Env(t))
	require.NoError(t, os.Mkdir(filepath.Join(repo.Dir, "githandoff"), 0o750))
	giveAway(t, repo.Dir)
	repo.Git(t, "config", "--global", "safe.directory", repo.Dir)
	_, err := tryOpen(t, repo)
	assert.NoError(t, err)
}
