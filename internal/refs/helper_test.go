package refs

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// someID and otherID share a lane.
const (
	someID  = "ho_01kahcp3g0000000000000000r"
	otherID = "ho_01kahcp3g0000000000000010r"
)

func open(t testing.TB, repo *gittest.Repo) *Repo {
	t.Helper()
	r, err := tryOpen(t, repo)
	require.NoError(t, err)
	return r
}

func tryOpen(t testing.TB, repo *gittest.Repo) (*Repo, error) {
	t.Helper()
	r, err := Open(t.Context(), &gitexec.Runner{Dir: repo.Dir, Env: gitexec.Environ(repo.Env)})
	if err == nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

// commit returns a commit object with an empty tree.
func commit(message string, parents ...string) *Object {
	body := "tree " + gittest.Objects().EmptyTree() + "\n"
	for _, p := range parents {
		body += "parent " + p + "\n"
	}
	ident := fmt.Sprintf("a <a@example.com> %d +0000\n", time.Now().Unix())
	return NewObject(gittest.Objects(), "commit", []byte(body+"author "+ident+"committer "+ident+"\n"+message+"\n"))
}

func emptyTree() *Object { return NewObject(gittest.Objects(), "tree", nil) }

// The time that a test waits for another process, and the interval between its checks.
const (
	gateTimeout = 10 * time.Second
	gatePoll    = 5 * time.Millisecond
)
