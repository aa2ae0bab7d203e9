package stress

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// tracer is the git of a command of which the first ref transaction, here or at
// the hub, dies at the n-th of the system calls that rename or remove a file.
const tracer = `#!/bin/sh
D='%[1]s'
case "$*" in
*update-ref*|*" push "*)
	set -C
	if true 2>/dev/null >"$D/armed"; then
		read -r n who <"$D/orders"
		strace -f -qq -o "$D/calls" -e trace=rename,renameat,renameat2,unlink,unlinkat \
			-e inject=rename,renameat,renameat2,unlink,unlinkat:signal=SIGKILL:when="$n" '%[2]s' "$@"
		rc=$?
		[ "$who" = both ] && kill -9 "$PPID"
		exit $rc
	fi;;
esac
exec '%[2]s' "$@"
`

func newTracer(t testing.TB) *killer {
	t.Helper()
	gittest.Need(t, "strace")
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	k := &killer{dir: t.TempDir()}
	k.path = "PATH=" + filepath.Join(k.dir, "bin") + ":" + os.Getenv("PATH")
	require.NoError(t, os.Mkdir(filepath.Join(k.dir, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "bin/git"), fmt.Appendf(nil, tracer, k.dir, real), 0o755))
	return k
}

// cut runs a command of which a git dies at its n-th rename or removal. It
// reports whether one did.
func (k *killer) cut(t testing.TB, p *place, who victim, n int, args ...string) (result, bool) {
	t.Helper()
	_ = os.Remove(filepath.Join(k.dir, "armed"))
	_ = os.Remove(filepath.Join(k.dir, "calls"))
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "orders"), fmt.Appendf(nil, "%d %s\n", n, who), 0o644))
	cmd := p.command(args...)
	cmd.Env = append(append([]string{}, cmd.Env...), k.path, "STRESS_RUN="+k.dir)
	r := finish(t, cmd)
	k.awaitSilence(t)
	calls, err := os.ReadFile(filepath.Join(k.dir, "calls"))
	require.NoError(t, err, "no ref transaction was traced: %s", r)
	return r, strings.Contains(string(calls), "killed by SIGKILL")
}

// A git that dies between two renames of one ref transaction leaves a part of
// it. The same command, or the next one, makes it whole or undoes it.
func TestCutTransaction(t *testing.T) {
	for _, s := range scenes() {
		switch s.name {
		case "emit", "resume", "ack", "fail with return", "reroute here",
			"emit to hub", "ack at hub", "fail with return at hub", "resume at hub", "reroute to hub":
		default:
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			boss, fixer := w.pair(t)
			p, args := s.set(t, boss, fixer)
			k := newTracer(t)
			back := w.keep(t)
			deaths := 0
			for n := 1; n == 1 || deaths < times(t, 3); n++ {
				killed := false
				for _, who := range []victim{git, both} {
					back()
					first, dead := k.cut(t, p, who, n, args...)
					killed = killed || dead
					removeDeadLocks(t, w, boss, fixer)
					again := result{code: s.again[0]}
					if first.code != 0 {
						again = p.run(t, args...)
					}
					assert.Contains(t, s.again, again.code, "%s cut at %d; again: %s\nfirst: %s", who, n, again, first)
					s.check(t, w, boss, fixer, first.out+again.out)
					if t.Failed() {
						calls, _ := os.ReadFile(filepath.Join(k.dir, "calls"))
						t.Fatalf("%s cut at %d\nfirst: %s\nagain: %s\n%s", who, n, first, again, calls)
					}
				}
				if !killed {
					break
				}
				deaths++
			}
			require.NotZero(t, deaths)
			t.Logf("%d renames and removals", deaths)
		})
	}
}
