// Package sshshare lets the git processes of some commands share one ssh connection.
//
// A handshake of ssh takes three to seven round trips, and git makes one for every fetch and
// push. OpenSSH can leave a connection open for a while and let later processes of the same
// user through it (ControlMaster, ControlPath and ControlPersist of ssh_config(5)). githandoff
// does so if nothing speaks against it:
//
//   - ssh is OpenSSH: "ssh -G HOST" prints the settings for the host;
//   - the user set nothing of his own: neither GIT_SSH, GIT_SSH_COMMAND, GIT_SSH_VARIANT,
//     core.sshCommand or ssh.variant, nor ControlMaster or ControlPath for the host;
//   - handoff.sshShare is not false;
//   - there is a directory for the socket, closed to other users, which they cannot exchange, and its path is
//     short enough for a socket: 104 bytes on BSD and macOS, less 17 for the name ssh
//     gives it while it makes it.
//
// The process holding the connection ends by itself ten seconds after its last use. A socket
// whose process is dead is removed by the next ssh.
package sshshare

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/private"
	"githandoff/internal/refs"
)

// Sharing says whether the connections to a host are shared.
type Sharing struct {
	Env []string // variables to add to git's environment; nil if nothing is shared
	Why string   // reason why nothing is shared
}

// NotSSH is why nothing is shared with a hub reached in another way.
const NotSSH = "it is not reached by ssh"

// Seconds is for how long a connection stays open after its last use.
const Seconds = 10

const (
	// hashed is the length of ssh's own name for a connection (%C), and pending that of the
	// suffix ssh appends while it makes the socket.
	hashed, pending = 40, 17
	// longest is the length of a socket's path accepted by every system, without its last
	// byte.
	longest = 103

	askTimeout = 5 * time.Second
)

// For decides about one URL. It starts "ssh -G" where nothing else speaks against sharing.
func For(ctx context.Context, repo *refs.Repo, address string) Sharing {
	target, port, ok := hostOf(address)
	if !ok {
		return Sharing{Why: NotSSH}
	}
	if why := wish(repo); why != "" {
		return Sharing{Why: why}
	}
	dir, why := socketDir(repo.Runner.Env)
	if why != "" {
		return Sharing{Why: why}
	}
	args := []string{"-G"}
	if port != "" {
		args = append(args, "-p", port)
	}
	out, err := repo.Runner.Run(ctx, gitexec.Cmd{Name: "ssh", Args: append(args, "--", target), Timeout: askTimeout})
	if err != nil {
		return Sharing{Why: "ssh is not an OpenSSH that says its settings (ssh -G)"}
	}
	if why := ownControl(string(out)); why != "" {
		return Sharing{Why: why}
	}
	command := []string{
		"ssh", "-o", "ControlMaster=auto", "-o", "ControlPersist=" + strconv.Itoa(Seconds),
		"-o", "ControlPath=" + strings.ReplaceAll(dir, "%", "%%") + "/%C",
	}
	return Sharing{Env: []string{"GIT_SSH_COMMAND=" + fault.Arg(command...)}}
}

// wish returns the user's setting against sharing; "" if none does.
func wish(repo *refs.Repo) string {
	if repo.Config.Off("handoff.sshshare") {
		return "handoff.sshShare is false"
	}
	for _, name := range []string{"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT"} {
		if value, _ := gitexec.Lookup(repo.Runner.Env, name); value != "" {
			return name + " is set"
		}
	}
	for _, name := range []string{"core.sshCommand", "ssh.variant"} {
		if _, set := repo.Config[strings.ToLower(name)]; set {
			return name + " is set"
		}
	}
	return ""
}

// ownControl reads the output of "ssh -G": "name value" lines, names in lower case.
func ownControl(settings string) string {
	known := false
	for line := range strings.Lines(settings) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "controlmaster" && value != "false" && value != "no",
			name == "controlpath" && value != "none":
			return "your ssh configuration sets " + map[string]string{"controlmaster": "ControlMaster", "controlpath": "ControlPath"}[name] + " for it"
		case name == "controlmaster":
			known = true
		}
	}
	if !known {
		return "ssh is not an OpenSSH that can share connections"
	}
	return ""
}

// hostOf finds the arguments of ssh for a URL: user and host, and the port.
func hostOf(address string) (target, port string, ok bool) {
	if rest, found := strings.CutPrefix(address, "ssh://"); found {
		u, err := url.Parse("ssh://" + rest)
		if err != nil || u.Hostname() == "" {
			return "", "", false
		}
		target = u.Hostname()
		if u.User != nil {
			target = u.User.Username() + "@" + target
		}
		return target, u.Port(), true
	}
	user, rest, found := "", address, false
	if before, after, at := strings.Cut(address, "@"); at && !strings.Contains(before, "/") {
		user, rest = before+"@", after
	}
	if inside, bracket := strings.CutPrefix(rest, "["); bracket { // git also takes [host:port]:path
		if inside, _, found = strings.Cut(inside, "]:"); !found {
			return "", "", false
		}
		if h, p, err := net.SplitHostPort(inside); err == nil {
			return user + h, p, true
		}
		return user + inside, "", true // an IPv6 address
	}
	host, _, found := strings.Cut(rest, ":")
	if !found || host == "" || strings.Contains(host, "/") || strings.Contains(address, "://") {
		return "", "", false
	}
	return user + host, "", true
}

// socketDir makes the directory of the sockets, for this user alone.
func socketDir(env []string) (dir, why string) {
	uid := os.Getuid()
	if base, _ := gitexec.Lookup(env, "XDG_RUNTIME_DIR"); filepath.IsAbs(base) {
		dir = filepath.Join(base, "githandoff")
	}
	if dir == "" || len(dir)+1+hashed+pending > longest {
		temp, _ := gitexec.Lookup(env, "TMPDIR")
		dir = filepath.Join(cmp.Or(shortTemp(temp), "/tmp"), "githandoff-"+strconv.Itoa(uid))
	}
	if !guarded(filepath.Dir(dir)) {
		return "", "others could exchange " + dir
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", "there is no directory for its socket: " + err.Error()
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || int(private.Owner(info)) != uid {
		return "", dir + " is not a directory of this user alone"
	}
	return dir, ""
}

// guarded reports whether nobody but root can exchange what is in a directory, or in one above it.
func guarded(dir string) bool {
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for ; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil || private.CheckHolding(at, info, uint32(os.Getuid()), 0) != nil {
			return false
		}
		if at == "/" {
			return true
		}
	}
}

// shortTemp returns a directory for temporary files, if a socket below it can have a path.
func shortTemp(dir string) string {
	if !filepath.IsAbs(dir) || len(dir)+len("/githandoff-4294967295/")+hashed+pending > longest {
		return ""
	}
	return dir
}
