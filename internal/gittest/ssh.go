package gittest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sshdConfig needs neither PAM nor a home directory. It allows many connections at once, which sshd would
// otherwise consider an attack (MaxStartups). Its verbs are: directory, port, environment.
const sshdConfig = `ListenAddress 127.0.0.1
Port %[2]d
HostKey "%[1]s/host"
PidFile none
AuthorizedKeysFile "%[1]s/authorized_keys"
StrictModes no
UsePAM no
UseDNS no
PrintMotd no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 1000
AcceptEnv GIT_PROTOCOL
SetEnv %[3]s
`

// sshConfig is the client's configuration. Its verb is the directory.
const sshConfig = `Host *
	IdentityFile "%[1]s/user"
	IdentitiesOnly yes
	IdentityAgent none
	UserKnownHostsFile "%[1]s/known_hosts"
	GlobalKnownHostsFile none
	StrictHostKeyChecking yes
	BatchMode yes
	LogLevel ERROR
`

// SSH serves the files that the current user can read, with sshd. It returns "ssh://user@127.0.0.1:port"
// followed by root, and the variables that a client adds to its environment to get access.
func SSH(t testing.TB, root string) (base string, add []string) {
	t.Helper()
	Need(t, "ssh", "ssh-keygen")
	sshd := programPath(t, "sshd")
	account, err := user.Current()
	require.NoError(t, err)
	if account.Uid == "0" {
		// sshd drops its privileges in this directory. The init script of the Debian package makes it, but a
		// container has not run that script.
		require.NoError(t, os.MkdirAll("/run/sshd", 0o755))
	}

	dir, env := t.TempDir(), Env(t)
	keygen(t, env, filepath.Join(dir, "host"))
	keygen(t, env, filepath.Join(dir, "user"))
	require.NoError(t, os.Rename(filepath.Join(dir, "user.pub"), filepath.Join(dir, "authorized_keys")))
	var vars []string
	for _, entry := range env {
		vars = append(vars, fmt.Sprintf("%q", entry))
	}

	config := filepath.Join(dir, "sshd_config")
	addr := serve(t, "sshd", func(port int) *exec.Cmd {
		text := fmt.Sprintf(sshdConfig, dir, port, strings.Join(vars, " "))
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
		cmd := exec.Command(sshd, "-D", "-e", "-f", config)
		cmd.Env = env
		return cmd
	})

	hostKey, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	known := fmt.Sprintf("[%s]:%s %s", host, port, hostKey)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "known_hosts"), []byte(known), 0o600))
	client := filepath.Join(dir, "ssh_config")
	require.NoError(t, os.WriteFile(client, fmt.Appendf(nil, sshConfig, dir), 0o600))
	return "ssh://" + account.Username + "@" + addr + root, []string{"GIT_SSH_COMMAND=ssh -F '" + client + "'"}
}

func keygen(t testing.TB, env []string, path string) {
	t.Helper()
	cmd := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", path)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
