package crossrepo

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// probe asks the hub that is a repository's origin.
func probe(t *testing.T, clone *gittest.Repo) (*Probe, error) {
	t.Helper()
	repo := enginetest.Open(t, clone)
	alias, pinned, err := Aliases{Repo: repo}.Look("origin")
	require.NoError(t, err)
	assert.False(t, pinned)
	return NewHub(alias, repo, nil).Probe(t.Context(), time.Now(), rand.Reader)
}

func TestProbe(t *testing.T) {
	for _, tr := range gittest.Transports() {
		t.Run(tr.Name, func(t *testing.T) {
			t.Parallel()
			env, root := gittest.Env(t), t.TempDir()
			hub := gittest.NewBareAt(t, env, filepath.Join(root, "hub.git"))
			base, env := tr.Serve(t, env, root)
			clone := gittest.Clone(t, env, base+"/hub.git")
			before := clone.Git(t, "config", "--list", "--local")

			p, err := probe(t, clone)
			require.NoError(t, err)
			assert.Equal(t, &Probe{}, p)
			assert.Empty(t, hub.Git(t, "for-each-ref"), "a probe changes nothing there")
			assert.Empty(t, hub.Git(t, "cat-file", "--batch-all-objects", "--batch-check"))
			assert.Empty(t, clone.Git(t, "for-each-ref"), "nor here")
			assert.Equal(t, before, clone.Git(t, "config", "--list", "--local"))

			clone.Commit(t, "a.txt", "one\n", "first")
			clone.Git(t, "push", "--quiet", "origin", "HEAD:refs/handoffs/log/aa")
			p, err = probe(t, clone)
			require.NoError(t, err)
			assert.Equal(t, &Probe{Holds: 1, Here: true}, p)

			hub.Git(t, "config", "receive.advertiseAtomic", "false")
			p, err = probe(t, clone)
			require.NoError(t, err)
			assert.True(t, fault.Is(p.Refused, "no_atomic_push"), "%v", p.Refused)

			require.NoError(t, os.Rename(hub.Dir, hub.Dir+".gone"))
			_, err = probe(t, clone)
			assert.True(t, fault.Is(err, "remote_unavailable"), "%v", err)
		})
	}
}

func TestProbe_readOnly(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewBare(t, env)
	base := gittest.HTTP(t, filepath.Dir(hub.Dir), gittest.HTTPOptions{ReadOnly: true})
	p, err := probe(t, gittest.Clone(t, env, base+"/repo.git"))
	require.NoError(t, err)
	assert.True(t, fault.Is(p.Refused, "read_only"), "%v", p.Refused)
}

// A trial at a server that takes no pushes names the setting of that server.
func TestTry_readOnly(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewBare(t, env)
	base := gittest.HTTP(t, filepath.Dir(hub.Dir), gittest.HTTPOptions{ReadOnly: true})
	repo := enginetest.Open(t, gittest.Clone(t, env, base+"/repo.git"))
	alias, _, err := Aliases{Repo: repo}.Look("origin")
	require.NoError(t, err)
	trial, err := Try(t.Context(), NewHub(alias, repo, nil), time.Now(), rand.Reader)
	require.NoError(t, err)
	refused := fault.As(trial.Refused)
	require.NotNil(t, refused)
	assert.Contains(t, refused.Message, "403")
	require.Len(t, refused.Hints, 1)
	assert.Contains(t, refused.Hints[0].Why, "http.receivepack")
}

// A dry run into a directory never tries to write there.
func TestProbe_readOnlyPath(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write anywhere")
	}
	env := gittest.Env(t)
	hub := gittest.NewBare(t, env)
	dir := filepath.Join(hub.Dir, "refs")
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { assert.NoError(t, os.Chmod(dir, 0o755)) })
	p, err := probe(t, gittest.Clone(t, env, hub.Dir))
	require.NoError(t, err)
	assert.True(t, fault.Is(p.Refused, "read_only"), "%v", p.Refused)
}

// A web server that only shows the files of a repository takes no pushes.
func TestTry_plainFiles(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewBare(t, env)
	seed := gittest.Clone(t, env, hub.Dir)
	seed.Commit(t, "a.txt", "one\n", "first")
	seed.Git(t, "push", "--quiet", "origin", "HEAD")
	hub.Git(t, "update-server-info")
	server := httptest.NewServer(http.FileServer(http.Dir(hub.Dir)))
	t.Cleanup(server.Close)
	repo := enginetest.Open(t, gittest.Clone(t, env, server.URL+"/"))
	alias, _, err := Aliases{Repo: repo}.Look("origin")
	require.NoError(t, err)
	trial, err := Try(t.Context(), NewHub(alias, repo, nil), time.Now(), rand.Reader)
	require.NoError(t, err)
	refused := fault.As(trial.Refused)
	require.NotNil(t, refused)
	require.Len(t, refused.Hints, 1)
	assert.Contains(t, refused.Hints[0].Why, "git http-backend")
}
