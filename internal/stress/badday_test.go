package stress

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// Each bad day must end with one clear message, a hint and the right exit code. Nothing may be lost or half
// written.

func TestNotARepository(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	p := w.At("nowhere")
	require.NoError(t, os.Mkdir(p.Dir, 0o755))
	for _, args := range [][]string{
		{"emit", "--to", "boss", "--goal", "g"}, {"resume"}, {"ack"}, {"sync"}, {"inbox"}, {"status"}, {"audit"}, {"init", "--as", "boss"},
	} {
		r := p.Run(t, args...)
		assert.NotZero(t, r.Code, "%v", args)
		assert.Contains(t, r.Stderr, "not a git repository", "%v", args)
		assert.Contains(t, r.Stderr, "\nhint: ", "%v", args)
		assert.Empty(t, r.Stdout)
	}
	entries, err := os.ReadDir(p.Dir)
	require.NoError(t, err)
	assert.Empty(t, entries)
}

func TestWithoutGit(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	p := w.Clone(t, "new")
	p.Env = append(slices.Clip(p.Env), "PATH="+w.Dir)
	p.Refuses(t, 8, []string{"executable file not found", "hint: # git must be installed"}, "status")
}

// With too few open files githandoff names the limit, and does not report git as missing. A single git already
// needs more files than the limits here allow. With a higher limit the outcome would depend on how many gits run
// at a time.
func TestWithoutFiles(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	for _, limit := range []string{"8", "12"} {
		cmd := exec.Command("sh", "-c", `ulimit -n "$1"; exec "$2" status`, "sh", limit, gittest.BuildBinary(t))
		cmd.Dir, cmd.Env = boss.Dir, boss.Env
		out, err := cmd.CombinedOutput()
		require.Error(t, err, "%s files: %s", limit, out)
		assert.Equal(t, 8, cmd.ProcessState.ExitCode(), "%s files: %s", limit, out)
		assert.Contains(t, string(out), "too many open files\nhint: sh -c 'ulimit -a'  # ")
	}
}

func TestWithoutAgent(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	p := w.Clone(t, "new")
	for _, args := range [][]string{
		{"emit", "--to", "boss", "--goal", "g"}, {"resume"}, {"ack"}, {"sync"}, {"inbox"}, {"status"},
	} {
		p.Refuses(t, 2, []string{"this worktree has no agent yet", "hint: githandoff init --as new"}, args...)
	}
	assert.Empty(t, p.Git(t, "for-each-ref", "refs/handoffs", "refs/notes"))
}

func TestUnknownAlias(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	boss.Refuses(t, 3, []string{"no repository is named", "hint: githandoff repo list"}, "emit", "--to", "fixer@clint", "--goal", "g")
	boss.Refuses(t, 3, []string{"no repository is named"}, "sync", "clint")
	assert.Empty(t, boss.Git(t, "for-each-ref", "refs/handoffs", "refs/notes"))
}

// away takes the hub off the network until back is called.
func away(t testing.TB, w *gittest.Fixture) (back func()) {
	t.Helper()
	gone := w.Hub.Dir + ".gone"
	require.NoError(t, os.Rename(w.Hub.Dir, gone))
	return func() {
		t.Helper()
		require.NoError(t, os.Rename(gone, w.Hub.Dir))
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
			w, boss, fixer := gittest.NewPair(t)
			id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g", "--on-failure", "boss")
			fixer.Must(t, "resume")
			back := away(t, w)

			r := boss.Refuses(t, 8, []string{"origin", "waits in the outbox", "hint: githandoff sync"}, "emit", "--to", elsewhere, "--goal", "h")
			second := strings.TrimSpace(r.Stdout)
			require.Regexp(t, handoffID, second)
			assert.Equal(t, []string{second}, open(t, boss, outbox))

			fixer.Refuses(t, 8, []string{"origin", "the step is kept", "hint: githandoff sync"}, args...)
			fixer.Refuses(t, 8, nil, "sync")
			boss.Refuses(t, 8, nil, "sync")
			fixer.Refuses(t, 8, nil, "resume", second)

			back()
			assert.Contains(t, fixer.Must(t, "sync"), event+" "+id)
			assert.Contains(t, boss.Must(t, "sync"), "delivered "+second)
			assert.Equal(t, event, last(events(t, w.Hub, id)))
			assert.Empty(t, fixer.Must(t, "sync"), "once is enough")
			consistent(t, census(t, w.Hub, boss, fixer))
			for _, p := range []*gittest.Repo{boss, fixer} {
				sound(t, p)
				audited(t, p)
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

// A step that was kept while the hub was down is dropped when another agent has taken the handoff over
// meanwhile.
func TestHubDownAndClaimLost(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	other := w.Twin(t, "other", "fixer", "boss")
	id := boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.Must(t, "resume", "--lease", "1h")
	back := away(t, w)
	fixer.Refuses(t, 8, nil, "ack")
	back()
	// All three clocks move past the lease. A lease of one second would not do: a slow machine would renew the
	// claim during the takeover.
	later := func(p *gittest.Repo, code int, args ...string) gittest.Result {
		r := off(t, p, 70*time.Minute, args...)
		assert.Equal(t, code, r.Code, "githandoff %v: %s", args, r)
		return r
	}
	later(other, 0, "resume", id)

	r := later(fixer, 5, "sync")
	assert.Contains(t, r.Stderr, `dropped the queued step "acknowledged"`)
	assert.Contains(t, r.Stderr, "is held by fixer")
	assert.Empty(t, later(fixer, 0, "sync").Stdout)
	assert.Equal(t, []string{"offered", "claimed", "claimed"}, events(t, w.Hub, id))
	later(other, 0, "ack")
	later(boss, 0, "sync")
	sound(t, fixer)
	later(boss, 0, "audit")
}

// A hub that can be read refuses a push. The message names the cause, the handoff is kept, and it is delivered
// when the hub has been mended.
func TestHubRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		refuse func(t *testing.T, w *gittest.Fixture) (mend func())
		words  []string
	}{
		"hook against custom refs": {func(t *testing.T, w *gittest.Fixture) func() {
			hook := filepath.Join(w.Hub.Dir, "hooks/update")
			require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
			require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ncase $1 in refs/handoffs/*) echo branches only >&2; exit 1;; esac\n"), 0o755))
			return func() { require.NoError(t, os.Remove(hook)) }
		}, []string{"origin refuses refs/handoffs/", "branches only"}},
		"hidden refs": {func(t *testing.T, w *gittest.Fixture) func() {
			w.Hub.Git(t, "config", "transfer.hideRefs", "refs/handoffs")
			return func() { w.Hub.Git(t, "config", "--unset", "transfer.hideRefs") }
		}, []string{"origin refuses refs/handoffs/", "hidden"}},
		"no atomic pushes": {func(t *testing.T, w *gittest.Fixture) func() {
			w.Hub.Git(t, "config", "receive.advertiseAtomic", "false")
			return func() { w.Hub.Git(t, "config", "--unset", "receive.advertiseAtomic") }
		}, []string{"origin does not take atomic pushes", "git config receive.advertiseAtomic true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, boss, fixer := gittest.NewPair(t)
			mend := tc.refuse(t, w)
			r := boss.Refuses(t, 8, append(tc.words, "waits in the outbox"), "emit", "--to", elsewhere, "--goal", "g")
			id := strings.TrimSpace(r.Stdout)
			assert.Equal(t, []string{id}, open(t, boss, outbox))
			boss.Refuses(t, 8, tc.words, "sync")
			assert.Empty(t, w.Hub.Git(t, "for-each-ref", "refs/handoffs"), "nothing went through")

			mend()
			assert.Contains(t, boss.Must(t, "sync"), "delivered "+id)
			fixer.Must(t, "resume", id)
			sound(t, boss)
			audited(t, boss)
		})
	}
}

// The hub is read-only for the sender.
func TestHubReadOnly(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	base := gittest.Daemon(t, w.Dir)
	boss.Must(t, "repo", "add", "public", base+"/hub.git")
	w.Hub.Git(t, "config", "daemon.receivepack", "false")
	r := boss.Refuses(t, 8, []string{"public refuses the push", "waits in the outbox"}, "emit", "--to", "fixer@public", "--goal", "g")
	assert.Equal(t, []string{strings.TrimSpace(r.Stdout)}, open(t, boss, outbox))
	boss.Refuses(t, 1, nil, "doctor")
	assert.Contains(t, boss.Run(t, "doctor").Stdout, "is read-only for you")
	w.Hub.Git(t, "config", "daemon.receivepack", "true")
	boss.Must(t, "sync")
	assert.Equal(t, []string{strings.TrimSpace(r.Stdout)}, open(t, w.Hub, inbox))
}

// inNamespace runs a shell script in a mount namespace of its own. $1 is a directory to mount on, $2 is
// githandoff.
func inNamespace(t *testing.T, w *gittest.Fixture, p *gittest.Repo, script string) string {
	t.Helper()
	gittest.Need(t, "unshare")
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").CombinedOutput(); err != nil {
		gittest.Missing(t, "no namespace to mount in: %s", out)
	}
	mnt := filepath.Join(w.Dir, "mnt")
	require.NoError(t, os.MkdirAll(mnt, 0o755))
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-eu", "-c", script, "sh", mnt, gittest.BuildBinary(t))
	cmd.Dir, cmd.Env = p.Dir, p.Env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// The repository is on a read-only file system.
func TestReadOnlyHere(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	id := boss.Must(t, "emit", "--to", "boss", "--goal", "g")
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
	assert.Contains(t, out, "in a coding agent's sandbox, ask the user")
	assert.Contains(t, out, id, "what is there can be listed")

	out = inNamespace(t, w, boss, `
		mount --bind .git/objects/pack .git/objects/pack
		mount -o remount,ro,bind .git/objects/pack
		rc=0; "$2" doctor || rc=$?
		echo "doctor: $rc"
		umount .git/objects/pack
		"$2" doctor
	`)
	assert.Contains(t, out, "problem  repository   1 directory cannot be written to, such as "+filepath.Join(boss.Dir, ".git/objects/pack")+": read-only file system\n")
	assert.Contains(t, out, "doctor: 1\n")
	boss.Must(t, "resume")
	sound(t, boss)
}

// Codex CLI mounts the git directory read-only for the commands of its model. A hub has news, which cannot
// be stored.
func TestSandboxOverTheGitDirectory(t *testing.T) {
	t.Parallel()
	w, boss, fixer := gittest.NewPair(t)
	boss.Must(t, "emit", "--to", elsewhere, "--goal", "at the hub")
	fixer.Must(t, "sync")
	fixer.Must(t, "emit", "--to", "fixer", "--goal", "at home")
	boss.Must(t, "emit", "--to", elsewhere, "--goal", "not seen yet")
	out := inNamespace(t, w, fixer, `
		mount --bind .git .git
		mount -o remount,ro,bind .git
		for command in inbox history "resume --peek" resume; do
			rc=0; "$2" $command || rc=$?
			echo "$command: $rc"
		done
	`)
	assert.NotContains(t, out, "another git is running")
	assert.Contains(t, out, "inbox: 8\n")
	assert.Contains(t, out, "history: 8\n")
	assert.Contains(t, out, "Goal: at home\n")
	assert.Contains(t, out, "resume --peek: 0\n")
	assert.Contains(t, out, "resume.lock: read-only file system\nhint: # in a coding agent's sandbox, ask the user")
	fixer.Must(t, "resume")
}

// Claude Code mounts devices over files that its model must not make, and a read-only directory in
// .git/objects/info.
func TestSandboxOverSingleFiles(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	require.NoError(t, os.WriteFile(filepath.Join(boss.Dir, "made.txt"), []byte("work\n"), 0o600))
	out := inNamespace(t, w, boss, `
		touch .mcp.json .git/config.lock
		mount --bind /dev/null .mcp.json
		mount --bind /dev/null .git/config.lock
		mkdir .git/objects/info/kept
		mount --bind .git/objects/info/kept .git/objects/info/kept
		mount -o remount,ro,bind .git/objects/info/kept
		rc=0; "$2" repo add other ../other.git || rc=$?
		echo "repo add: $rc"
		"$2" doctor
		id=$("$2" emit --snapshot --to boss --goal g)
		"$2" work show "$id"
		mount --bind ../hub.git ../hub.git
		mount -o remount,ro,bind ../hub.git
		rc=0; "$2" doctor || rc=$?
		echo "doctor: $rc"
		umount .mcp.json .git/config.lock
		rm .mcp.json .git/config.lock
	`)
	assert.Contains(t, out, "File exists\nhint: # in a coding agent's sandbox, ask the user")
	assert.Contains(t, out, "repo add: 8\n")
	assert.Contains(t, out, "ok       locks        none\n")
	assert.Contains(t, out, "made.txt")
	assert.NotContains(t, out, ".mcp.json")
	assert.Contains(t, out, "hub.git/refs: read-only file system\n")
	assert.Contains(t, out, "doctor: 1\n")
}

// interrupted starts a command, waits until begun reports true, and interrupts the command as Ctrl-C does. It
// returns the outcome.
func interrupted(t testing.TB, p *gittest.Repo, begun func() bool, args ...string) gittest.Result {
	t.Helper()
	begun() // a start by an earlier command does not count
	cmd := p.Command(t, args...)
	return gittest.Finish(t, cmd, func() {
		assert.Eventually(t, begun, 2*time.Minute, 10*time.Millisecond)
		assert.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	})
}

func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	_, boss, fixer := gittest.NewPair(t)
	trace := filepath.Join(t.TempDir(), "trace")
	traced := &gittest.Repo{Dir: fixer.Dir, Env: append(slices.Clip(fixer.Env), "GIT_TRACE="+trace)}
	r := interrupted(t, traced, func() bool {
		b, _ := os.ReadFile(trace)
		return bytes.Contains(b, []byte("built-in: git fetch"))
	}, "resume", "--wait", "10m")
	assert.Equal(t, 130, r.Code, "%s", r)
	boss.Must(t, "emit", "--to", elsewhere, "--goal", "g")
	fixer.Must(t, "resume", "--wait", "10m")
	sound(t, fixer)
}

// silent returns the address of a server that accepts connections and never answers. asked reports true once for
// each connection.
func silent(t testing.TB) (addr string, asked func() bool) {
	t.Helper()
	var took, told atomic.Int64
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
			took.Add(1)
		}
	}()
	return l.Addr().String(), func() bool {
		was := told.Swap(took.Load())
		return was < told.Load()
	}
}

// Ctrl-C while a hub hangs ends the command. The handoff is safe in the clone.
func TestInterruptedAtAHangingHub(t *testing.T) {
	t.Parallel()
	w := gittest.NewFixture(t)
	boss := w.Agent(t, "boss")
	addr, asked := silent(t)
	boss.Must(t, "repo", "add", "slow", "git://"+addr+"/hub.git")
	r := interrupted(t, boss, asked, "emit", "--to", "fixer@slow", "--goal", "g")
	assert.Equal(t, 130, r.Code, "%s", r)
	id := strings.TrimSpace(r.Stdout)
	assert.Equal(t, []string{id}, open(t, boss, outbox), "it was reported and is kept")
	assert.Contains(t, r.Stderr, "githandoff sync")

	r = interrupted(t, boss, asked, "sync")
	assert.Equal(t, 130, r.Code, "%s", r)
	r = interrupted(t, boss, asked, "resume")
	assert.Equal(t, 130, r.Code, "%s", r)
	boss.Git(t, "config", "handoff.pull", "slow")
	r = interrupted(t, boss, asked, "resume", "--wait", "10m")
	assert.Equal(t, 130, r.Code, "%s", r)
	whole(t, boss)
}
