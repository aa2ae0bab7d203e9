package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// debianPackage names the package of a program where the two names differ.
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
	case "ps", "pgrep":
		return "procps"
	}
	return program
}

// Need ends the test where one of the programs is missing: as a failure if the
// environment variable CI is set, otherwise as skipped.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		programPath(t, program)
	}
}

func programPath(t testing.TB, program string) string {
	t.Helper()
	path, ok := find(program)
	if !ok {
		const format = "program %s is missing (Debian package %s)"
		if os.Getenv("CI") != "" {
			t.Fatalf(format, program, debianPackage(program))
		}
		t.Skipf(format, program, debianPackage(program))
	}
	return path
}

// find looks in PATH, then where servers and git's own programs live: an
// ordinary user's PATH has neither.
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
