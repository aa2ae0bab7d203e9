package gitexec_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

func TestEnviron(t *testing.T) {
	keeps := []string{
		"PATH=/bin", "HOME=/home/alice",
		"GIT_DIR=/r/.git", "GIT_OBJECT_DIRECTORY=/r/.git/objects/q", "GIT_QUARANTINE_PATH=/r/.git/objects/q",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=/a:/b", "GIT_SSH_COMMAND=ssh -F x", "GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TRACE2_EVENT=/t",
		"GIT_TRACE=/t", "GIT_TRACE2=af_unix:stream:/s", "GIT_TRACE_REDACT=0", "GIT_TRACE2_BRIEF=1",
		"GIT_LFS_SKIP_SMUDGE=1", "GIT_SSL_CIPHER_LIST=TLSv1.3", "GIT_PROTOCOL_FROM_USER=0", "GIT_NO_LAZY_FETCH=1",
	}
	drops := []string{
		"GIT_INDEX_FILE=/r/.git/index", "GIT_AUTHOR_DATE=0 +0000", "GIT_COMMITTER_NAME=x", "GIT_EDITOR=vi",
		"GIT_NAMESPACE=n", "GIT_REPLACE_REF_BASE=refs/x",
		"GIT_PREFIX=sub/", "GIT_REFLOG_ACTION=x", "LC_ALL=de_DE.UTF-8", "LANGUAGE=de", "SSH_ASKPASS=/bin/ask",
		"GIT_TRACE_SETUP=1", "GIT_TRACE_PERFORMANCE=2", "GIT_TRACE_CURL=true", "GIT_TRACE2_PERF=9", "GIT_TRACE_PACKET=t", "GIT_TRACE_WORKING_TREE_ENCODING=1",
		"GITHANDOFF_KEY=-----BEGIN PGP PRIVATE KEY BLOCK-----", "XDG_CONFIG_HOME=.config",
	}
	env := gitexec.Environ(slices.Concat(keeps, drops))
	assert.Subset(t, env, keeps)
	for _, kv := range drops {
		assert.NotContains(t, env, kv)
	}
	assert.Subset(t, env, []string{
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ASKPASS=",
		"GIT_ALLOW_PROTOCOL=file:git:http:https:ssh", "SSH_ASKPASS_REQUIRE=never",
	})
}

// A user can allow fewer transports than githandoff does, but not more.
func TestEnvironNarrowsTransports(t *testing.T) {
	for theirs, want := range map[string]string{
		"https":                       "https",
		"ssh:ext:file":                "file:ssh",
		"ext":                         "",
		"":                            "",
		"git:http:ftp:FILE":           "git:http",
		"ext:ssh:https:http:git:file": gitexec.Transports,
	} {
		env := gitexec.Environ([]string{"GIT_ALLOW_PROTOCOL=" + theirs})
		got, set := gitexec.Lookup(env, "GIT_ALLOW_PROTOCOL")
		assert.True(t, set)
		assert.Equal(t, want, got, theirs)
	}
}

// Each git that is offline finds no transport, and a newer one does not look for one.
func TestOffline(t *testing.T) {
	env := gitexec.Offline(gitexec.Environ([]string{"GIT_NO_LAZY_FETCH=0"}))
	for _, transport := range gitexec.AllowedTransports(env) {
		assert.NotContains(t, append(strings.Split(gitexec.Transports, ":"), ""), transport)
	}
	lazy, _ := gitexec.Lookup(env, "GIT_NO_LAZY_FETCH")
	assert.Equal(t, "1", lazy)
}

// An older git looks for a transport, and finds none: the repository can name its own program for a
// transport without a name.
func TestOfflineWithAnOlderGit(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewRepo(t, env)
	hub.Commit(t, "a", "x", "first")
	clone := gittest.PartialClone(t, hub, "--no-checkout")
	mark := filepath.Join(t.TempDir(), "ran")
	clone.Git(t, "config", "alias.remote-", "!touch '"+mark+"'; false")
	older := func(env []string) error {
		r := &gitexec.Runner{Dir: clone.Dir, Env: append(env, "GIT_NO_LAZY_FETCH=0")}
		_, err := r.Run(t.Context(), gitexec.Cmd{Args: []string{"cat-file", "-e", "HEAD:a"}})
		return err
	}
	for _, vcs := range []string{"", "ext", "fd"} {
		clone.Git(t, "config", "remote.origin.vcs", vcs)
		require.Error(t, older(gitexec.Offline(gitexec.Environ(env))), vcs)
		assert.NoFileExists(t, mark, vcs)
	}
	clone.Git(t, "config", "--unset", "remote.origin.vcs")
	require.Error(t, older(gitexec.Offline(gitexec.Environ(env))))
	require.NoError(t, older(gitexec.Environ(env)))
}

// A HOME that is not an absolute path would be joined to git's directory, so it is left out.
func TestEnvironWithoutAHome(t *testing.T) {
	for _, home := range []string{"", ".", "home"} {
		assert.NotContains(t, gitexec.Environ([]string{"HOME=" + home}), "HOME="+home)
	}
}

func TestEnvironKeepsAnAskpass(t *testing.T) {
	env := gitexec.Environ([]string{"GIT_ASKPASS=/usr/bin/keychain"})
	assert.Contains(t, env, "GIT_ASKPASS=/usr/bin/keychain")
	assert.NotContains(t, env, "GIT_ASKPASS=")
}

// No variable of the parent that changes what git does to a repository is passed on, unless it is on the list.
func FuzzEnviron(f *testing.F) {
	f.Add("GIT_INDEX_FILE", "x")
	f.Add("GIT_", "")
	f.Add("", "")
	f.Add("git_dir", "=")
	f.Add("GIT_ALLOW_PROTOCOL", "ext")
	f.Fuzz(func(t *testing.T, name, value string) {
		if strings.ContainsAny(name, "=\x00") {
			t.Skip("no name of a variable")
		}
		env := gitexec.Environ([]string{name + "=" + value})
		last := map[string]string{}
		for _, kv := range env {
			k, v, _ := strings.Cut(kv, "=")
			last[k] = v
		}
		assert.Contains(t, last, "GIT_ALLOW_PROTOCOL")
		for transport := range strings.SplitSeq(last["GIT_ALLOW_PROTOCOL"], ":") {
			assert.Contains(t, []string{"", "file", "git", "http", "https", "ssh"}, transport)
		}
		assert.Equal(t, "1", last["GIT_NO_REPLACE_OBJECTS"])
		assert.NotContains(t, last, "GIT_INDEX_FILE")
		assert.NotContains(t, last, "GIT_NAMESPACE")
		if !strings.HasPrefix(name, "GIT_") && name != "LC_ALL" && name != "LANGUAGE" && name != gitexec.KeyVariable &&
			name != "HOME" && name != "XDG_CONFIG_HOME" && !strings.HasPrefix(name, "SSH_ASKPASS") {
			assert.Equal(t, value, last[name])
		}
	})
}
