package crossrepo

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// probe probes the hub that is a repository's origin.
func probe(t *testing.T, clone *gittest.Repo) (*Probe, error) {
	t.Helper()
	repo := enginetest.Open(t, clone)
	alias, pinned, err := Aliases{Repo: repo}.Resolve("origin")
	require.NoError(t, err)
	assert.False(t, pinned)
	return NewHub(alias, repo, nil).Probe(t.Context(), rand.Reader)
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
	assert.Contains(t, fault.As(p.Refused).Advice(), "http.receivepack")
}

// A server lets anybody read and asks for an account at a push. The hint says whether git has no account for it
// or a wrong one.
func TestPushNeedsAnAccount(t *testing.T) {
	for _, c := range []struct {
		name, user, hint string
	}{
		{"none", "", "git has no password or token"},
		{"wrong", "ann", "refuses the password or token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := gittest.Env(t)
			hub := gittest.NewBare(t, env)
			behind, err := url.Parse(gittest.HTTP(t, filepath.Dir(hub.Dir), gittest.HTTPOptions{}))
			require.NoError(t, err)
			git := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: behind.Scheme, Host: behind.Host})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.String(), "git-receive-pack") {
					w.Header().Set("WWW-Authenticate", `Basic realm="hub"`)
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				git.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			if c.user != "" {
				gittest.UseCredentials(t, env, c.user, "wrong")
			}
			clone := gittest.Clone(t, env, server.URL+behind.Path+"/repo.git")
			p, err := probe(t, clone)
			require.NoError(t, err)
			assert.True(t, fault.Is(p.Refused, fault.ReadOnly), "%v", p.Refused)
			assert.Contains(t, fault.As(p.Refused).Advice(), c.hint)

			repo := enginetest.Open(t, clone)
			alias, _, err := Aliases{Repo: repo}.Resolve("origin")
			require.NoError(t, err)
			trial, err := Try(t.Context(), NewHub(alias, repo, nil), rand.Reader)
			require.NoError(t, err)
			assert.Contains(t, fault.As(trial.Refused).Advice(), c.hint)
		})
	}
}

// A server asks for an account to read. The hint says so, for another git command would only print the same
// error.
func TestReadingNeedsAnAccount(t *testing.T) {
	env := gittest.Env(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="hub"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	clone := gittest.Clone(t, env, gittest.NewBare(t, env).Dir)
	clone.Git(t, "remote", "set-url", "origin", server.URL+"/repo.git")
	for _, hint := range []string{"git has no password or token", "refuses the password or token"} {
		_, err := probe(t, clone)
		assert.True(t, fault.Is(err, fault.RemoteUnavailable), "%v", err)
		assert.Contains(t, fault.As(err).Advice(), hint)
		gittest.UseCredentials(t, env, "ann", "wrong")
	}
}

// A server gives the same answer for a repository that may not be read and for one that does not exist. The hint
// names both, for another git command would only print the same error.
func TestReadingFindsNoRepository(t *testing.T) {
	env := gittest.Env(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Repository not found", http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	clone := gittest.Clone(t, env, gittest.NewBare(t, env).Dir)
	clone.Git(t, "remote", "set-url", "origin", server.URL+"/repo.git")
	_, err := probe(t, clone)
	assert.True(t, fault.Is(err, fault.RemoteUnavailable), "%v", err)
	assert.Contains(t, fault.As(err).Advice(), "gone, and of one that this account may not read")
	assert.Contains(t, fault.As(err).Advice(), "repo add --help")
}

// The messages of servers about read-only accounts and keys, and about size limits, lead to hints that name what
// to change.
func TestKnownSetting(t *testing.T) {
	h := &remote{Alias: &Alias{Name: "origin"}}
	for said, hint := range map[string]string{
		"ERROR: The key you are authenticating with has been marked as read only.":                 "the deploy key for origin may only read",
		"This deploy key does not have write access to this project.":                              "the deploy key for origin may only read",
		"remote: Permission to a/b.git denied to ann. The requested URL returned error: 403":       "account or token",
		"Gogs: You do not have sufficient authorization for this action":                           "Gogs: who pushes to origin needs write access",
		"Gogs: Key permission denied":                                                              "Gogs: a deploy key for origin may only read",
		"Error: you are not authorized to do this":                                                 "soft-serve: who pushes to origin needs the access read-write",
		"remote: This repo is archived. You can view files; The requested URL returned error: 403": "origin is archived",
		"error: Repo: a/b is archived.":                                                            "origin is archived",
		"ERROR: This repository was archived so it is read-only.":                                  "origin is archived",
		"remote: mirror repository is read-only; The requested URL returned error: 403":            "origin is a copy that its server keeps of another repository",
		"error: Mirror Repository a/b is read-only":                                                "origin is a copy that its server keeps of another repository",
		"error: Not allowed to push to protected branch handoffs/log/00":                           "a protection of branches at origin",
		"error: branch handoffs/inbox/fixer/x is protected from deletion":                          "a protection of branches at origin",
		"error: Deploy Key: 6:ro is not authorized to write to a/b.":                               "the deploy key for origin may only read",
		"error: User: 5:eve with Key: 5:eve is not authorized to write to a/b.":                    "Gitea: the account of the ssh key",
		"git@example.com: Permission denied (publickey).":                                          "ssh has no key that origin knows",
		"in 'preparing' phase, update aborted by the reference-transaction hook":                   "a hook reference-transaction at origin",
		"RPC failed; HTTP 413 curl 22":                                                             "server.max-request-size of lighttpd",
		"unpacker error; fatal: bad numeric config value 'x' for 'pack.windowmemory'":              "git does not take the value",
		"(push declined); GH013: a rule is violated: bad config file":                              "GitHub: a ruleset of origin",
		"(pre-receive hook declined); error: invalid value for 'title'":                            "other",
	} {
		assert.Contains(t, h.Alias.settingOr(said, fault.Fact("other")).Why, hint, said)
	}
}

// A trial push to a server that takes no pushes names the setting of that server.
func TestTry_readOnly(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewBare(t, env)
	base := gittest.HTTP(t, filepath.Dir(hub.Dir), gittest.HTTPOptions{ReadOnly: true})
	repo := enginetest.Open(t, gittest.Clone(t, env, base+"/repo.git"))
	alias, _, err := Aliases{Repo: repo}.Resolve("origin")
	require.NoError(t, err)
	trial, err := Try(t.Context(), NewHub(alias, repo, nil), rand.Reader)
	require.NoError(t, err)
	refused := fault.As(trial.Refused)
	require.NotNil(t, refused)
	assert.Contains(t, refused.Message, "403")
	require.Len(t, refused.Hints, 1)
	assert.Contains(t, refused.Hints[0].Why, "http.receivepack")
}

// The probe of a directory does not try to write there.
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
	alias, _, err := Aliases{Repo: repo}.Resolve("origin")
	require.NoError(t, err)
	trial, err := Try(t.Context(), NewHub(alias, repo, nil), rand.Reader)
	require.NoError(t, err)
	refused := fault.As(trial.Refused)
	require.NotNil(t, refused)
	require.Len(t, refused.Hints, 1)
	assert.Contains(t, refused.Hints[0].Why, "git http-backend")
}
