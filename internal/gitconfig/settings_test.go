package gitconfig_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitconfig"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/refs"
)

func open(t *testing.T, git *gittest.Repo) *refs.Repo {
	t.Helper()
	repo, err := refs.Open(t.Context(), &gitexec.Runner{Dir: git.Dir, Env: gitexec.Environ(git.Env)})
	require.NoError(t, err)
	return repo
}

// A setting that was written is read by git, and is updated in the open repository.
func TestSettings(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	repo := open(t, git)
	s := gitconfig.Of(repo)
	check := func(values ...string) {
		t.Helper()
		read := open(t, git)
		const key = "handoffrepo.Team.alsoid"
		assert.Equal(t, values, read.Config[key])
		assert.Equal(t, read.Config[key], repo.Config[key])
	}
	require.NoError(t, s.Set(t.Context(), "handoffRepo.Team.alsoID", "one"))
	check("one")
	require.NoError(t, s.Add(t.Context(), "handoffrepo.Team.alsoid", "two"))
	check("one", "two")
	require.NoError(t, s.Set(t.Context(), "handoffrepo.Team.alsoid", "three"))
	check("three")
	require.NoError(t, s.Set(t.Context(), "handoffrepo.Team.alsoid", "one"))
	require.NoError(t, s.Add(t.Context(), "handoffrepo.Team.alsoid", "two"))
	require.NoError(t, s.Drop(t.Context(), "handoffrepo.Team.alsoid", "one"))
	require.NoError(t, s.Drop(t.Context(), "handoffrepo.Team.alsoid", "none"), "it is not set")
	check("two")
	require.NoError(t, s.Unset(t.Context(), "handoffrepo.Team.alsoid"))
	require.NoError(t, s.Unset(t.Context(), "handoffrepo.Team.alsoid"), "it is not set any more")
	read := open(t, git)
	assert.Empty(t, read.Config.Subsections("handoffrepo", "alsoid"))
	assert.NotContains(t, repo.Config, "handoffrepo.Team.alsoid")

	require.NoError(t, s.Set(t.Context(), "handoffrepo.Team.url", "one"))
	require.NoError(t, s.Set(t.Context(), "handoffrepo.Team.id", "two"))
	require.NoError(t, s.Set(t.Context(), "handoffrepo.Team.East.url", "three"))
	require.NoError(t, s.RemoveSection(t.Context(), "handoffrepo.Team"))
	assert.Equal(t, open(t, git).Config, repo.Config)
	assert.Contains(t, repo.Config, "handoffrepo.Team.East.url")
}

// A write waits for a lock. A lock that stays, or a directory that is not writable, is refused with a hint that
// repairs it.
func TestUnwritableSettings(t *testing.T) {
	git := gittest.NewRepo(t, gittest.Env(t))
	repo := open(t, git)
	s, lock := gitconfig.Of(repo), filepath.Join(repo.CommonDir, "config.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	time.AfterFunc(50*time.Millisecond, func() { _ = os.Remove(lock) })
	require.NoError(t, s.Set(t.Context(), "handoff.agent", "fixer"))

	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	err := s.Set(t.Context(), "handoff.agent", "other")
	assert.True(t, fault.Is(err, fault.ConfigUnwritable), "%v", err)
	assert.Contains(t, fault.As(err).Advice(), "githandoff doctor --fix")
	assert.Equal(t, "fixer", repo.Config.Get("handoff.agent"))
	require.NoError(t, os.Remove(lock))

	if os.Geteuid() == 0 {
		t.Log("root may write everywhere: read-only directories were not tried")
		return
	}
	require.NoError(t, os.Chmod(repo.CommonDir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(repo.CommonDir, 0o700) })
	err = s.Unset(t.Context(), "handoff.agent")
	assert.True(t, fault.Is(err, fault.ConfigUnwritable), "%v", err)
	assert.Contains(t, fault.As(err).Advice(), "ls -ld")
}
