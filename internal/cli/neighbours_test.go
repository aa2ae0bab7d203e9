package cli_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
)

// neighbour is another program that works in the clones in which githandoff does.
type neighbour struct {
	name string
	open func(t *testing.T, dir string) error
}

func neighbours() []neighbour {
	python := func(module, script string) func(*testing.T, string) error {
		return func(t *testing.T, dir string) error {
			out, err := exec.Command(gittest.NeedPython(t, module), "-c", script, dir).CombinedOutput()
			t.Logf("%s", out)
			return err
		}
	}
	return []neighbour{
		{"go-git", func(_ *testing.T, dir string) error {
			r, err := git.PlainOpen(dir)
			if err == nil {
				_, err = r.Remote("origin")
			}
			return err
		}},
		{"libgit2", python("pygit2", "import sys, pygit2\n"+
			"r = pygit2.Repository(sys.argv[1])\nprint(r.head.target)\no = r.remotes['origin']\nprint([str(s) for s in o.fetch_refspecs])\no.fetch()\n")},
		{"dulwich", python("dulwich", "import sys\nfrom dulwich import porcelain\nfrom dulwich.repo import Repo\n"+
			"r = Repo(sys.argv[1])\nprint(r.head())\nporcelain.fetch(r, 'origin')\n")},
	}
}

// After init and the whole life of a handoff, other programs can still open the clone, list its remotes,
// and fetch into it.
func TestNeighboursOpenTheClone(t *testing.T) {
	// These programs open repositories with SHA-1 alone.
	clone := &gittest.Repo{Dir: t.TempDir(), Env: append(gittest.Env(t), "GIT_DEFAULT_HASH="+string(gitobj.SHA1))}
	hub := filepath.Join(t.TempDir(), "hub.git")
	clone.Git(t, "init", "--quiet", "--bare", hub)
	clone.Git(t, "init", "--quiet")
	clone.Git(t, "remote", "add", "origin", hub)
	clone.Commit(t, "README", "one\n", "first")
	clone.Git(t, "push", "--quiet", "origin", "HEAD")
	for _, n := range neighbours() {
		t.Run(n.name+" before", func(t *testing.T) { require.NoError(t, n.open(t, clone.Dir)) })
	}
	clone.Must(t, "init", "--as", "fixer", "--hooks", "--notes")
	clone.Must(t, "emit", "--to", "fixer@origin", "--goal", "fix it")
	clone.Must(t, "resume")
	clone.Must(t, "ack")
	clone.Must(t, "sync")
	for _, n := range neighbours() {
		t.Run(n.name, func(t *testing.T) { require.NoError(t, n.open(t, clone.Dir)) })
	}
	assert.FileExists(t, filepath.Join(clone.Dir, ".git/githandoff/agent"))
	assert.NotContains(t, clone.Git(t, "config", "--list"), "handoffs/*")
	before := clone.Git(t, "for-each-ref", "refs/handoffs")
	require.NotEmpty(t, before)
	clone.Git(t, "fetch", "--prune", "--all", "--quiet")
	assert.Equal(t, before, clone.Git(t, "for-each-ref", "refs/handoffs"))
}
