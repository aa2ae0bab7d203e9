package stress

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// Each bad day must end with one clear line, a hint, the right exit code, and
// nothing lost or half written.

func TestNotARepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.at("nowhere")
	require.NoError(t, os.Mkdir(p.Dir, 0o755))
	for _, args := range [][]string{
		{"emit", "--to", "boss", "--goal", "g"}, {"resume"}, {"ack"}, {"sync"}, {"inbox"}, {"status"}, {"audit"}, {"init", "--as", "boss"},
	} {
		r := p.run(t, args...)
		assert.NotZero(t, r.code, "%v", args)
		assert.Contains(t, r.diag, "not a git repository", "%v", args)
		assert.Contains(t, r.diag, "\nhint: ", "%v", args)
		assert.Empty(t, r.out)
	}
	entries, err := os.ReadDir(p.Dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestWithoutGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.clone(t, "new")
	p.Env = append(slices.Clip(p.Env), "PATH="+w.dir)
	p.refuses(t, 8, []string{"executable file not found", "hint: # git must be installed"}, "status")
}

func TestNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.clone(t, "new")
	for _, args := range [][]string{
		{"emit", "--to", "boss", "--goal", "g"}, {"resume"}, {"ack"}, {"sync"}, {"inbox"}, {"status"},
	} {
		p.refuses(t, 2, []string{"this worktree has no agent yet", "hint: githandoff init --as new"}, args...)
	}
	assert.Empty(t, p.Git(t, "for-each-ref", "refs/handoffs", "refs/notes"))
}

func TestUnknownAlias(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss := w.agent(t, "boss", "boss")
	boss.refuses(t, 3, []string{"no repository is named", "hint: githandoff repo list"}, "emit", "--to", "fixer@clint", "--goal", "g")
	boss.refuses(t, 3, []string{"no repository is named"}, "sync", "clint")
	assert.Empty(t, boss.Git(t, "for-each-ref", "refs/handoffs", "refs/notes"))
}

// away takes the hub off the network until the result is called.
func (w *world) away(t testing.TB) (back func()) {
	t.Helper()
	gone := w.hub.Dir + ".gone"
	require.NoError(t, os.Rename(w.hub.Dir, gone))
	return func() {
		t.Helper()
		require.NoError(t, os.Rename(gone, w.hub.Dir))
	}
}

func TestHubDown(t *testing.T) {
	for event, args := range map[string][]string{
		"acknowledged": {"ack", "--result", "pr=12"},
		"failed":       {"fail", "--reason", "no"},
		"progressed":   {"progress", "-m", "half"},
		"released":     {"release"},
	} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			boss, fixer := w.pair(t)
			id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g", "--on-failure", "boss")
			fixer.must(t, "resume")
			back := w.away(t)

			r := boss.refuses(t, 8, []string{"origin", "waits in the outbox", "hint: githandoff sync"}, "emit", "--to", elsewhere, "--goal", "h")
			second := strings.TrimSpace(r.out)
			require.Regexp(t, handoffID, second)
			assert.Equal(t, []string{second}, open(t, boss.Repo, outbox))

			fixer.refuses(t, 8, []string{"origin", "the step is kept", "hint: githandoff sync"}, args...)
			fixer.refuses(t, 8, nil, "sync")
			boss.refuses(t, 8, nil, "sync")
			fixer.refuses(t, 8, nil, "resume", second)

			back()
			assert.Contains(t, fixer.must(t, "sync"), event+" "+id)
			assert.Contains(t, boss.must(t, "sync"), "delivered "+second)
			assert.Equal(t, event, last(events(t, w.hub, id)))
			assert.Empty(t, fixer.must(t, "sync"), "once is enough")
			consistent(t, census(t, w.hub, boss.Repo, fixer.Repo))
			for _, p := range []*place{boss, fixer} {
				sound(t, p.Repo)
				p.audited(t)
			}
		})
	}
}

func last(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// A step that was kept while the hub was down is worth nothing once somebody
// else took the handoff over.
func TestHubDownAndClaimLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss, fixer := w.pair(t)
	other := w.twin(t, "other", "fixer", "boss")
	id := boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.must(t, "resume", "--lease", "1h")
	back := w.away(t)
	fixer.refuses(t, 8, nil, "ack")
	back()
	// The clocks of all three move past the lease. With a lease of a second a slow
	// machine would renew the claim while it is taken.
	later := func(p *place, code int, args ...string) result {
		r := p.off(t, 70*time.Minute, args...)
		assert.Equal(t, code, r.code, "githandoff %v: %s", args, r)
		return r
	}
	later(other, 0, "resume", id)

	r := later(fixer, 5, "sync")
	assert.Contains(t, r.diag, `dropped the queued step "acknowledged"`)
	assert.Contains(t, r.diag, "is held by fixer")
	assert.Empty(t, later(fixer, 0, "sync").out)
	assert.Equal(t, []string{"offered", "claimed", "claimed"}, events(t, w.hub, id))
	later(other, 0, "ack")
	later(boss, 0, "sync")
	sound(t, fixer.Repo)
	later(boss, 0, "audit")
}

// Hubs that can be read and do not take what we push: which kind it is is said,
// the handoff is kept, and goes out when the hub has been mended.
func TestHubRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		refuse func(t *testing.T, w *world) (mend func())
		words  []string
	}{
		"hook against custom refs": {func(t *testing.T, w *world) func() {
			hook := filepath.Join(w.hub.Dir, "hooks/update")
			require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
			require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ncase $1 in refs/handoffs/*) echo branches only >&2; exit 1;; esac\n"), 0o755))
			return func() { require.NoError(t, os.Remove(hook)) }
		}, []string{"origin refuses refs/handoffs/", "branches only"}},
		"hidden refs": {func(t *testing.T, w *world) func() {
			w.hub.Git(t, "config", "transfer.hideRefs", "refs/handoffs")
			return func() { w.hub.Git(t, "config", "--unset", "transfer.hideRefs") }
		}, []string{"origin refuses refs/handoffs/", "hidden"}},
		"no atomic pushes": {func(t *testing.T, w *world) func() {
			w.hub.Git(t, "config", "receive.advertiseAtomic", "false")
			return func() { w.hub.Git(t, "config", "--unset", "receive.advertiseAtomic") }
		}, []string{"origin does not take atomic pushes", "git config receive.advertiseAtomic true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			boss, fixer := w.pair(t)
			mend := tc.refuse(t, w)
			r := boss.refuses(t, 8, append(tc.words, "waits in the outbox"), "emit", "--to", elsewhere, "--goal", "g")
			id := strings.TrimSpace(r.out)
			assert.Equal(t, []string{id}, open(t, boss.Repo, outbox))
			boss.refuses(t, 8, tc.words, "sync")
			assert.Empty(t, w.hub.Git(t, "for-each-ref", "refs/handoffs"), "nothing went through")

			mend()
			assert.Contains(t, boss.must(t, "sync"), "delivered "+id)
			fixer.must(t, "resume", id)
			sound(t, boss.Repo)
			boss.audited(t)
		})
	}
}

// A hub that may only be read.
func TestHubReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss := w.agent(t, "boss", "boss")
	base := gittest.Daemon(t, w.dir)
	boss.must(t, "repo", "add", "public", base+"/hub.git")
	w.hub.Git(t, "config", "daemon.receivepack", "false")
	r := boss.refuses(t, 8, []string{"public refuses the push", "waits in the outbox"}, "emit", "--to", "fixer@public", "--goal", "g")
	assert.Equal(t, []string{strings.TrimSpace(r.out)}, open(t, boss.Repo, outbox))
	boss.refuses(t, 1, nil, "doctor")
	assert.Contains(t, boss.run(t, "doctor").out, "is read-only for you")
	w.hub.Git(t, "config", "daemon.receivepack", "true")
	boss.must(t, "sync")
	assert.Equal(t, []string{strings.TrimSpace(r.out)}, open(t, w.hub, inbox))
}

// inNamespace runs a shell script in which mounts are its own. $1 is a directory
// to mount on, $2 githandoff.
func inNamespace(t *testing.T, w *world, p *place, script string) string {
	t.Helper()
	gittest.Need(t, "unshare")
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no namespace to mount in: %s", out)
		}
		t.Skipf("no namespace to mount in: %s", out)
	}
	mnt := filepath.Join(w.dir, "mnt")
	require.NoError(t, os.Mkdir(mnt, 0o755))
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-eu", "-c", script, "sh", mnt, p.binary)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// A repository on a disk without space: nothing is recorded, and the same
// command works when there is some.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss := w.agent(t, "boss", "boss")
	out := inNamespace(t, w, boss, `
		mount -t tmpfs -o size=4m tmpfs "$1"
		cp -a . "$1/repo"; cd "$1/repo"
		before=$("$2" emit --to boss --goal before)
		for size in 1M 64k 4k 1k; do
			n=0
			while dd if=/dev/zero of="$1/fill.$size.$n" bs=$size count=1 2>/dev/null; do n=$((n+1)); done
		done
		rc=0; "$2" emit --to boss --goal full || rc=$?
		echo "emit: $rc"
		rc=0; "$2" resume || rc=$?
		echo "resume: $rc"
		echo "inbox: $(git for-each-ref refs/handoffs/inbox | wc -l)"
		rm "$1"/fill.*
		test "$("$2" resume --json | cut -d'"' -f4)" = "$before"
		"$2" ack
		after=$("$2" emit --to boss --goal after)
		echo "again: $(git for-each-ref --format='%(refname:lstrip=4)' refs/handoffs/inbox)" = "$after"
		"$2" audit >/dev/null
		git fsck --strict --no-dangling
		find .git -name '*.lock' -size 0 -not -path '*/githandoff/*'; ls .git/githandoff/intents
	`)
	assert.Contains(t, out, "no space left on device\n")
	assert.Contains(t, out, "hint: # nothing was recorded: free some space")
	assert.Contains(t, out, "emit: 8\n")
	assert.Contains(t, out, "resume: 8\n")
	assert.Contains(t, out, "inbox: 1\n")
	assert.Regexp(t, `again: (ho_\w+) = (ho_\w+)\n$`, out)
}

// A hub whose disk is full is told apart from one that refuses.
func TestHubDiskFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss := w.agent(t, "boss", "boss")
	out := inNamespace(t, w, boss, `
		mount -t tmpfs -o size=1m tmpfs "$1"
		cp -a ../hub.git "$1/hub.git"
		"$2" repo add full "$1/hub.git"
		dd if=/dev/zero of="$1/fill" bs=1k 2>/dev/null || true
		rc=0; "$2" emit --to fixer@full --goal g 2>&1 || rc=$?
		echo "emit: $rc"
		rm "$1/fill"
		"$2" sync
	`)
	assert.Contains(t, out, "No space left on device")
	assert.Contains(t, out, "; the handoff waits in the outbox\nhint: # the disk of full may be full, or read-only\nhint: githandoff sync  # sends it after the fix\nemit: 8\n")
	assert.Regexp(t, `\ndelivered ho_\w+ to full\n$`, out)
}

// A repository on a file system that is read-only.
func TestReadOnlyHere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss := w.agent(t, "boss", "boss")
	id := boss.must(t, "emit", "--to", "boss", "--goal", "g")
	out := inNamespace(t, w, boss, `
		mount --bind . "$1"
		mount -o remount,ro,bind "$1"
		cd "$1"
		rc=0; "$2" emit --to boss --goal g || rc=$?
		echo "emit: $rc"
		rc=0; "$2" resume || rc=$?
		echo "resume: $rc"
		"$2" inbox
	`)
	assert.Contains(t, out, "emit: 8\n")
	assert.Contains(t, out, "resume: 8\n")
	assert.Contains(t, out, "read-only file system")
	assert.Contains(t, out, "this user must be able to write there")
	assert.Contains(t, out, id, "what is there can be listed")
	boss.must(t, "resume")
	sound(t, boss.Repo)
}

// interrupted starts a command, interrupts it as Ctrl-C does, and returns what
// came of it.
func (p *place) interrupted(t testing.TB, after time.Duration, args ...string) result {
	t.Helper()
	cmd := p.command(args...)
	return finish(t, cmd, func() {
		time.Sleep(after)
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	})
}

func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss, fixer := w.pair(t)
	r := fixer.interrupted(t, time.Second, "resume", "--wait", "1m")
	assert.Equal(t, 130, r.code, "%s", r)
	assert.Less(t, r.took, 20*time.Second)
	boss.must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.must(t, "resume", "--wait", "1m")
	sound(t, fixer.Repo)
}

// silent is a server that takes connections and says nothing.
func silent(t testing.TB) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l.Addr().String()
}

// Ctrl-C while a hub hangs: the handoff is safe here, and the command ends.
func TestInterruptedAtAHangingHub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boss := w.agent(t, "boss", "boss")
	boss.must(t, "repo", "add", "slow", "git://"+silent(t)+"/hub.git")
	r := boss.interrupted(t, time.Second, "emit", "--to", "fixer@slow", "--goal", "g")
	assert.Equal(t, 130, r.code, "%s", r)
	assert.Less(t, r.took, 20*time.Second)
	id := strings.TrimSpace(r.out)
	assert.Equal(t, []string{id}, open(t, boss.Repo, outbox), "it was reported and is kept")
	assert.Contains(t, r.diag, "githandoff sync")

	r = boss.interrupted(t, time.Second, "sync")
	assert.Equal(t, 130, r.code, "%s", r)
	r = boss.interrupted(t, time.Second, "resume")
	assert.Contains(t, []int{3, 130}, r.code, "%s", r)
	boss.Git(t, "config", "handoff.pull", "slow")
	r = boss.interrupted(t, time.Second, "resume", "--wait", "1m")
	assert.Equal(t, 130, r.code, "%s", r)
	whole(t, boss.Repo)
}
