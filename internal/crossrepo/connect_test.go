package crossrepo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
)

// A hub that accepts a connection and never answers delays a command only once.
func TestSilentHub(t *testing.T) {
	t.Parallel()
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	place := v.offer(t, source, "fixer")
	calls := filepath.Join(t.TempDir(), "calls")
	asked := func() []string {
		said, err := os.ReadFile(calls)
		require.NoError(t, err)
		require.NoError(t, os.Remove(calls))
		return strings.Fields(string(said))
	}
	for _, pack := range []string{"uploadpack", "receivepack"} {
		for _, agent := range []*agent{source, fixer} {
			agent.git.Git(t, "config", "remote.origin."+pack, "echo "+pack+" >>"+fault.Arg(calls)+"; sleep 60;")
			agent.Repo.Runner.Limit = time.Second
		}
	}
	silent := func(err error) {
		t.Helper()
		require.True(t, fault.Is(err, fault.RemoteUnavailable), "%v", err)
		require.ErrorContains(t, err, "origin did not answer within 1 second")
	}
	hub := fixer.home.(*crossrepo.Hub)
	for range 2 {
		silent(hub.Refresh(t.Context(), lifecycle.WholeHandoffs(place)))
		_, err := hub.RemoteLanes(t.Context())
		silent(err)
		_, _, err = fixer.tryClaim(t.Context(), place)
		silent(err)
	}
	assert.Equal(t, []string{"uploadpack"}, asked())
	hub.AskAgain()
	silent(hub.Refresh(t.Context(), lifecycle.WholeHandoffs(place)))
	assert.Equal(t, []string{"uploadpack"}, asked(), "the next try of a command that waits asks again")

	for range 2 {
		_, err := source.Engine.Offer(t.Context(), source.home, v.prepare(t, source, "fixer"))
		silent(err)
	}
	assert.Equal(t, []string{"receivepack", "uploadpack"}, asked(), "a look follows the push")
}
