package gitexec

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// kept lists the git variables of the repository, and those of the user's way to reach remotes.
// In a hook git sets the first group.
var kept = map[string]bool{
	"GIT_DIR": true, "GIT_WORK_TREE": true, "GIT_COMMON_DIR": true,
	"GIT_OBJECT_DIRECTORY": true, "GIT_ALTERNATE_OBJECT_DIRECTORIES": true, "GIT_QUARANTINE_PATH": true,

	"GIT_CONFIG_NOSYSTEM": true, "GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true,
	"GIT_CONFIG_COUNT": true, "GIT_CONFIG_PARAMETERS": true,
	"GIT_CEILING_DIRECTORIES": true, "GIT_DISCOVERY_ACROSS_FILESYSTEM": true, "GIT_EXEC_PATH": true,
	"GIT_PROTOCOL_FROM_USER": true, "GIT_NO_LAZY_FETCH": true, "GIT_ATTR_NOSYSTEM": true,

	"GIT_SSH": true, "GIT_SSH_COMMAND": true, "GIT_SSH_VARIANT": true, "GIT_ASKPASS": true,
	"GIT_PROXY_COMMAND": true, "GIT_PROXY_SSL_CERT": true, "GIT_PROXY_SSL_KEY": true, "GIT_PROXY_SSL_CAINFO": true,
	"GIT_HTTP_PROXY_AUTHMETHOD": true, "GIT_PROXY_SSL_CERT_PASSWORD_PROTECTED": true,
	"GIT_SSL_CAINFO": true, "GIT_SSL_CAPATH": true, "GIT_SSL_CERT": true, "GIT_SSL_CERT_TYPE": true,
	"GIT_SSL_KEY": true, "GIT_SSL_KEY_TYPE": true, "GIT_SSL_CERT_PASSWORD_PROTECTED": true,
	"GIT_SSL_CIPHER_LIST": true, "GIT_SSL_NO_VERIFY": true, "GIT_SSL_VERSION": true,
	"GIT_HTTP_USER_AGENT": true, "GIT_HTTP_LOW_SPEED_LIMIT": true, "GIT_HTTP_LOW_SPEED_TIME": true,
}

var keptPrefixes = []string{"GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_", "GIT_LFS_", "GIT_TRACE"}

// traces are the variables of git that name where a trace goes; others with this prefix say what
// stands in it. Nobody sees a trace on standard error if git succeeds, and else it hides git's last
// words, which an error repeats. A trace to a file or a socket stays.
var traces = map[string]bool{
	"GIT_TRACE": true, "GIT_TRACE_CURL": true, "GIT_TRACE_FSMONITOR": true, "GIT_TRACE_PACKET": true, "GIT_TRACE_PACKFILE": true,
	"GIT_TRACE_PACK_ACCESS": true, "GIT_TRACE_PERFORMANCE": true, "GIT_TRACE_REFS": true, "GIT_TRACE_SETUP": true, "GIT_TRACE_SHALLOW": true,
	"GIT_TRACE_WORKING_TREE_ENCODING": true, "GIT_TRACE2": true, "GIT_TRACE2_EVENT": true, "GIT_TRACE2_PERF": true,
}

// KeyVariable holds a private key, for machines without a keystore. No child gets it: neither
// git, which hands its environment on to the hooks of a hub at a path, nor any other program.
const KeyVariable = "GITHANDOFF_KEY"

// withoutKey returns env without the private key; never nil, which would mean the environment
// of this process.
func withoutKey(env []string) []string {
	return slices.DeleteFunc(append([]string{}, env...), func(kv string) bool { return strings.HasPrefix(kv, KeyVariable+"=") })
}

// Lookup returns the value of a variable in an environment, and whether it is set.
func Lookup(env []string, name string) (value string, set bool) {
	for _, kv := range slices.Backward(env) { // the last setting of a variable counts
		if value, set = strings.CutPrefix(kv, name+"="); set {
			return value, true
		}
	}
	return "", false
}

// Environ scrubs a parent's environment for git and its helpers: of the GIT_* variables only
// those for the place of the repository and the way to reach a remote stay, and traces to a file; the
// private key stays here; prompts are off; only the five known transports are allowed, and of them
// what the parent allows; output is in the C locale.
func Environ(parent []string) []string {
	env := make([]string, 0, len(parent)+8)
	askpass, transports := false, strings.Split(Transports, ":")
	for _, kv := range parent {
		name, value, _ := strings.Cut(kv, "=")
		begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
		switch {
		case name == KeyVariable:
			continue
		case name == allowProtocol:
			theirs := strings.Split(value, ":")
			transports = slices.DeleteFunc(transports, func(name string) bool { return !slices.Contains(theirs, name) })
			continue
		case (name == "HOME" || name == "XDG_CONFIG_HOME") && !filepath.IsAbs(value):
			continue // git would read its configuration from the working directory
		case name == "LC_ALL" || name == "LANGUAGE" || name == "SSH_ASKPASS":
			continue
		case traces[name] && !filepath.IsAbs(value) && !strings.HasPrefix(value, "af_unix:"):
			continue
		case begins("GIT_") && !kept[name] && !slices.ContainsFunc(keptPrefixes, begins):
			continue
		}
		askpass = askpass || name == "GIT_ASKPASS"
		env = append(env, kv)
	}
	if !askpass {
		env = append(env, "GIT_ASKPASS=") // an empty value disables every askpass program
	}
	return WithTransports(append(env,
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_OPTIONAL_LOCKS=0",
		"SSH_ASKPASS_REQUIRE=never",
	), transports)
}

// Transports are those that start no command of a URL's choice, as GIT_ALLOW_PROTOCOL has them.
const Transports = "file:git:http:https:ssh"

const allowProtocol = "GIT_ALLOW_PROTOCOL"

// AllowedTransports returns what GIT_ALLOW_PROTOCOL of an environment of [Environ] names.
func AllowedTransports(env []string) []string {
	list, _ := Lookup(env, allowProtocol)
	return strings.Split(list, ":")
}

// WithTransports returns an environment with another GIT_ALLOW_PROTOCOL.
func WithTransports(env, transports []string) []string {
	return append(slices.Clone(env), allowProtocol+"="+strings.Join(transports, ":"))
}

// Offline returns an environment in which git asks no other repository, not even for an object that
// a partial clone lacks: the settings of a repository name the programs that reach another one. An
// older git, without the fixes of 2024, does not know the variable, and then finds no transport that it may
// use. An empty list of transports would allow one without a name, and for that git runs an alias "remote-"
// of the repository. So the list has a name that nobody can guess.
func Offline(env []string) []string {
	return append(WithTransports(env, []string{rand.Text()}), "GIT_NO_LAZY_FETCH=1")
}

// Installed asks git for its version.
func Installed(ctx context.Context, vars []string) (string, error) {
	r := &Runner{Env: Environ(vars)}
	out, err := r.Run(ctx, Cmd{Args: []string{"version"}})
	return Version(out), err
}

// Version takes the number out of the output of "git version".
func Version(out []byte) string {
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
}

// OlderThan compares the first two numbers of a version, as in "2.39.5". A git built from source
// may have any version, and is not too old.
func OlderThan(version, oldest string) bool {
	var have, want [2]int
	_, _ = fmt.Sscanf(oldest, "%d.%d", &want[0], &want[1])
	if n, _ := fmt.Sscanf(version, "%d.%d", &have[0], &have[1]); n < 2 {
		return false
	}
	return slices.Compare(have[:], want[:]) < 0
}
