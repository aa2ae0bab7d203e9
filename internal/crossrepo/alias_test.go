package crossrepo

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
)

// aliases returns the aliases of a repository after it has set some configuration, given as pairs of key and
// value.
func aliases(t *testing.T, repo *gittest.Repo, config ...string) Aliases {
	t.Helper()
	for i := 0; i < len(config); i += 2 {
		repo.Git(t, "config", "--add", config[i], config[i+1])
	}
	r := enginetest.Open(t, repo)
	return Aliases{Repo: r}
}

// An alias is pinned when it is first used, and then names that repository only.
func TestAliasIsPinned(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	as := aliases(t, repo, "remote.origin.url", "https://example.com/acme/client.git")
	a, pinned, err := as.Resolve("origin")
	require.NoError(t, err)
	assert.False(t, pinned)
	assert.Empty(t, repo.Git(t, "config", "--default", "", "handoffrepo.origin.id"), "to look changes nothing")
	assert.Equal(t, "git+https://example.com/acme/client", a.RepoID)

	_, err = as.Get(t.Context(), "origin")
	require.NoError(t, err)
	assert.Equal(t, a.RepoID, repo.Git(t, "config", "handoffrepo.origin.id"))
	_, pinned, err = as.Resolve("origin")
	require.NoError(t, err)
	assert.True(t, pinned)

	for url, same := range map[string]bool{
		"git@example.com:acme/client.git":         true, // another URL of the same repository
		"https://example.com/acme/evil.git":       false,
		"https://example.org/acme/client.git":     false,
		"https://example.com:8443/acme/client":    false,
		"ssh://git@EXAMPLE.com:22/acme/client":    true,
		"https://alice@example.com/acme/client":   true,
		"https://example.com/acme/client.git.git": false,
	} {
		repo.Git(t, "config", "remote.origin.url", url)
		got, err := aliases(t, repo).Get(t.Context(), "origin")
		if same {
			require.NoError(t, err, url)
			assert.Equal(t, a.RepoID, got.RepoID, url)
			continue
		}
		assert.True(t, fault.Is(err, "audience_mismatch"), "%s: %v", url, err)
		assert.Equal(t, fault.Denied, fault.CodeOf(err))
		assert.Contains(t, fault.As(err).Advice(), "githandoff repo add origin "+url)
	}

	// repo add confirms that the new URL is meant.
	repo.Git(t, "config", "remote.origin.url", "https://example.org/acme/client.git")
	_, err = aliases(t, repo).Add(t.Context(), "origin", "https://example.org/acme/client.git")
	require.NoError(t, err)
	got, err := aliases(t, repo).Get(t.Context(), "origin")
	require.NoError(t, err)
	assert.Equal(t, "git+https://example.org/acme/client", got.RepoID)
}

// An alias names one repository. One that fetches from one repository and pushes to another is refused.
func TestAliasWithTwoPlaces(t *testing.T) {
	for _, tc := range []struct {
		name, reason string
		config       []string
	}{
		{"plain", "", nil},
		{"a push URL to the same", "", []string{"remote.origin.pushurl", "git@example.com:acme/client.git"}},
		{"another push URL", "push_url", []string{"remote.origin.pushurl", "https://example.com/acme/other"}},
		{"two push URLs", "push_url", []string{"remote.origin.pushurl", "git@example.com:acme/client", "remote.origin.pushurl", "git@example.com:acme/client"}},
		{"two URLs", "push_url", []string{"remote.origin.url", "https://example.com/acme/other"}},
		{"pushInsteadOf to the same", "", []string{"url.git@example.com:.pushInsteadOf", "https://example.com/"}},
		{"pushInsteadOf to another", "push_url", []string{"url.https://evil.example.com/.pushInsteadOf", "https://example.com/"}},
		{"a push URL that can be none", "push_url", []string{"remote.origin.pushurl", "ext::sh -c x"}},
		{"a mirror", "mirror_remote", []string{"remote.origin.mirror", "true"}},
		{"no mirror", "", []string{"remote.origin.mirror", "false"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			repo := gittest.NewRepo(t, gittest.Env(t))
			as := aliases(t, repo, append([]string{"remote.origin.url", "https://example.com/acme/client"}, tc.config...)...)
			a, err := as.Get(t.Context(), "origin")
			if tc.reason == "" {
				require.NoError(t, err)
				assert.Equal(t, "git+https://example.com/acme/client", a.RepoID)
				assert.Equal(t, "origin", a.target, "git is given the remote's name, for all its settings")
				return
			}
			assert.True(t, fault.Is(err, fault.Reason(tc.reason)), err)
			assert.Equal(t, fault.Usage, fault.CodeOf(err))
			assert.NotEmpty(t, fault.As(err).Advice())
			assert.Empty(t, repo.Git(t, "config", "--default", "", "handoffrepo.origin.id"))
		})
	}
}

// The same holds for an alias that is no remote. git rewrites its URL too.
func TestAliasThatIsNoRemote(t *testing.T) {
	for _, tc := range []struct {
		name, url, id, reason string
		config                []string
	}{
		{"plain", "https://example.com/acme/client", "git+https://example.com/acme/client", "", nil},
		{"insteadOf", "acme:client", "git+https://example.com/acme/client", "", []string{"url.https://example.com/acme/.insteadOf", "acme:"}},
		{"pushInsteadOf", "https://example.com/acme/client", "", "push_url", []string{"url.https://evil.example.com/.pushInsteadOf", "https://example.com/"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			repo := gittest.NewRepo(t, gittest.Env(t))
			as := aliases(t, repo, append([]string{"handoffrepo.client.url", tc.url}, tc.config...)...)
			a, err := as.Get(t.Context(), "client")
			if tc.reason != "" {
				assert.True(t, fault.Is(err, fault.Reason(tc.reason)), err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.id, a.RepoID)
			assert.Equal(t, tc.url, a.target, "git applies its rewriting itself, once")
			assert.Equal(t, []string{"client"}, as.Names())
		})
	}
}

// The URL of an alias is rewritten as git rewrites it.
func TestInsteadOfIsRewrittenAsGitDoes(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	as := aliases(t, repo,
		"url.https://example.com/.insteadOf", "ex:",
		"url.https://example.com/acme/.insteadOf", "ex:a/", // the longest prefix wins
		"url.ssh://git@example.com/.pushInsteadOf", "https://example.com/",
		"remote.one.url", "ex:team/client", "remote.two.url", "ex:a/client", "remote.three.url", "https://example.com/x",
	)
	for _, name := range []string{"one", "two", "three"} {
		a, err := as.read(name)
		require.NoError(t, err, name)
		assert.Equal(t, repo.Git(t, "remote", "get-url", name), string(a.URL), name)
	}
	assert.Equal(t, "ssh://git@example.com/x", repo.Git(t, "remote", "get-url", "--push", "three"))
	assert.Equal(t, "ssh://git@example.com/x", as.pushURL("https://example.com/x"))
}

func TestAliasAdd(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	as := aliases(t, repo, "remote.origin.url", "https://example.com/acme/client")
	_, err := as.Get(t.Context(), "origin")
	require.NoError(t, err)
	a, err := as.Add(t.Context(), "hub", "/srv/hub.git")
	require.NoError(t, err)
	assert.Equal(t, "git+file:///srv/hub.git", a.RepoID)
	assert.Equal(t, []string{"hub", "origin"}, aliases(t, repo).Names())

	for name, url := range map[string]string{
		"twin":   "git@example.com:acme/client.git",    // one id, one URL
		"origin": "https://example.com/acme/elsewhere", // a remote keeps its URL
		"mirror": "origin",                             // to git this is the remote, and no path
	} {
		_, err := as.Add(t.Context(), name, url)
		assert.True(t, fault.Is(err, "repo_known"), "%s: %v", name, err)
	}
	_, err = as.Add(t.Context(), "evil", "ext::sh -c x")
	assert.True(t, fault.Is(err, "bad_url"), err)
	_, err = as.Get(t.Context(), "absent")
	assert.True(t, fault.Is(err, "unknown_alias"), err)
	assert.Contains(t, fault.As(err).Advice(), "hub, origin")
}

func TestAliasByID(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	as := aliases(t, repo, "remote.origin.url", "https://example.com/acme/client", "handoffrepo.hub.url", "/srv/hub.git")
	a, err := as.ByID(t.Context(), "git+file:///srv/hub.git")
	require.NoError(t, err)
	assert.Equal(t, "hub", a.Name)
	_, err = as.ByID(t.Context(), "git+https://example.com/acme/other")
	assert.True(t, fault.Is(err, "unknown_home"), err)

	_, err = as.Get(t.Context(), "origin")
	require.NoError(t, err)
	repo.Git(t, "config", "remote.origin.url", "https://example.com/acme/evil")
	_, err = aliases(t, repo).ByID(t.Context(), "git+https://example.com/acme/client")
	assert.True(t, fault.Is(err, "audience_mismatch"), "it is not that one any more: %v", err)
}

// An id can have several aliases. One that cannot be used, because its push URL leads elsewhere by now, is
// passed over for one that can.
func TestAliasByIDPassesOverUnusable(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	as := aliases(t, repo, "handoffrepo.hub.url", "/srv/hub.git", "remote.a.url", "/srv/hub.git",
		"handoffrepo.a.id", "git+file:///srv/hub.git", "remote.a.pushurl", "/srv/other.git")
	a, err := as.ByID(t.Context(), "git+file:///srv/hub.git")
	require.NoError(t, err)
	assert.Equal(t, "hub", a.Name)
}
