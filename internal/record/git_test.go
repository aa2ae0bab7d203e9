package record_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/record"
)

func gitWith(t testing.TB, repo *gittest.Repo, input []byte, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, diag bytes.Buffer
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = repo.Dir, repo.Env, bytes.NewReader(input), &out, &diag
	err = cmd.Run()
	return out.String(), diag.String(), err
}

// git reads the same trailers as githandoff, in the same order.
func TestInterpretTrailersAgrees(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	for _, r := range []*record.Record{plain(), full()} {
		_, block, ok := strings.Cut(string(r.Message()), "\n\n")
		require.True(t, ok)
		out, diag, err := gitWith(t, repo, r.Message(), "interpret-trailers", "--parse")
		require.NoError(t, err, diag)
		assert.Equal(t, block, out)
	}
}

// git accepts the raw commit as an object, fsck reports nothing, and git shows the message unchanged.
func TestFsckIsSilent(t *testing.T) {
	repo := gittest.NewRepo(t, gittest.Env(t))
	repo.Commit(t, "a", "a", "an unborn branch is worth a notice")
	empty := repo.Git(t, "hash-object", "-w", "-t", "tree", "/dev/null")
	first := ""
	offered := plain()
	offered.Payload = oid
	for _, r := range []*record.Record{offered, full()} {
		c := &record.Commit{Tree: empty, Email: "agent@example.com", Record: r, Signature: []byte(signature)}
		if first != "" {
			c.Parents = []string{first}
		}
		out, diag, err := gitWith(t, repo, c.Encode(), "hash-object", "-w", "-t", "commit", "--stdin")
		require.NoError(t, err, diag)
		first = strings.TrimSpace(out)
		repo.Git(t, "update-ref", "refs/handoffs/log/0r", first)
		assert.Equal(t, string(r.Message()), repo.Git(t, "log", "-1", "--format=%B", first))
		assert.Equal(t, r.Actor+"|agent@example.com|"+r.Actor, repo.Git(t, "log", "-1", "--format=%an|%ae|%cn", first))
	}
	out, diag, code := repo.TryGit("fsck", "--strict", "--no-progress")
	assert.Zero(t, code)
	assert.Empty(t, out+diag)
}
