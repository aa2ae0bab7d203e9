package crossrepo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/gittest"
	"githandoff/internal/refs"
)

func TestReport(t *testing.T) {
	const a, b = "refs/handoffs/inbox/fixer/x", "refs/handoffs/log/0r"
	edits := []refs.Edit{{Ref: a, New: "1"}, {Ref: b, New: "2"}}
	for _, tc := range []struct {
		name, out string
		accepted  bool
	}{
		{"created", "To /srv/hub\n*\t1:" + a + "\t[new reference]\n*\t2:" + b + "\t[new reference]\nDone\n", true},
		{"fast-forward and deletion", "To x\n-\t:" + a + "\t[deleted]\n \t2:" + b + "\t1..2\nDone\n", true},
		{"forced", "+\t1:" + a + "\t1...2 (forced update)\n \t2:" + b + "\t1..2\n", true},
		{"one up to date", "=\t1:" + a + "\t[up to date]\n \t2:" + b + "\t1..2\nDone\n", false},
		{"both up to date", "=\t1:" + a + "\t[up to date]\n=\t2:" + b + "\t[up to date]\nDone\n", false},
		{"one refused", "!\t1:" + a + "\t[rejected] (stale info)\n \t2:" + b + "\t1..2\n", false},
		{"one not spoken of", " \t2:" + b + "\t1..2\nDone\n", false},
		{"a third one", "*\t1:" + a + "\t[new reference]\n*\t2:" + b + "\t[new reference]\n*\t3:refs/heads/x\t[new branch]\n", false},
		{"nothing", "", false},
		{"no report at all", "Everything up-to-date\n", false},
		{"cut off", "To /srv/hub\n*\t1:" + a, false},
		{"another flag", "?\t1:" + a + "\tx\n*\t2:" + b + "\tx\n", false},
	} {
		assert.Equal(t, tc.accepted, parseReport([]byte(tc.out)).Accepted(edits), tc.name)
	}
}

// A push is final only if the hub refused every ref, and one of them by a rule of its own. Then the hub is not
// read, and the push is not retried. A push to a ref that the hub hides is not retried either.
func TestReportRefused(t *testing.T) {
	const a, b = "refs/handoffs/inbox/fixer/x", "refs/handoffs/log/0r"
	edits := []refs.Edit{{Ref: a, New: "1"}, {Ref: b, New: "2"}}
	hook, along := "!\t1:"+a+"\t[remote rejected] (hook declined)\n", "!\t2:"+b+"\t[remote rejected] (atomic push failure)\n"
	for _, tc := range []struct {
		name, out, culprit string
		forGood            bool
	}{
		{"a hook", hook + along, a, true},
		{"in the other order", along + hook, a, true},
		{"a forced move", "!\t1:" + a + "\t[remote rejected] (non-fast-forward)\n" + along, a, true},
		{"hidden", "!\t1:" + a + "\t[remote rejected] (deny updating a hidden ref)\n" + along, a, true},
		{"hidden, and the other one moved", "*\t1:" + a + "\t[new reference]\n!\t2:" + b + "\t[remote rejected] (deny updating a hidden ref)\n", b, true},
		{"hidden, and the other one refused by a hook", hook + "!\t2:" + b + "\t[remote rejected] (deny updating a hidden ref)\n", b, true},
		{"one of them moved", hook + " \t2:" + b + "\t1..2\n", a, false},
		{"one was not spoken of", hook, a, false},
		{"a lease that did not hold", hook + "!\t2:" + b + "\t[rejected] (stale info)\n", a, false},
		{"a lock", "!\t1:" + a + "\t[remote rejected] (failed to update ref)\n" + along, a, false},
		{"its git failed", "!\t1:" + a + "\t[remote rejected] (unpacker error)\n" + along, a, false},
		{"words of this git", "!\t1:" + a + "\t[rejected] (hook declined)\n" + along, b, false},
		{"nothing", "", "", false},
	} {
		r := parseReport([]byte(tc.out))
		assert.Equal(t, tc.culprit, r.culprit(), tc.name)
		assert.Equal(t, tc.forGood, r.RefusedForGood(edits), tc.name)
	}
}

// An atomic push of which a ref was refused moved no ref, unless git left that ref out and moved the others.
func TestReportRejected(t *testing.T) {
	const a, b = "\t1:refs/handoffs/inbox/fixer/x\t", "\t2:refs/handoffs/log/0r\t"
	for _, tc := range []struct {
		name, out string
		want      bool
	}{
		{"by the hub", "!" + a + "[remote rejected] (hook declined)\n!" + b + "[remote rejected] (atomic push failure)\n", true},
		{"by git here", "!" + a + "[rejected] (stale info)\n!" + b + "[rejected] (atomic push failed)\n", true},
		{"beside one up to date", "=" + b + "[up to date]\n!" + a + "[rejected] (stale info)\n", true},
		{"hidden", "*" + b + "[new reference]\n!" + a + "[remote rejected] (deny updating a hidden ref)\n", false},
		{"without its objects", " " + b + "1..2\n!" + a + "[remote rejected] (missing necessary objects)\n", false},
		{"unknown", "!" + a + "[remote failure] (remote failed to report status)\n", false},
		{"nothing", "", false},
	} {
		assert.Equal(t, tc.want, parseReport([]byte(tc.out)).rejected(), tc.name)
	}
}

// If git itself saw that the handoff had moved, nothing was sent. If only its lane moved, the handoff may still
// be free. A push that the hub refused may have reached its hooks.
func TestReportOvertaken(t *testing.T) {
	h := NewHub(&Alias{Name: "origin", RepoID: "git+file:///srv/hub"}, &refs.Repo{}, nil)
	edits := []refs.Edit{{Ref: h.Namespace().Inbox("fixer", "x"), New: "1"}, {Ref: h.Namespace().Lanes() + "0r", New: "2"}}
	inbox, lane := "!\t1:"+h.RemoteName(edits[0].Ref)+"\t", "!\t2:"+h.RemoteName(edits[1].Ref)+"\t"
	const stale, along = "[rejected] (stale info)\n", "[rejected] (atomic push failed)\n"
	for _, tc := range []struct {
		name, out string
		want      bool
	}{
		{"the handoff moved", inbox + stale + lane + along, true},
		{"both moved", inbox + stale + lane + stale, true},
		{"the lane moved", inbox + along + lane + stale, false},
		{"the hub refused the other", inbox + stale + lane + "[remote rejected] (hook declined)\n", false},
		{"the hub refused both", inbox + "[remote rejected] (stale info)\n" + lane + "[remote rejected] (stale info)\n", false},
		{"the hub's reasons have lines", inbox + "[remote rejected] (no\n" + inbox + stale + lane + stale + ")\n" + lane + "[remote rejected] (no\n" + inbox + stale + lane + stale + ")\n", false},
		{"one not spoken of", inbox + stale, false},
		{"taken", strings.Replace(inbox+"x\n"+lane+"x\n", "!", "*", 2), false},
		{"nothing", "", false},
	} {
		assert.Equal(t, tc.want, parseReport([]byte(tc.out)).overtaken(h, edits), tc.name)
	}
}

// Whatever a hub makes git print, a push counts as accepted only if each ref is reported as changed, on a line
// of its own.
func FuzzReport(f *testing.F) {
	f.Add("*\t1:refs/a\t[new reference]\n")
	f.Add("=\t1:refs/a\t[up to date]\n \t1:refs/a\tx\n")
	f.Add("!\t:refs/a:refs/b\t[remote rejected] (a\tb)\n")
	f.Add("\t\t\n*\t:\t\n")
	f.Fuzz(func(t *testing.T, out string) {
		r := parseReport([]byte(out))
		if !r.Accepted([]refs.Edit{{Ref: "refs/a", New: "1"}}) {
			return
		}
		changed := false
		for line := range strings.Lines(out) {
			flag, rest, _ := strings.Cut(line, "\t")
			changed = changed || strings.Contains(" +*-", flag) && len(flag) == 1 && strings.Contains(rest, ":")
		}
		assert.True(t, changed)
	})
}

// The hint can be pasted into a shell, whatever the hub's path is.
func TestLockedHint(t *testing.T) {
	for id, want := range map[string]string{
		"git+file:///srv/hub.git":        "env GIT_DIR=/srv/hub.git githandoff doctor --fix  # removes it if no process has it open",
		"git+file:///srv/my hubs/it.git": "env 'GIT_DIR=/srv/my hubs/it.git' githandoff doctor --fix  # removes it if no process has it open",
		"git+https://example.com/client": "# githandoff doctor --fix, run at client, removes it if no process has it open",
	} {
		h := NewHub(&Alias{Name: "client", RepoID: id, derived: id}, &refs.Repo{}, nil)
		assert.Equal(t, want, fault.As(h.Alias.errLocked("/x.lock")).Advice())
	}
}

// With GIT_DIR, neither git nor githandoff would refuse the hub of another user, and git would run its hooks.
func TestLockedHintOfAForeignHub(t *testing.T) {
	gittest.NeedRoot(t)
	hub := t.TempDir()
	require.NoError(t, os.Chown(hub, 12345, -1))
	assertLeft(t, hub)
}

// The same holds for a hub that came with a clone.
func TestLockedHintOfAnEmbeddedHub(t *testing.T) {
	around := t.TempDir()
	hub, link := filepath.Join(around, "hub.git"), filepath.Join(t.TempDir(), "hub.git")
	require.NoError(t, os.Mkdir(filepath.Join(around, ".git"), 0o700))
	require.NoError(t, os.Mkdir(hub, 0o700))
	require.NoError(t, os.Symlink(hub, link))
	assertLeft(t, hub)
	assertLeft(t, link)
}

// assertLeft checks that a hint leaves the checks of a hub to git and githandoff.
func assertLeft(t *testing.T, hub string) {
	t.Helper()
	a := &Alias{Name: "client", RepoID: FileID(hub), derived: FileID(hub)}
	assert.Equal(t, []string{"githandoff", "-C", hub, "doctor", "--fix"}, fault.As(a.errLocked("/x.lock")).Hints[0].Run)
}

// Each message of the hub's git is on a line of its own.
func TestRemoteLines(t *testing.T) {
	err := fmt.Errorf("push: %w", &gitexec.Error{Stderr: "remote: fatal: unable to write file \n" +
		"remote:\nerror: unpack-objects died of signal 9\nerror: remote unpack failed: unpack-objects abnormal exit\n" +
		"To /srv/hub\nerror: failed to push some refs to '/srv/hub'\n"})
	assert.Equal(t, []string{"fatal: unable to write file", "unpack-objects died of signal 9", "unpack-objects abnormal exit"}, remoteLines(err))
	assert.Empty(t, remoteLines(errors.New("remote: no git ran")))
}

// A disk without space for a ref is not reported as a lock.
func TestFullDiskIsNoLock(t *testing.T) {
	h := NewHub(&Alias{Name: "client", RepoID: "file:/srv/hub"}, &refs.Repo{CommonDir: "/r/.git"}, nil)
	for _, said := range []string{
		"error: cannot update ref 'refs/a': couldn't write '/r/.git/refs/a.lock'",
		"error: cannot lock ref 'refs/a': Unable to create '/r/.git/refs/a.lock': No space left on device",
	} {
		err := h.errUnreachable(&gitexec.Error{Program: "git fetch", Code: 1, Stderr: said})
		assert.True(t, fault.Is(err, fault.DiskFull), "%v", err)
	}
}

// The hub's git names the lock that it could not take, except for the lock of a reftable.
func TestLockAtTheHub(t *testing.T) {
	for line, lock := range map[string]string{
		"error: cannot lock ref 'refs/a': Unable to create '/srv/hub/./refs/a.lock': File exists.":            "/srv/hub/refs/a.lock",
		"error: could not delete references: cannot lock references":                                          "reftable/tables.list.lock",
		"error: cannot update ref 'refs/a': couldn't write '/srv/hub/refs/a.lock'":                            "",
		"error: cannot lock ref 'refs/a': Konnte '/srv/a.lock' nicht erstellen: Die Datei existiert bereits.": "/srv/a.lock",
		"error: cannot lock ref 'refs/a': Impossible de créer '/srv/a.lock'\u00a0: Le fichier existe.":        "/srv/a.lock",
		"error: 无法锁定引用 'refs/a'：无法创建 '/srv/a.lock'：文件已存在。":                                                    "/srv/a.lock",
		"error: only branches": "",
	} {
		path, why := lockAmong([]string{"from a hook", line})
		assert.Equal(t, lock, path, line)
		require.NoError(t, why, line)
	}
}

// A lock that git could not make is not reported as a lock that exists.
func TestLockThatGitCannotMake(t *testing.T) {
	h := NewHub(&Alias{Name: "client", RepoID: "file:/srv/hub"}, &refs.Repo{CommonDir: "/r/.git"}, nil)
	for _, why := range []string{"Read-only file system", "Permission denied"} {
		line := "error: cannot lock ref 'refs/a': Unable to create '/r/.git/refs/a.lock': " + why
		err := h.errUnreachable(&gitexec.Error{Program: "git fetch", Code: 1, Stderr: line})
		assert.True(t, fault.Is(err, fault.ReadOnly), "%v", err)
		assert.EqualError(t, err, "make /r/.git/refs/a.lock: "+strings.ToLower(why))

		report := parseReport([]byte("!\tabc:refs/a\t[remote rejected] (failed to update ref)\n"))
		err = h.errPushRefused(t.Context(), nil, report, &gitexec.Error{Program: "git push", Code: 1, Stderr: "remote: " + line})
		assert.True(t, fault.Is(err, fault.HubRefused), "%v", err)
		assert.ErrorContains(t, err, why)
	}
}
