package stress

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// victim says who dies at a point.
type victim string

const (
	nobody victim = "nobody"     // count the points
	tool   victim = "githandoff" // git lives on, and may end what it began
	git    victim = "git"        // the git that is at the point
	both   victim = "both"
)

// killer lets githandoff meet a git that numbers what happens, and that kills
// at one of the points.
type killer struct {
	dir  string // of the wrapper: bin, hooks, points, and the settings
	path string // PATH with it
}

// strike numbers a point by making a file that nobody else can make, and kills
// at the chosen one; $git is the process that counts as git there.
const strike = `#!/bin/sh
D='%[1]s'
strike() {
	set -C
	n=1
	until true >"$D/points/$n"; do n=$((n+1)); done 2>/dev/null
	echo "$1" >|"$D/points/$n"
	read -r at who <"$D/orders"
	[ "$n" = "$at" ] || return 0
	until [ -s "$D/tool" ]; do sleep 0.01; done
	read -r tool <"$D/tool"
	case $who in githandoff|both) kill -9 "$tool";; esac
	case $who in git|both) kill -9 "$git";; esac
}
`

// wrapper is the git of the command under test. A git that is spoken to is
// there for as long as the command: its end is no point.
const wrapper = strike + `
git=$$
n=$#
while [ "$n" -gt 0 ]; do
	case $1 in core.hooksPath=/dev/null) set -- "$@" "core.hooksPath=$D/hooks";; *) set -- "$@" "$1";; esac
	shift
	n=$((n-1))
done
strike "start $*"
case "$*" in *--batch*|*--stdin*) exec '%[2]s' "$@";; esac
'%[2]s' "$@"
rc=$?
strike "end $*"
exit $rc
`

// hook is the reference-transaction hook of githandoff's own git and of the
// hub's.
const hook = strike + `
git=$PPID
cat >/dev/null
case $1 in prepared|committed) strike "$1 in $(pwd)";; esac
`

func newKiller(t testing.TB, w *world) *killer {
	t.Helper()
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	k := &killer{dir: t.TempDir()}
	k.path = "PATH=" + filepath.Join(k.dir, "bin") + ":" + os.Getenv("PATH")
	for name, text := range map[string]string{
		"bin/git":                     fmt.Sprintf(wrapper, k.dir, real),
		"hooks/reference-transaction": fmt.Sprintf(hook, k.dir),
	} {
		path := filepath.Join(k.dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(w.hub.Dir, "hooks"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(k.dir, "hooks/reference-transaction"),
		filepath.Join(w.hub.Dir, "hooks/reference-transaction")))
	return k
}

// run runs a command of which victim dies at point n, and waits until every git
// that it started is gone. It returns the names of the points that it came by.
func (k *killer) run(t testing.TB, p *place, who victim, n int, args ...string) (result, []string) {
	t.Helper()
	points := filepath.Join(k.dir, "points")
	require.NoError(t, os.RemoveAll(points))
	require.NoError(t, os.Mkdir(points, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "orders"), fmt.Appendf(nil, "%d %s\n", n, who), 0o644))
	cmd := p.command(args...)
	cmd.Env = append(append([]string{}, cmd.Env...), k.path, "STRESS_RUN="+k.dir)
	pid := filepath.Join(k.dir, "tool")
	require.NoError(t, os.RemoveAll(pid))
	r := finish(t, cmd, func() {
		require.NoError(t, os.WriteFile(pid, fmt.Appendln(nil, cmd.Process.Pid), 0o644))
	})
	k.awaitSilence(t)
	var names []string
	for i := 1; ; i++ {
		b, err := os.ReadFile(filepath.Join(points, strconv.Itoa(i)))
		if err != nil {
			return r, names
		}
		names = append(names, strings.TrimSpace(string(b)))
	}
}

// awaitSilence waits for the processes that outlived their githandoff: they
// carry its environment.
func (k *killer) awaitSilence(t testing.TB) {
	t.Helper()
	mark := "\x00STRESS_RUN=" + k.dir + "\x00"
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		alive := 0
		environs, err := filepath.Glob("/proc/[0-9]*/environ")
		require.NoError(t, err)
		for _, path := range environs {
			b, err := os.ReadFile(path)
			if err == nil && strings.Contains("\x00"+string(b), mark) {
				alive++
			}
		}
		if alive == 0 {
			return
		}
		require.True(t, time.Now().Before(deadline), "%d processes of a killed githandoff do not end", alive)
	}
}
