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

// A clone whose copies lead nowhere, since a gc took what a fetch had just
// brought, gets them again from the hub.
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

// So does one that finds out when it reads the fetched objects.
func TestResumeFromBrokenCopies(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	require.NoError(t, fixer.home.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	items, err := fixer.Inbox(t.Context(), fixer.home)
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.NoError(t, os.Remove(filepath.Join(fixer.Repo.Objects, items[0].Commit[:2], items[0].Commit[2:])))

	require.NoError(t, fixer.Load(t.Context(), items[0]))
	require.NoError(t, items[0].Fault)
	fixer.mustClaim(t, p)
}

// takingJudge lets each lane move, and removes the object of the first one it is asked about, as a
// gc does that began before the fetch.
type takingJudge struct {
	objects string
	asked   int
}

func (j *takingJudge) MayMove(_ context.Context, _, to string) error {
	if j.asked++; j.asked > 1 {
		return nil
	}
	return os.Remove(filepath.Join(j.objects, to[:2], to[2:]))
}

func (*takingJudge) Cut(context.Context, string, string) (string, bool, error) { return "", false, nil }

// So does one that finds out when it moves the copy of a lane.
func TestLearnWhatAGCTook(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	j := &takingJudge{objects: fixer.Repo.Objects}
	hub := crossrepo.NewHub(fixer.home.(*crossrepo.Hub).Alias, fixer.Repo, j)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	assert.Equal(t, 2, j.asked, "the lane is judged again as it was fetched again")
	assert.Equal(t, "commit", fixer.git.Git(t, "cat-file", "-t", hub.Namespace().Lane(p.ID)))
}

// That the objects are gone does not make a clone forget how far a lane was: a
// hub that has another history now is refused.
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
	for range 2 { // it is not forgotten after one refusal
		hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
		err = hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
		assert.True(t, fault.Is(err, "rollback"), err)
	}

	// Nor does the hub get rid of it without the lane.
	v.restore(t, empty)
	hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
	err = hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
	assert.True(t, fault.Is(err, "rollback"), err)
	assert.Equal(t, []string{refs.LocalNamespace.Lane(p.ID)}, missingLanes(t, hub))
	err = hub.CatchUp(t.Context(), nil)
	assert.True(t, fault.Is(err, "rollback"), err)

	// What the refused look brought into the mirror is not believed without a look either, and a step
	// looks first: it would make a copy.
	v.Hub.Git(t, "update-ref", refs.LocalNamespace.Lane(p.ID), strings.TrimSpace(
		v.Hub.Git(t, "commit-tree", "-m", "another history", strings.TrimSpace(v.Hub.Git(t, "write-tree")))))
	hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
	require.Error(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
	assert.False(t, crossrepo.LearnSeen(t.Context(), hub, p.ID))
	assert.True(t, hub.LooksFirst(t.Context(), p.ID))

	// Even a copy that such a step made does not say what was seen before.
	lane := hub.Namespace().Lane(p.ID)
	fixer.git.Git(t, "update-ref", lane, v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(p.ID)))
	for range 2 {
		hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
		err = hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
		assert.True(t, fault.Is(err, "rollback"), err)
	}
	fixer.git.Git(t, "update-ref", "-d", lane)

	// A hub that has the log again is believed again.
	v.restore(t, whole)
	hub = v.open(t, "fixer", fixer.Engine.Author.Signer, fixer.git).home.(*crossrepo.Hub)
	require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
	assert.Equal(t, tip, fixer.git.Git(t, "rev-parse", hub.Namespace().Lane(p.ID)))
	assert.NoFileExists(t, fixer.Repo.Own("lost/"+filepath.Base(string(hub.Namespace()))+"/"+p.ID.Lane()))
}
