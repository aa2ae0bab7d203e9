package gittest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// gitTimeout is the time after which a git is considered to hang.
const gitTimeout = 5 * time.Minute

// Repo is a directory in which git runs, and its environment.
type Repo struct {
	Dir string
	Env []string
}

// NewRepo makes an empty repository with a work tree.
func NewRepo(t testing.TB, env []string) *Repo {
	t.Helper()
	repo := &Repo{Dir: t.TempDir(), Env: env}
	repositories(t).plain.Write(t, repo.Dir)
	return repo
}

// NewBare makes an empty bare repository, named repo.git, in its own directory, which a server can serve.
func NewBare(t testing.TB, env []string) *Repo {
	t.Helper()
	return NewBareAt(t, env, filepath.Join(t.TempDir(), "repo.git"))
}

// NewBareAt makes an empty bare repository at dir.
func NewBareAt(t testing.TB, env []string, dir string) *Repo {
	t.Helper()
	repo := &Repo{Dir: dir, Env: env}
	repositories(t).bare.Write(t, dir)
	return repo
}

// Clone clones url; args go to git clone.
func Clone(t testing.TB, env []string, url string, args ...string) *Repo {
	t.Helper()
	repo := &Repo{Dir: t.TempDir(), Env: env}
	repo.Git(t, append(append([]string{"clone", "--quiet"}, args...), "--", url, ".")...)
	return repo
}

// Git runs git, which must succeed, and returns its standard output without
// the last newline.
func (r *Repo) Git(t testing.TB, args ...string) string {
	t.Helper()
	return r.GitIn(t, nil, args...)
}

// GitIn is Git with a standard input.
func (r *Repo) GitIn(t testing.TB, stdin io.Reader, args ...string) string {
	t.Helper()
	stdout, stderr, code := r.tryGit(stdin, args...)
	if code != 0 {
		t.Fatalf("git %s: exit status %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return strings.TrimSuffix(stdout, "\n")
}

// TryGit runs git and returns its outcome. If git could not run or was killed, the code is -1, and stderr ends
// with the reason.
func (r *Repo) TryGit(args ...string) (stdout, stderr string, code int) {
	return r.tryGit(nil, args...)
}

func (r *Repo) tryGit(stdin io.Reader, args ...string) (stdout, stderr string, code int) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	var out, diag bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = r.Dir, r.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &diag
	cmd.WaitDelay = time.Minute // children of git may hold the pipes
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.Exited():
		code = exit.ExitCode()
	default:
		code = -1
		diag.WriteString(err.Error())
	}
	return out.String(), diag.String(), code
}

// Commit writes a file of the work tree, commits it, and returns the object id of the commit. The message is
// used unchanged.
func (r *Repo) Commit(t testing.TB, file, content, msg string) string {
	t.Helper()
	path := filepath.Join(r.Dir, file)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	r.Git(t, "add", "--", file)
	r.Git(t, "commit", "--quiet", "--cleanup=verbatim", "-m", msg)
	return r.Git(t, "rev-parse", "HEAD")
}
