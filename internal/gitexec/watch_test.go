package gitexec_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
)

// OnPacket gets the refs that the other side lists, and can end the command before it requests anything.
func TestOnPacket(t *testing.T) {
	env := gittest.Env(t)
	hub, clone := gittest.NewRepo(t, env), gittest.NewRepo(t, env)
	oid := hub.Commit(t, "a", "a", "first")
	const many = 3000 // more than the buffer of a pipe holds
	var made strings.Builder
	for n := range many {
		fmt.Fprintf(&made, "create refs/kept/%04d %s\n", n, oid)
	}
	hub.GitIn(t, strings.NewReader(made.String()), "update-ref", "--stdin")
	r := &gitexec.Runner{Dir: clone.Dir, Env: gitexec.Environ(env)}
	for _, enough := range []int{2, many + 1} {
		var heard []string
		_, err := r.Run(t.Context(), gitexec.Cmd{
			Args: []string{"ls-remote", hub.Dir, "refs/kept/*"},
			OnPacket: func(packet string) bool {
				if at, name, ok := strings.Cut(packet, " refs/kept/"); ok && at == oid {
					heard = append(heard, name)
				}
				return len(heard) == enough
			},
		})
		assert.Equal(t, enough == 2, err != nil)
		assert.Len(t, heard, min(enough, many), "nothing is heard after there was enough")
		assert.Equal(t, "0001", heard[1])
	}
}

// After OnPacket returned false, a process ends when it writes its next packet, and one that writes none ends
// soon. No signal ends it between two packets, where git may hold a lock.
func TestOnPacketEndsAtTheNextPacket(t *testing.T) {
	for last, ends := range map[string]string{
		`echo "git< b" >&3`: "broken pipe",
		`exec sleep 60`:     "context canceled",
	} {
		t.Run(ends, func(t *testing.T) {
			r := runner(t)
			cmd := sh(`echo "git< a" >&3; sleep 0.3; touch unlocked; ` + last + `; touch late`)
			cmd.OnPacket = func(packet string) bool { return packet == "a" }
			_, err := r.Run(t.Context(), cmd)
			require.ErrorContains(t, err, ends)
			assert.FileExists(t, filepath.Join(r.Dir, "unlocked"))
			assert.NoFileExists(t, filepath.Join(r.Dir, "late"))
		})
	}
}

// If a user traces packets to a file, the file gets them, and so does OnPacket.
func TestOnPacketBesideATrace(t *testing.T) {
	env, trace := gittest.Env(t), filepath.Join(t.TempDir(), "trace")
	hub := gittest.NewRepo(t, env)
	hub.Commit(t, "a", "a", "first")
	heard := 0
	r := &gitexec.Runner{Dir: hub.Dir, Env: append(gitexec.Environ(env), "GIT_TRACE_PACKET="+trace)}
	for range 2 {
		_, err := r.Run(t.Context(), gitexec.Cmd{Args: []string{"ls-remote", hub.Dir}, OnPacket: func(string) bool { heard++; return false }})
		require.NoError(t, err)
	}
	raw, err := os.ReadFile(trace)
	require.NoError(t, err)
	assert.Contains(t, string(raw), " HEAD")
	assert.Equal(t, heard, strings.Count(string(raw), "< "), "the second one is appended")
}

// OnPacket gets the packets, wherever the user's setting sends git's trace of them.
func TestOnPacketWhereverTheTraceGoes(t *testing.T) {
	env := gittest.Env(t)
	hub := gittest.NewRepo(t, env)
	hub.Commit(t, "a", "a", "first")
	for _, to := range []string{"", "0", "False", "1", "true", "2", "9", "relative", filepath.Join(t.TempDir(), "none", "trace")} {
		r := &gitexec.Runner{Dir: hub.Dir, Env: append(gitexec.Environ(env), "GIT_TRACE_PACKET="+to)}
		heard := 0 // git may end by itself before the first packet ends it
		_, _ = r.Run(t.Context(), gitexec.Cmd{Args: []string{"ls-remote", hub.Dir}, OnPacket: func(string) bool { heard++; return true }})
		assert.Equal(t, 1, heard, "GIT_TRACE_PACKET=%s", to)
	}
}

// A process gets no more memory than its limit.
func TestMaxMemory(t *testing.T) {
	r := runner(t)
	limit := sh("ulimit -d")
	limit.MaxMemory = 512 << 20
	out, err := r.Run(t.Context(), limit)
	require.NoError(t, err)
	assert.Equal(t, "524288", strings.TrimSpace(string(out)))
}

// A process cannot write a file that is larger than its limit.
func TestMaxFile(t *testing.T) {
	r := runner(t)
	write := sh("head -c 3000 /dev/zero > small; head -c 300000 /dev/zero > large")
	write.MaxFile = 4096
	_, err := r.Run(t.Context(), write)
	require.Error(t, err)
	assert.True(t, gitexec.PastMaxFile(err), "%v", err)
	_, other := r.Run(t.Context(), sh("kill $$"))
	require.Error(t, other)
	assert.False(t, gitexec.PastMaxFile(other))
	for name, size := range map[string]int64{"small": 3000, "large": 4096} {
		info, err := os.Stat(filepath.Join(r.Dir, name))
		require.NoError(t, err)
		assert.Equal(t, size, info.Size(), name)
	}
}
