package crossrepo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/audit"
	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// poison puts an unsigned merge on a lane of the hub and returns the merge. The lane is its first or its second
// parent.
func (v *fixture) poison(t *testing.T, lane string, first bool) string {
	t.Helper()
	tree := v.Hub.Git(t, "hash-object", "-w", "-t", "tree", "/dev/null")
	ours, other := v.Hub.Git(t, "rev-parse", lane), v.Hub.Git(t, "commit-tree", "-m", "other", tree)
	if !first {
		ours, other = other, ours
	}
	merge := v.Hub.Git(t, "commit-tree", "-m", "merge", "-p", ours, "-p", other, tree)
	v.Hub.Git(t, "update-ref", lane, merge)
	return merge
}

// A merge that no root key signed is not copied from a hub and not given back to it. It blocks only its own
// lane, and after the hub's administrator has restored the lane that lane works again.
func TestStrangersMergeIsNotTakenOver(t *testing.T) {
	for name, first := range map[string]bool{"as first parent": true, "as second parent": false} {
		t.Run(name, func(t *testing.T) {
			v := newHubFixture(t, byPath())
			source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
			p := v.offer(t, source, "fixer")
			require.NotNil(t, fixer.look(t, p).Offer)
			lane := refs.LocalNamespace.Lane(p.ID)
			clean := v.Hub.Git(t, "rev-parse", lane)
			merge := v.poison(t, lane, first)

			_, _, err := fixer.tryClaim(t.Context(), p)
			require.True(t, fault.Is(err, "rollback"), err)
			assert.Equal(t, []string{"env", "GIT_DIR=" + v.Hub.Dir, "git", "update-ref", lane, clean, merge}, fault.As(err).Hints[0].Run)
			copied := fixer.home.Namespace().Lane(p.ID)
			assert.Equal(t, clean, fixer.git.Git(t, "rev-parse", copied), "the copy stays where it was")

			assert.Equal(t, []fault.Reason{"rollback"}, fixer.findings(t), "an audit says so")

			other := v.offer(t, source, "fixer")
			require.NotEqual(t, p.ID.Lane(), other.ID.Lane())
			fixer.mustClaim(t, other)

			hub := fixer.home.(*crossrepo.Hub)
			_ = hub.CatchUp(t.Context())
			assert.Equal(t, merge, v.Hub.Git(t, "rev-parse", lane), "nothing is pushed over it")
			v.Hub.Git(t, "update-ref", lane, clean)
			require.NoError(t, hub.CatchUp(t.Context()))
			assert.Equal(t, clean, v.Hub.Git(t, "rev-parse", lane), "nor given back")
			require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
			h := fixer.mustClaim(t, p)
			_, _, err = fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
			require.NoError(t, err)
		})
	}
}

// A clone that already had such a merge in its copies recovers once the hub has.
func TestPoisonedCopyIsMended(t *testing.T) {
	for name, first := range map[string]bool{"as first parent": true, "as second parent": false} {
		t.Run(name, func(t *testing.T) {
			v := newHubFixture(t, byPath())
			source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
			p := v.offer(t, source, "fixer")
			behind := v.Hub.Git(t, "rev-parse", refs.LocalNamespace.Lane(p.ID))
			fixer.mustClaim(t, p)
			lane := refs.LocalNamespace.Lane(p.ID)
			clean := v.Hub.Git(t, "rev-parse", lane)
			merge := v.poison(t, lane, first)
			fixer.git.Git(t, "fetch", "--quiet", "origin", lane)
			copied := fixer.home.Namespace().Lane(p.ID)
			fixer.git.Git(t, "update-ref", copied, merge)

			hub := fixer.home.(*crossrepo.Hub)
			require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
			_, err := fixer.Engine.Reader.Load(t.Context(), hub, p)
			assert.True(t, fault.Is(err, "rollback"), "the hub has it still: %v", err)

			v.Hub.Git(t, "update-ref", lane, clean)
			require.NoError(t, hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p)))
			assert.Equal(t, clean, fixer.git.Git(t, "rev-parse", copied))
			s, err := fixer.Engine.Reader.Load(t.Context(), hub, p)
			require.NoError(t, err)
			assert.Equal(t, lifecycle.Held, s.Phase())

			// A hub whose lane went further back is refused.
			fixer.git.Git(t, "update-ref", copied, merge)
			v.Hub.Git(t, "update-ref", lane, behind)
			err = hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
			assert.True(t, fault.Is(err, "rollback"), err)
			assert.Equal(t, clean, fixer.git.Git(t, "rev-parse", copied), "what was seen is remembered")

			// A hub that no longer has the lane does not change the copy.
			fixer.git.Git(t, "update-ref", copied, merge)
			v.Hub.Git(t, "update-ref", "-d", lane)
			_ = hub.Refresh(t.Context(), lifecycle.WholeHandoffs(p))
			assert.Equal(t, clean, fixer.git.Git(t, "rev-parse", copied), "of a hub that dropped the lane")
		})
	}
}

// seenOffer returns an offer whose lane fixer has seen, and the lane at the hub with its tip.
func (v *fixture) seenOffer(t *testing.T) (fixer *agent, p lifecycle.Place, lane, tip string) {
	t.Helper()
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p = v.offer(t, source, "fixer")
	require.NotNil(t, fixer.look(t, p).Offer)
	lane = refs.LocalNamespace.Lane(p.ID)
	return fixer, p, lane, v.Hub.Git(t, "rev-parse", lane)
}

// The parents of an entry are those that git reads. If a copy followed another line, a gc would remove the log
// below it; if it read fewer parents, it would miss a merge.
func TestParentThatGitDoesNotSee(t *testing.T) {
	v := newHubFixture(t, byPath())
	fixer, p, lane, clean := v.seenOffer(t)
	tree := v.Hub.Git(t, "hash-object", "-w", "-t", "tree", "/dev/null")
	other := v.Hub.Git(t, "commit-tree", "-m", "other", tree)
	const people = "author m <m@example.com> 1 +0000\ncommitter m <m@example.com> 1 +0000\n"
	put := func(headers string) {
		file := filepath.Join(t.TempDir(), "commit")
		require.NoError(t, os.WriteFile(file, []byte("tree "+tree+"\n"+headers+"\nx\n"), 0o600))
		v.Hub.Git(t, "update-ref", lane, v.Hub.Git(t, "hash-object", "-t", "commit", "-w", "--literally", file))
	}
	for name, headers := range map[string]string{
		"below the people":          people + "parent " + clean + "\n",
		"a merge, half in capitals": "parent " + clean + "\nparent " + strings.ToUpper(other) + "\n" + people,
	} {
		t.Run(name, func(t *testing.T) {
			put(headers)
			_, _, err := fixer.tryClaim(t.Context(), p)
			assert.True(t, fault.Is(err, "rollback"), err)
			assert.Equal(t, clean, fixer.git.Git(t, "rev-parse", fixer.home.Namespace().Lane(p.ID)), "the copy stays where it was")
			v.Hub.Git(t, "update-ref", lane, clean)
			require.NotNil(t, fixer.look(t, p).Offer, "and goes on once the hub is clean")
		})
	}
}

// A lane that a stranger began with a merge has no valid entry. It blocks nobody after the hub has deleted it.
func TestStrangersLane(t *testing.T) {
	v := newHubFixture(t, byPath())
	source := v.agent(t, "investigator")
	v.agent(t, "fixer")
	p := v.prepare(t, source, "fixer")
	lane := refs.LocalNamespace.Lane(p.Record.ID)
	tree := v.Hub.Git(t, "hash-object", "-w", "-t", "tree", "/dev/null")
	v.Hub.Git(t, "update-ref", lane, v.Hub.Git(t, "commit-tree", "-m", "root", tree))
	merge := v.poison(t, lane, true)
	_, err := source.Engine.Offer(t.Context(), source.home, p)
	require.True(t, fault.Is(err, "rollback"), err)
	assert.Empty(t, source.git.Git(t, "for-each-ref", source.home.Namespace().Lane(p.Record.ID)))

	// A clone that has the merge in its copy does not give it back to the hub.
	source.git.Git(t, "fetch", "--quiet", "origin", lane)
	source.git.Git(t, "update-ref", source.home.Namespace().Lane(p.Record.ID), merge)
	v.Hub.Git(t, "update-ref", "-d", lane)
	require.NoError(t, source.home.(*crossrepo.Hub).CatchUp(t.Context()))
	assert.Empty(t, v.Hub.Git(t, "for-each-ref", lane), "it is not given back")
	require.NoError(t, source.home.Refresh(t.Context(), lifecycle.WholeHandoffs(lifecycle.Place{Agent: "fixer", ID: p.Record.ID})))
	_, err = source.Engine.Offer(t.Context(), source.home, p)
	require.NoError(t, err)
	assert.Equal(t, []string{"offered"}, v.log(t, p.Record.ID))
}

// A copy of a lane only moves to commits that extend it. git itself would replace it by a blob and not call that
// a forced update.
func TestCopyOfALaneStaysALane(t *testing.T) {
	v := newHubFixture(t, byPath())
	fixer, p, lane, clean := v.seenOffer(t)
	v.Hub.Git(t, "update-ref", lane, v.Hub.Git(t, "hash-object", "-w", "-t", "blob", "/dev/null"))
	_, _, err := fixer.tryClaim(t.Context(), p)
	assert.True(t, fault.Is(err, "rollback"), err)
	assert.Equal(t, clean, fixer.git.Git(t, "rev-parse", fixer.home.Namespace().Lane(p.ID)))
	v.Hub.Git(t, "update-ref", lane, clean)
	require.NotNil(t, fixer.look(t, p).Offer)
	fixer.mustClaim(t, p)
}

// A commit that is too large for an entry belongs to no handoff and hides nothing. Only merges make a lane
// unreadable.
func TestTooLargeEntrySpeaksOfNobody(t *testing.T) {
	v := newLocalFixture(t)
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	p := v.offer(t, source, "fixer")
	lane := refs.LocalNamespace.Lane(p.ID)
	message := strings.Repeat("x", 90<<10) + "\n\nHandoff-Id: " + string(p.ID) + "\nHandoff-Event: acknowledged\n"
	tree := v.Hub.Git(t, "hash-object", "-w", "-t", "tree", "/dev/null")
	file := filepath.Join(t.TempDir(), "message")
	require.NoError(t, os.WriteFile(file, []byte(message), 0o600))
	big := v.Hub.Git(t, "commit-tree", "-p", lane, "-F", file, tree)
	v.Hub.Git(t, "update-ref", lane, big)
	h := fixer.mustClaim(t, p)
	_, _, err := fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
	require.NoError(t, err)
	assert.Equal(t, []fault.Reason{"too_large"}, fixer.findings(t))
}

// findings returns the reason words that an audit prints.
func (s *agent) findings(t *testing.T) []fault.Reason {
	t.Helper()
	var reasons []fault.Reason
	require.NoError(t, audit.New(s.Workspace).Run(t.Context(), nil, audit.Visitor{
		Entry:   func(lifecycle.Home, *lifecycle.Entry) error { return nil },
		Finding: func(_ lifecycle.Home, f audit.Finding) error { reasons = append(reasons, f.Reason); return nil },
	}))
	return reasons
}
