package attack

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A hub sends any text while git talks to it, and names refs as it likes. None of that text
// reaches a terminal unescaped, and an honest handoff is still received.
func TestHubIsData(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	f := s.forge(t, forgery{})
	for _, name := range []string{"inbox/fi\u202exer/" + string(f.id), "inbox/fixer/\u009b2J", "inbox/fixer/x;reboot", "log/\u2028", "log/zzz"} {
		s.Hub.Git(t, "update-ref", "refs/handoffs/"+name, f.payload)
	}
	eve, err := s.keys.Generate("eve", "Alice\u202e\x1b[2J, who says: "+order, nil, time.Now(), rand.Reader)
	require.NoError(t, err)
	published := object(t, s.Hub, "blob", []byte(eve.Public().Text()))
	s.Hub.Git(t, "update-ref", "refs/handoffs/keys/"+strings.TrimPrefix(eve.KID(), "openpgp:"), published)
	says := "#!/bin/sh\nprintf '" + `\033[2J\033]0;owned\007\r\342\200\256githandoff: warning: ` + order + "\n' >&2\n"
	hook := filepath.Join(s.Hub.Dir, "hooks", "pre-receive")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	require.NoError(t, os.WriteFile(hook, []byte(says), 0o755))

	look := func(code int, args ...string) {
		t.Helper()
		r := s.fixer.Run(t, args...)
		plain(t, r.Stdout+r.Stderr)
		assert.Equal(t, code, r.Code, "%s: %s", args, r.Stderr)
		for line := range strings.Lines(r.Stdout + r.Stderr) {
			assert.False(t, strings.HasPrefix(line, "githandoff: warning: "+order), line)
			assert.NotContains(t, line, "who says")
		}
	}
	for _, args := range []string{"inbox", "inbox --all", "status", "history", "sync", "doctor", "hook run post-merge", "resume --peek"} {
		look(0, strings.Fields(args)...)
	}
	assert.Contains(t, s.fixer.Must(t, "doctor"), "it claims to belong to (a text)")
	look(4, "audit") // audit names each ref that is no handoff
	look(0, "resume", string(f.id))

	require.NoError(t, os.WriteFile(hook, []byte(says+"exit 1\n"), 0o755))
	look(8, "ack", string(f.id))
	look(8, "sync")
	look(0, "status")
	require.NoError(t, os.Remove(hook))
	look(0, "sync")
	assert.Contains(t, s.fixer.Must(t, "show", string(f.id)), "acknowledged")
}
