package gittest

import (
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// HTTPOptions restrict access over HTTP.
type HTTPOptions struct {
	// User and Password are required, with basic authentication, if User is not empty. See [UseCredentials].
	User, Password string
	// ReadOnly answers pushes with status 403.
	ReadOnly bool
}

// lighttpdConfig is the configuration of git-http-backend's manual page. Its verbs are: directory, port, path of
// git-http-backend, environment.
const lighttpdConfig = `server.document-root = %[1]q
server.upload-dirs   = ( %[1]q )
server.bind          = "127.0.0.1"
server.port          = %[2]d
server.modules       = ( "mod_alias", "mod_auth", "mod_authn_file", "mod_setenv", "mod_cgi" )
alias.url            = ( "/git" => %[3]q )
$HTTP["url"] =~ "^/git/" {
	cgi.assign             = ( "" => "" )
	setenv.add-environment = ( %[4]s )
}
`

// lighttpdAuth is appended if a password is required. Its verb is the file of users.
const lighttpdAuth = `auth.backend                   = "htpasswd"
auth.backend.htpasswd.userfile = %q
auth.require = ( "/git/" => ( "method" => "basic", "realm" => "git", "require" => "valid-user" ) )
`

// HTTP serves the repositories below root with git http-backend behind
// lighttpd, and returns "http://127.0.0.1:port/git".
func HTTP(t testing.TB, root string, opts HTTPOptions) string {
	t.Helper()
	lighttpd, backend := programPath(t, "lighttpd"), programPath(t, "git-http-backend")
	dir, env := t.TempDir(), Env(t)
	hub := &Repo{Dir: dir, Env: env}
	// The setting is in the server's configuration, and not in each repository's, so that it holds for
	// repositories that the test adds later.
	hub.Git(t, "config", "--global", "http.receivepack", strconv.FormatBool(!opts.ReadOnly))

	var vars []string
	for _, entry := range append(env, "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1") {
		name, value, _ := strings.Cut(entry, "=")
		vars = append(vars, fmt.Sprintf("%q => %q", name, value))
	}
	auth := ""
	if opts.User != "" {
		users := filepath.Join(dir, "htpasswd")
		sum := sha1.Sum([]byte(opts.Password))
		line := opts.User + ":{SHA}" + base64.StdEncoding.EncodeToString(sum[:]) + "\n"
		require.NoError(t, os.WriteFile(users, []byte(line), 0o600))
		auth = fmt.Sprintf(lighttpdAuth, users)
	}

	config := filepath.Join(dir, "lighttpd.conf")
	addr := serve(t, "lighttpd", func(port int) *exec.Cmd {
		text := fmt.Sprintf(lighttpdConfig, dir, port, backend, strings.Join(vars, ", ")) + auth
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
		cmd := exec.Command(lighttpd, "-D", "-f", config)
		cmd.Env = env
		return cmd
	})
	return "http://" + addr + "/git"
}

// UseCredentials configures a credential helper for everything that runs with env. The helper answers with this
// user and password, as a user's keychain does, and never prompts.
func UseCredentials(t testing.TB, env []string, user, password string) {
	t.Helper()
	helper := filepath.Join(Getenv(env, "HOME"), "credential-helper")
	script := fmt.Sprintf("#!/bin/sh\ntest \"$1\" = get || exit 0\ncat <<'EOF'\nusername=%s\npassword=%s\nEOF\n", user, password)
	require.NoError(t, os.WriteFile(helper, []byte(script), 0o700))
	(&Repo{Dir: filepath.Dir(helper), Env: env}).Git(t, "config", "--global", "credential.helper", helper)
}
