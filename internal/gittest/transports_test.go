package gittest_test

import (
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

func TestTransports(t *testing.T) {
	for _, tr := range gittest.Transports() {
		t.Run(tr.Name, func(t *testing.T) {
			t.Parallel()
			env, root := gittest.Env(t), t.TempDir()
			hub := gittest.NewBareAt(t, env, filepath.Join(root, "team/hub.git"))
			base, env := tr.Serve(t, env, root)
			address := base + "/team/hub.git"

			one := gittest.Clone(t, env, address)
			first := one.Commit(t, "a.txt", "one\n", "first")
			one.Git(t, "push", "--quiet", "origin", "HEAD:main")
			assert.Equal(t, first, hub.Git(t, "rev-parse", "main"))
			two := gittest.Clone(t, env, address)
			assert.Equal(t, first, two.Git(t, "rev-parse", "HEAD"))

			// More than http.postBuffer, so that HTTP must send chunks.
			second := one.Commit(t, "b.bin", noise(3<<20), "second")
			one.Git(t, "push", "--quiet", "origin", "HEAD:main")
			assert.Equal(t, second, hub.Git(t, "rev-parse", "main"))

			const open, lane = "refs/handoffs/inbox/fixer/x", "refs/handoffs/log/7x"
			create := []string{
				"push", "--porcelain", "--atomic", "--force-with-lease=" + open + ":", "--force-with-lease=" + lane + ":",
				"origin", first + ":" + open, second + ":" + lane,
			}
			one.Git(t, create...)
			assert.Equal(t, first, hub.Git(t, "rev-parse", open))
			assert.Equal(t, second, hub.Git(t, "rev-parse", lane))

			// The lease on one ref is stale, so neither ref may move.
			late := two.Commit(t, "c.txt", "late\n", "late")
			out, _, code := two.TryGit("push", "--porcelain", "--atomic",
				"--force-with-lease="+open+":"+first, "--force-with-lease="+lane+":"+first,
				"origin", ":"+open, late+":"+lane)
			assert.Equal(t, 1, code)
			assert.Contains(t, out, "!\t")
			assert.Equal(t, first, hub.Git(t, "rev-parse", open))
			assert.Equal(t, second, hub.Git(t, "rev-parse", lane))

			traced := &gittest.Repo{Dir: two.Dir, Env: append(slices.Clip(env), "GIT_TRACE_PACKET=1")}
			_, trace, code := traced.TryGit("ls-remote", "origin")
			assert.Zero(t, code)
			assert.Contains(t, trace, "< version 2")
		})
	}
}

// noise returns data that cannot be compressed.
func noise(size int) string {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	return string(data)
}

func TestHTTPReadOnly(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewBare(t, env)
	base := gittest.HTTP(t, filepath.Dir(hub.Dir), gittest.HTTPOptions{ReadOnly: true})
	clone := gittest.Clone(t, env, base+"/repo.git")
	clone.Commit(t, "a.txt", "one\n", "first")

	_, stderr, code := clone.TryGit("push", "origin", "HEAD:main")
	assert.Equal(t, 128, code)
	assert.Contains(t, stderr, "403")
	assert.Empty(t, hub.Git(t, "for-each-ref"))
}

func TestHTTPPassword(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewBare(t, env)
	base := gittest.HTTP(t, filepath.Dir(hub.Dir), gittest.HTTPOptions{User: "alice", Password: "s3cret $word"})
	address := base + "/repo.git"

	_, _, code := hub.TryGit("ls-remote", address)
	assert.Equal(t, 128, code, "without a password")
	gittest.UseCredentials(t, env, "alice", "guess")
	_, _, code = hub.TryGit("ls-remote", address)
	assert.Equal(t, 128, code, "with a wrong one")
	gittest.UseCredentials(t, env, "alice", "s3cret $word")
	hub.Git(t, "ls-remote", address)
}

func TestSSHKey(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewBare(t, env)
	base, add := gittest.SSH(t, filepath.Dir(hub.Dir))

	_, _, code := hub.TryGit("-c", "core.sshCommand=ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -F none", "ls-remote", base+"/repo.git")
	assert.Equal(t, 128, code, "without the key")
	friend := &gittest.Repo{Dir: hub.Dir, Env: append(slices.Clip(env), add...)}
	friend.Git(t, "ls-remote", base+"/repo.git")
}

// A server's hooks see the server's environment, never the client's.
func TestServersHaveAHomeOfTheirOwn(t *testing.T) {
	for _, tr := range gittest.Transports() {
		if tr.Name == "path" || tr.Name == "file" {
			continue // no server
		}
		t.Run(tr.Name, func(t *testing.T) {
			t.Parallel()
			env, root := gittest.Env(t), t.TempDir()
			hub := gittest.NewBareAt(t, env, filepath.Join(root, "hub.git"))
			hook(t, hub, "post-receive", `echo "home=$HOME config=$GIT_CONFIG_GLOBAL git=$(command -v git)"`)
			base, env := tr.Serve(t, env, root)
			clone := gittest.Clone(t, env, base+"/hub.git")
			clone.Commit(t, "a.txt", "one\n", "first")

			_, stderr, code := clone.TryGit("push", "origin", "HEAD:main")
			require.Zero(t, code, stderr)
			assert.Regexp(t, `home=/tmp/gh-\w+/home config=/tmp/gh-\w+/gitconfig git=/`, stderr)
			assert.NotContains(t, stderr, gittest.Getenv(env, "HOME"))
		})
	}
}

func TestServersEndWithTheirTest(t *testing.T) {
	for _, tr := range gittest.Transports() {
		answers := true
		for range 5 { // a server of another test may get the port
			var base string
			t.Run(tr.Name, func(t *testing.T) {
				base, _ = tr.Serve(t, gittest.Env(t), t.TempDir())
			})
			address, err := url.Parse(base)
			if err != nil || address.Host == "" {
				answers = false // no server
				break
			}
			conn, err := net.Dial("tcp", address.Host)
			if answers = err == nil; !answers {
				break
			}
			conn.Close()
		}
		assert.False(t, answers, tr.Name)
	}
}
