package gittest

import (
	"slices"
	"testing"
)

// Transport is one way to reach a directory of bare repositories.
type Transport struct {
	Name string
	// Serve makes root reachable for the user of env. It returns the URL of root, without a final slash, and the
	// environment in which the URL can be reached.
	Serve func(t testing.TB, env []string, root string) (base string, client []string)
}

// Transports returns every transport that git has, the plain path first. HTTP requires a password. A short run,
// such as that of the race detector, has the path alone: our own code is the same for all.
func Transports() []Transport {
	all := []Transport{
		{"path", func(_ testing.TB, env []string, root string) (string, []string) {
			return root, env
		}},
		{"file", func(_ testing.TB, env []string, root string) (string, []string) {
			return "file://" + root, env
		}},
		{"daemon", func(t testing.TB, env []string, root string) (string, []string) {
			t.Helper()
			return Daemon(t, root), env
		}},
		{"http", func(t testing.TB, env []string, root string) (string, []string) {
			t.Helper()
			UseCredentials(t, env, "alice", "correct horse")
			return HTTP(t, root, HTTPOptions{User: "alice", Password: "correct horse"}), env
		}},
		{"ssh", func(t testing.TB, env []string, root string) (string, []string) {
			t.Helper()
			base, add := SSH(t, root)
			return base, append(slices.Clip(env), add...)
		}},
	}
	if testing.Short() {
		return all[:1]
	}
	return all
}
