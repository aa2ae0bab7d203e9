package crossrepo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/gittest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// A gc that begins during a fetch removes no object of a copy, whether it unlinks after the refs have moved or
// has begun to before.
func TestGCBeginsDuringAFetch(t *testing.T) {
	for name, unlinks := range map[string]bool{"unlinks later": false, "has begun to unlink": true} {
		t.Run(name, func(t *testing.T) {
			packs := filepath.Join(t.TempDir(), "unlinked") // the file that git pack-objects unlinks first
			if unlinks {
				unlinkBefore(t, "pack-objects", packs)
			}
			v := newHubFixture(t, byPath())
			source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
			p := v.offer(t, source, "fixer")
			payload := strings.Fields(source.git.Git(t, "rev-list", "--objects", "--no-object-names", source.home.Namespace().Inbox("fixer", p.ID)))
			loose := func(oid string) string { return filepath.Join(fixer.git.Dir, ".git/objects", oid[:2], oid[2:]) }
			pid := filepath.Join(fixer.git.Dir, ".git/gc.pid")

			// The gc begins after the fetch has checked for a running gc. If the gc has begun to unlink, the
			// tree is gone before its objects are packed.
			begin := fmt.Sprintf("test -e '%[1]s' || echo '%[2]d localhost' >'%[1]s'", pid, os.Getpid())
			fixer.git.Git(t, "config", "remote.origin.uploadpack", uploadPack(t, "%s", begin))
			require.NoError(t, os.WriteFile(packs, []byte(loose(payload[1])), 0o600))
			assert.NotEmpty(t, fixer.look(t, p).Tip)
			require.FileExists(t, pid)
			for _, oid := range payload {
				_ = os.Remove(loose(oid))
			}
			for _, oid := range payload {
				fixer.git.Git(t, "cat-file", "-e", oid)
			}
			assert.Empty(t, fixer.git.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
		})
	}
}

// A gc that begins and ends during a fetch removes no object of a copy either. The fetch may bring notes too.
func TestGCWithinAFetch(t *testing.T) {
	for name, c := range map[string]struct{ notes, lost bool }{
		"without notes":                  {},
		"with notes":                     {notes: true},
		"with notes, which the gc takes": {notes: true, lost: true},
	} {
		t.Run(name, func(t *testing.T) { gcWithinAFetch(t, c.notes, c.lost) })
	}
}

func gcWithinAFetch(t *testing.T, notes, lost bool) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	hub := fixer.home.(*crossrepo.Hub)
	tree := v.Hub.Git(t, "rev-parse", v.inbox(t, p)+"^{tree}")
	if lost {
		commit := source.git.Commit(t, "a", "a", "notes")
		source.git.Git(t, "push", "--quiet", "origin", commit+":"+refs.NotesRef)
		tree = v.Hub.Git(t, "rev-parse", commit+"^{tree}")
	}
	// The gc chooses its objects before the first ref moves. It removes them after git has checked that all
	// objects are here, while git waits for the lock of the second ref.
	lock := filepath.Join(fixer.git.Dir, ".git", hub.Mirror.Lane(p.ID)+".lock")
	require.NoError(t, os.MkdirAll(filepath.Dir(lock), 0o700))
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	fixer.git.Git(t, "config", "core.filesRefLockTimeout", "20000")
	fixer.git.Git(t, "config", "remote.origin.uploadpack", uploadPack(t, `test -e '%[1]s' && (
	exec >&- 2>&-
	unset GIT_DIR
	cd '%[2]s/.git'
	echo "$$ localhost" >gc.pid
	git repack -a -d -q
	until test -e '%[3]s' || test -e '%[3]s.lock'; do sleep 0.05; done
	rm -f 'objects/%[4]s'
	rm gc.pid '%[1]s'
) &`, lock, fixer.git.Dir, hub.Namespace().Inbox(p.Agent, p.ID), filepath.Join(tree[:2], tree[2:])))
	spec := lifecycle.WholeHandoffs(p)
	spec.Notes = notes
	require.NoError(t, hub.Fetch(t.Context(), spec))
	require.NoFileExists(t, lock)
	assert.NotEmpty(t, fixer.git.Git(t, "for-each-ref", string(hub.Namespace())))
	assert.Equal(t, lost, fixer.git.Git(t, "for-each-ref", hub.NotesCopy()) != "")
	assert.Empty(t, fixer.git.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
}

// A killed step leaves the objects that it pushed, and no ref to them. A fetch does not bring them again, and a
// gc that began before removes them. The copies stay complete.
func TestGCBesideAFetchOfWhatIsHere(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	require.NotEmpty(t, fixer.look(t, p).Tip)
	objects := strings.Fields(fixer.git.Git(t, "rev-list", "--objects", "--no-object-names", "--glob=refs/handoffs/*"))
	for ref := range strings.FieldsSeq(fixer.git.Git(t, "for-each-ref", "--format=%(refname)", "refs/handoffs/")) {
		fixer.git.Git(t, "update-ref", "-d", ref)
	}
	require.NoError(t, os.WriteFile(filepath.Join(fixer.git.Dir, ".git/gc.pid"), fmt.Appendf(nil, "%d localhost", os.Getpid()), 0o600))
	fixer.home.(*crossrepo.Hub).AskAgain()
	assert.NotEmpty(t, fixer.look(t, p).Tip)
	for _, oid := range objects {
		require.NoError(t, os.Remove(filepath.Join(fixer.git.Dir, ".git/objects", oid[:2], oid[2:])))
	}
	assert.Empty(t, fixer.git.Git(t, "fsck", "--strict", "--no-progress", "--no-dangling"))
}

// unlinkBefore makes each git of this test that runs a command first unlink the file whose name is in list.
func unlinkBefore(t *testing.T, command, list string) {
	t.Helper()
	gittest.WrapGit(t, fmt.Sprintf(`case " $* " in *' %s '*) rm -f "$(cat '%s')" ;; esac`, command, list))
}
