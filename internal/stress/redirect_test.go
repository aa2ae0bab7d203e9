package stress

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A forge redirects the earlier name of a repository. Clones that use the earlier name work on. A clone that
// uses the new name works with them after it runs the command of the hint.
func TestRenamedAtTheForge(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	base := gittest.HTTP(t, w.Dir, gittest.HTTPOptions{})
	now := base + "/hub.git"
	var asked atomic.Int64
	forge := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(rw, r, base+strings.Replace(r.URL.RequestURI(), "/earlier.git", "/hub.git", 1), http.StatusMovedPermanently)
	}))
	t.Cleanup(forge.Close)
	w.URL = forge.URL + "/earlier.git"
	boss, fixer := w.Pair(t)

	first := boss.Must(t, "emit", "--to", elsewhere, "--goal", "by the earlier name")
	assert.Contains(t, fixer.Must(t, "resume"), "by the earlier name")
	fixer.Must(t, "progress", "-m", "half")
	fixer.Must(t, "ack")
	assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+first)
	boss.Must(t, "doctor", "origin")
	assert.Positive(t, asked.Load())

	second := boss.Must(t, "emit", "--to", elsewhere, "--goal", "by both names")
	fixer.Git(t, "remote", "set-url", "origin", now)
	r := fixer.Refuses(t, 4, []string{"origin was pinned as ", "hint: githandoff repo add origin " + now + " --id "}, "resume")
	_, hint, _ := strings.Cut(r.Stderr, "hint: githandoff ")
	hint, _, _ = strings.Cut(hint, "  #")
	fixer.Must(t, strings.Fields(hint)...)
	assert.Contains(t, fixer.Must(t, "resume"), "by both names")
	fixer.Must(t, "ack")
	assert.Contains(t, boss.Must(t, "sync"), "acknowledged "+second)
	audited(t, boss)
	audited(t, fixer)

	// If redirects are switched off, the message has git's own reason, and nothing is lost.
	boss.Git(t, "config", "http.followRedirects", "false")
	boss.Refuses(t, 8, []string{"the handoff waits in the outbox"}, "emit", "--to", elsewhere, "--goal", "kept")
	boss.Git(t, "config", "--unset", "http.followRedirects")
	boss.Must(t, "sync")
	assert.Contains(t, fixer.Must(t, "resume"), "kept")
	require.NotEmpty(t, events(t, w.Hub, first))
}
