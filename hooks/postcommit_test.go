package hooks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
)

const ran = "githandoff [hook] [run] [post-commit]\n"

func TestPostCommit_messages(t *testing.T) {
	long := strings.Repeat("line\n", 600)
	tests := []struct {
		name, message string
		want          bool
	}{
		{"plain", "subject\n\nbody\n", false},
		{"trailer", "subject\n\nHandoff-To: fixer\n", true},
		{"trailer in another spelling", "subject\n\nhandoff-TO : fixer\n", true},
		{"trailer without a line feed", "subject\n\nHandoff-To: fixer", true},
		{"trailer among others", "subject\n\nSigned-off-by: A <alice@example.com>\nHandoff-To: fixer\nHandoff-Task: T\n", true},
		{"another trailer", "subject\n\nHandoff-Token: obo_1\nHandoff-Task: T\n", false},
		{"in the middle of a line", "subject\n\nabout Handoff-To: fixer\n", false},
		{"indented", "subject\n\n  Handoff-To: fixer\n", false},
		{"backslashes", "a\\\n\nHandoff-To: b\\n\n", true},
		{"below the scissors", "subject\n# ------------------------ >8 ------------------------\nHandoff-To: fixer\n", false},
		{"below scissors with another comment character", "s\n; ------------------------ >8 ------------------------\nHandoff-To: x\n", false},
		{"above the scissors", "s\n\nHandoff-To: x\n# ------------------------ >8 ------------------------\n+a\n", true},
		{"scissors as a quotation", "s\n\n# ------------------------ >8 ------------------------ \n\nHandoff-To: x\n", true},
		{"too long to look through", long, true},
		{"long, with scissors", "s\n# ------------------------ >8 ------------------------\n" + long, false},
		{"empty", "", false},
	}
	r := newRepo(t)
	r.install("post-commit")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			write(t, filepath.Join(r.dir, ".git", "COMMIT_EDITMSG"), tt.message, 0o644)
			assert.Empty(t, r.run(r.dir, filepath.Join(".git", "hooks", "post-commit")))
			assert.Equal(t, tt.want, r.recorded() == ran)
		})
	}
}

func TestPostCommit_commits(t *testing.T) {
	// verbose commits with an editor that sees the diff and writes text above it.
	verbose := func(r *repo, text string) {
		path := filepath.Join(r.root, "editor")
		write(t, path, "#!/bin/sh\ngrep -q '^+Handoff-To' \"$1\" &&\n"+
			"{ printf '"+text+"'; cat \"$1\"; } >\"$1.new\" && mv \"$1.new\" \"$1\"\n", 0o755)
		r.setenv("GIT_EDITOR=" + fault.Arg(path))
		write(t, filepath.Join(r.dir, "a"), "Handoff-To: fixer\n", 0o644)
		r.git("add", "a")
		r.commit("-v")
	}
	tests := []struct {
		name string
		do   func(r *repo)
		want bool
	}{
		{"message", func(r *repo) { r.commit("-m", "x") }, false},
		{"trailer", func(r *repo) { r.commit("-m", "x", "-m", "Handoff-To: fixer") }, true},
		{"--trailer", func(r *repo) { r.commit("-m", "x", "--trailer", "Handoff-To: fixer") }, true},
		{"verbose", func(r *repo) { verbose(r, `subject\n`) }, false},
		{"verbose with a trailer", func(r *repo) { verbose(r, `subject\n\nHandoff-To: fixer\n`) }, true},
		{"in a directory below", func(r *repo) {
			sub := filepath.Join(r.dir, "sub")
			require.NoError(t, os.Mkdir(sub, 0o755))
			r.run(sub, "git", "commit", "-q", "--allow-empty", "-m", "Handoff-To: fixer")
		}, true},
		{"draft", func(r *repo) {
			write(t, r.gitPath(r.dir, "githandoff/draft.json"), "{}", 0o644)
			r.commit("-m", "x")
		}, true},
		{"draft at the top", func(r *repo) {
			write(t, filepath.Join(r.dir, ".handoff.json"), "{}", 0o644)
			r.commit("-m", "x")
		}, true},
		{"claim", func(r *repo) {
			write(t, r.gitPath(r.dir, "githandoff/claims/ho_1.json"), "{}", 0o600)
			r.commit("-m", "x")
		}, true},
		{"no claim", func(r *repo) {
			require.NoError(t, os.MkdirAll(r.gitPath(r.dir, "githandoff/claims"), 0o700))
			r.commit("-m", "x")
		}, false},
		{"linked worktree, draft of the main one", func(r *repo) {
			tree := linked(r)
			write(t, r.gitPath(r.dir, "githandoff/draft.json"), "{}", 0o644)
			r.run(tree, "git", "commit", "-q", "--allow-empty", "-m", "x")
		}, false},
		{"linked worktree, its draft", func(r *repo) {
			tree := linked(r)
			write(t, r.gitPath(tree, "githandoff/draft.json"), "{}", 0o644)
			r.run(tree, "git", "commit", "-q", "--allow-empty", "-m", "x")
		}, true},
		{"linked worktree, trailer", func(r *repo) {
			r.run(linked(r), "git", "commit", "-q", "--allow-empty", "-m", "x", "-m", "Handoff-To: fixer")
		}, true},
		{"git directory and work tree given", func(r *repo) {
			r.run(r.root, "git", "--git-dir", filepath.Join(r.dir, ".git"), "--work-tree", r.dir,
				"commit", "-q", "--allow-empty", "-m", "x", "-m", "Handoff-To: fixer")
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRepo(t)
			r.install("post-commit")
			tt.do(r)
			assert.Equal(t, tt.want, r.recorded() == ran)
		})
	}
}

// If the work tree and the git directory are separate, the file .git contains a path.
func TestPostCommit_separateGitDir(t *testing.T) {
	r := newRepo(t, "--separate-git-dir", filepath.Join(t.TempDir(), "apart"))
	r.install("post-commit")
	r.commit("-m", "x")
	assert.Empty(t, r.recorded())
	r.commit("-m", "x", "-m", "Handoff-To: fixer")
	assert.Equal(t, ran, r.recorded())

	// GIT_DIR is not needed to find it either.
	assert.Empty(t, r.run(r.dir, filepath.Join(r.hooksDir(), "post-commit")))
	assert.Equal(t, ran, r.recorded())
}

func linked(r *repo) string {
	r.commit("-m", "first")
	tree := filepath.Join(r.root, "linked tree")
	r.git("worktree", "add", "-q", "-b", "other", tree)
	return tree
}

// The process limit allows no further process. A script that succeeds has therefore not forked.
func TestPostCommit_startsNoProcess(t *testing.T) {
	r := newRepo(t)
	r.install("post-commit")
	r.commit("-m", "subject\n\nbody\n\nTask: x")

	limited := func(script string) (string, error) {
		cmd := exec.Command("sh", "-c",
			`ulimit -p 0 2>/dev/null || ulimit -u 0 || exit; . "$0"`, script)
		cmd.Dir, cmd.Env = r.dir, []string{"PATH=" + os.Getenv("PATH")}
		if os.Getuid() == 0 { // limits do not apply to root
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			require.NoError(t, os.Chmod(filepath.Dir(r.root), 0o755))
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	forks := filepath.Join(r.root, "forks")
	write(t, forks, "(:)\n", 0o755)
	out, err := limited(forks)
	require.Error(t, err, "a fork succeeds under the limit: %s", out)

	out, err = limited(filepath.Join(r.hooksDir(), "post-commit"))
	assert.NoError(t, err)
	assert.Empty(t, out)
}
