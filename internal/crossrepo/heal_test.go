package crossrepo_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// A gc removed what a fetch had just brought, so the copies of a clone lead to missing objects. The clone
// fetches them again from the hub.
func TestFetchIntoBrokenCopies(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	hub := fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))

	copies, err := fixer.Repo.List(t.Context(), strings.TrimSuffix(string(hub.Namespace()), "/"))
	require.NoError(t, err)
	require.Len(t, copies, 2, "an inbox ref and its lane")
	for _, c := range copies {
		require.NoError(t, os.Remove(filepath.Join(fixer.Repo.Objects, c.OID[:2], c.OID[2:])))
	}
	next := v.offer(t, source, "fixer")
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.FetchSpec{
		Inboxes: []string{crossrepo.AllInboxes}, Lanes: []handoff.ID{p.ID, next.ID},
	}))
	for _, c := range copies {
		assert.NotEmpty(t, fixer.git.Git(t, "cat-file", "-t", c.Name))
	}
	fixer.mustClaim(t, p)
}

// The copy of the notes is made anew, and a damaged file does not prevent that.
func TestFetchIntoABrokenCopyOfNotes(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	notes := source.git.Commit(t, "a", "a", "notes")
	source.git.Git(t, "push", "--quiet", "origin", notes+":"+refs.NotesRef)
	look := func() string {
		hub := v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
		require.NoError(t, hub.Fetch(t.Context(), lifecycle.FetchSpec{Notes: true}))
		return hub.NotesCopy()
	}
	for _, empty := range []bool{true, false} {
		look()
		damage(t, fixer.git, empty, notes)
		assert.Equal(t, "commit", fixer.git.Git(t, "cat-file", "-t", look()))
		fixer.git.Git(t, "fsck", "--strict")
	}
}

func (*takingChecker) Unsigned(context.Context, string, string) (bool, error) { return false, nil }

// A resume that meets a missing object when it reads the fetched objects fetches it again.
func TestResumeFromBrokenCopies(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	require.NoError(t, fixer.home.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	items, err := fixer.InboxItems(t.Context(), fixer.home)
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.NoError(t, os.Remove(filepath.Join(fixer.Repo.Objects, items[0].Commit[:2], items[0].Commit[2:])))

	require.NoError(t, fixer.Load(t.Context(), items[0]))
	require.NoError(t, items[0].Fault)
	fixer.mustClaim(t, p)
}

// takingChecker permits each lane to move, and removes the tip of the first one, as a gc does that began before
// the fetch.
type takingChecker struct {
	objects string
	asked   int
}

func (j *takingChecker) MayMove(_ context.Context, _, to string) error {
	if j.asked++; j.asked > 1 {
		return nil
	}
	return os.Remove(filepath.Join(j.objects, to[:2], to[2:]))
}

func (*takingChecker) Cut(context.Context, string, string) (string, bool, error) {
	return "", false, nil
}

// A refresh that meets a missing object when it moves the copy of a lane fetches it again.
func TestLearnWhatAGCTook(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	j := &takingChecker{objects: fixer.Repo.Objects}
	hub := crossrepo.NewHub(fixer.home.(*crossrepo.Hub).Alias, fixer.Repo, j)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	assert.Equal(t, 2, j.asked, "the lane is checked again as it was fetched again")
	assert.Equal(t, "commit", fixer.git.Git(t, "cat-file", "-t", hub.Namespace().Lane(p.ID)))
}

// A clone still knows how far a lane was when the objects are gone: a hub that now has another history is
// refused.
func TestBrokenCopiesAreStillAMemory(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	empty := v.backup(t)
	p := v.offer(t, source, "fixer")
	hub := fixer.home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	whole := v.backup(t)
	tip, err := fixer.Repo.Resolve(t.Context(), hub.Namespace().Lane(p.ID))
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(fixer.Repo.Objects, tip[:2], tip[2:])))

	v.restore(t, empty)
	v.Hub.Git(t, "update-ref", refs.LocalNamespace.Lane(p.ID), strings.TrimSpace(
		v.Hub.Git(t, "commit-tree", "-m", "another history", strings.TrimSpace(v.Hub.Git(t, "write-tree")))))
	for range 2 { // the clone still knows it after one refusal
		hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
		err = hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
		assert.True(t, fault.Is(err, "rollback"), err)
	}

	// A hub without the lane is refused as well.
	v.restore(t, empty)
	hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
	err = hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
	assert.True(t, fault.Is(err, "rollback"), err)
	assert.Equal(t, []string{refs.LocalNamespace.Lane(p.ID)}, missingLanes(t, hub))
	require.Error(t, hub.CatchUp(t.Context()))
	assert.Empty(t, v.Hub.Git(t, "for-each-ref", string(refs.LocalNamespace)))

	// A step that would be taken without a look at such a hub fails.
	v.restore(t, whole)
	v.Hub.Git(t, "update-ref", refs.LocalNamespace.Lane(p.ID), strings.TrimSpace(
		v.Hub.Git(t, "commit-tree", "-m", "another history", strings.TrimSpace(v.Hub.Git(t, "write-tree")))))
	_, _, err = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).tryClaim(t.Context(), p)
	assert.True(t, fault.Is(err, fault.MissingObject), err)

	// Once the hub has the log again, it is accepted again.
	v.restore(t, whole)
	hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	assert.Equal(t, tip, fixer.git.Git(t, "rev-parse", hub.Namespace().Lane(p.ID)))
}
