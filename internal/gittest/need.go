package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"githandoff/internal/gitexec"
)

// debianPackage returns the package of a program.
func debianPackage(program string) string {
	switch program {
	case "sshd":
		return "openssh-server"
	case "ssh", "ssh-keygen", "ssh-agent", "ssh-add":
		return "openssh-client"
	case "git-daemon", "git-http-backend":
		return "git"
	case "gpg-connect-agent":
		return "gpgconf"
	case "htpasswd":
		return "apache2-utils"
	case "groff":
		return "groff-base"
	case "ps", "pgrep":
		return "procps"
	}
	return program
}

// HasGit reports whether the git in PATH has the given version, such as "2.36", or a later one. A test that
// compares with git uses it if an older git behaves differently.
func HasGit(t testing.TB, version string) bool {
	t.Helper()
	have, err := gitexec.Installed(t.Context(), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	return !gitexec.OlderThan(have, version)
}

// WrapGit makes each git of this test first run the shell commands of script. The environment of the test must
// be made after it. The real git is "$git", and runs with the same arguments unless script exits.
func WrapGit(t *testing.T, script string) {
	t.Helper()
	dir, path := t.TempDir(), os.Getenv("PATH")
	script = "#!/bin/sh\ngit='" + programPath(t, "git") + "'\n" + script + "\nexec \"$git\" \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+path)
}

// Need ends the test if one of the programs is missing: as a failure if the environment variable CI is set,
// otherwise as skipped.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		programPath(t, program)
	}
}

// Missing ends a test because the machine lacks something, which the message names: as a failure if the
// environment variable CI is set, otherwise as skipped.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func programPath(t testing.TB, program string) string {
	t.Helper()
	path, ok := find(program)
	if !ok {
		Missing(t, "program %s is missing (Debian package %s)", program, debianPackage(program))
	}
	return path
}

// find looks for a program in PATH, and then in the directories of servers and of git's own programs, which are
// not in an ordinary user's PATH.
func find(program string) (string, bool) {
	if path, err := exec.LookPath(program); err == nil {
		return path, true
	}
	dirs := []string{"/usr/local/sbin", "/usr/sbin", "/sbin"}
	if out, err := exec.Command("git", "--exec-path").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, dir := range dirs {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return path, true
		}
	}
	return "", false
}

// NeedRoot ends the test if the user cannot give files to another user: as a failure if the environment variable
// CI is set, otherwise as skipped.
func NeedRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	Missing(t, "only root can give files to another user")
}

// NeedPython ends the test if Debian's python3 lacks a module, as Need does for a program. It returns the
// interpreter.
func NeedPython(t testing.TB, module string) string {
	t.Helper()
	const python = "/usr/bin/python3" // another python3 in PATH does not see Debian's modules
	out, err := exec.Command(python, "-c", "import "+module).CombinedOutput()
	if err == nil {
		return python
	}
	Missing(t, "python module %s is missing (Debian package python3-%s): %v\n%s", module, module, err, out)
	return ""
}
