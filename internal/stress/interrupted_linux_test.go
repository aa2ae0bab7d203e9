package stress

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// Ctrl-C while a hub works on a push. Whether the hub took the step is unknown, and the message says so. The
// next sync finds out, and sends the step if the hub does not have it.
func TestInterruptedDuringAPush(t *testing.T) {
	offers := func(t *testing.T, w *gittest.Fixture, boss, fixer *gittest.Repo) *gittest.Repo { return boss }
	holds := func(t *testing.T, w *gittest.Fixture, boss, fixer *gittest.Repo) *gittest.Repo {
		offered(t, boss, fixer)
		return fixer
	}
	for _, tc := range []struct {
		hook  string // the hook of the hub that waits: before or after git takes the push
		set   func(t *testing.T, w *gittest.Fixture, boss, fixer *gittest.Repo) *gittest.Repo
		args  []string
		event string
	}{
		{"post-receive", offers, []string{"emit", "--to", elsewhere, "--goal", "g"}, "offered"},
		{"pre-receive", offers, []string{"emit", "--to", elsewhere, "--goal", "g"}, "offered"},
		{"post-receive", holds, []string{"progress", "-m", "half"}, "progressed"},
		{"pre-receive", holds, []string{"progress", "-m", "half"}, "progressed"},
		{"post-receive", holds, []string{"ack"}, "acknowledged"},
		{"post-receive", holds, []string{"fail", "--reason", "no"}, "failed"},
		{"post-receive", func(t *testing.T, w *gittest.Fixture, boss, fixer *gittest.Repo) *gittest.Repo {
			held := offered(t, boss, fixer)
			hubAway(t, w.Hub, func() { fixer.Refuses(t, 8, []string{"the step is kept"}, "ack", held) })
			return fixer
		}, []string{"sync"}, "acknowledged"},
	} {
		t.Run(tc.args[0]+" "+tc.hook, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			p := tc.set(t, w, boss, fixer)
			hook, began := filepath.Join(w.Hub.Dir, "hooks", tc.hook), filepath.Join(t.TempDir(), "began")
			require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o700))
			require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\n: >'"+began+"'\nexec sleep 600\n"), 0o700))
			r := interrupted(t, p, func() bool {
				_, err := os.Stat(began)
				return err == nil
			}, tc.args...)
			assert.Equal(t, 130, r.Code, "%s", r)
			assert.Contains(t, r.Stderr, "githandoff: interrupted during the push: the hub may have taken it, or not\n")
			assert.Contains(t, r.Stderr, "hint: githandoff sync")
			require.NoError(t, os.Remove(hook))
			removeDeadLocks(t, w, w.Hub, p)
			p.Must(t, "sync")
			got := 0
			for id := range census(t, w.Hub) {
				for _, event := range events(t, w.Hub, id) {
					if event == tc.event {
						got++
					}
				}
			}
			assert.Equal(t, 1, got)
			assert.Empty(t, open(t, p, outbox))
			boss.Must(t, "sync")
			audited(t, boss)
			sound(t, p)
			sound(t, w.Hub)
		})
	}
}
