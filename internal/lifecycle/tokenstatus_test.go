package lifecycle

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/private"
	"githandoff/internal/record"
)

// remote is a home in this repository that can be made unreachable.
type remote struct {
	*LocalHome
	down, reached bool
}

func (h *remote) LaneIsFresh(handoff.ID) bool { return h.reached }

func (h *remote) Refresh(context.Context, FetchSpec) error {
	if h.down {
		return fault.New(fault.Unavailable, "remote_unavailable", "down")
	}
	h.reached = true
	return nil
}

func TestStatusNeedsTheHome(t *testing.T) {
	c := newDelegation(t)
	p := c.grant(t)
	s := c.load(t, c.fixer, p)
	home := &remote{LocalHome: c.home, down: true}
	_, err := c.fixer.Verifier.Verify(t.Context(), home, s, Options{})
	refusedAs(t, "status_unknown", err)
	v, err := c.fixer.Verifier.Verify(t.Context(), home, s, Options{Lapsed: true})
	require.NoError(t, err)
	assert.Nil(t, v.Token())
	v, err = c.fixer.Verifier.Verify(t.Context(), home, s, Options{AsKnown: true})
	require.NoError(t, err)
	assert.NotNil(t, v.Token())

	home.down = false
	_, err = c.fixer.Verifier.Verify(t.Context(), home, s, Options{})
	require.NoError(t, err)
	assert.True(t, home.reached)
}

// The transaction pins the lane of the handoff itself. The lanes of its parents are fetched. If the hub is down,
// the holder gets an error that lets it keep the step, and not an error about its token.
func TestRenewalOfAHomeThatIsDown(t *testing.T) {
	c := newDelegation(t)
	p := c.grant(t)
	home := &remote{LocalHome: c.home, down: true}
	_, err := c.fixer.Renew(t.Context(), home, c.claim(t, c.fixer, p), Renewal{})
	require.NoError(t, err)
	_, err = c.qa.Renew(t.Context(), home, c.claim(t, c.qa, c.passOn(t, p)), Renewal{})
	assert.Equal(t, fault.Unavailable, fault.CodeOf(err), err)
}

func TestUsedTokensAreRemembered(t *testing.T) {
	c := newDelegation(t)
	c.fixer.Verifier.Used = UsedTokens{Path: filepath.Join(t.TempDir(), "used")}
	p := c.grant(t)
	s := c.load(t, c.fixer, p)
	h := c.claim(t, c.fixer, p)
	_, _, err := c.fixer.Acknowledge(t.Context(), c.home, h, Outcome{})
	require.NoError(t, err)

	// The home loses the later entries, and has the handoff open again.
	c.Hub.Git(t, "update-ref", c.home.Namespace().Inbox("fixer", p.ID), s.Tip)
	c.Hub.Git(t, "update-ref", c.lane(p.ID), s.LaneTip)
	require.Equal(t, Open, c.load(t, c.fixer, p).Phase())
	_, _, err = c.tryClaim(t.Context(), c.fixer, p)
	refusedAs(t, "replayed", err)
}

func TestUsedTokensAreBounded(t *testing.T) {
	m := UsedTokens{Path: filepath.Join(t.TempDir(), "used")}
	rec := func(i int) *record.Record {
		return &record.Record{Token: fmt.Sprintf("obo_%032x", i), Digest: fmt.Sprintf("sha256:%064x", i), Event: record.Acknowledged}
	}
	var all strings.Builder
	for i := range maxUsed {
		fmt.Fprintf(&all, "%s %s ho_0\n", rec(i).Token, rec(i).Digest)
	}
	require.NoError(t, private.WriteFile(m.Path, []byte(all.String())))
	m.note(&State{ID: "ho_1", Offer: rec(maxUsed), Receipt: rec(maxUsed)})
	lines, err := m.lines()
	require.NoError(t, err)
	assert.Len(t, lines, maxUsed/2+1)
	refusedAs(t, "replayed", m.checkUnused("ho_1", rec(maxUsed)))
	refusedAs(t, "replayed", m.checkUnused("ho_0", rec(maxUsed-1)))
	other := rec(maxUsed + 1)
	other.Digest = rec(maxUsed).Digest
	refusedAs(t, "replayed", m.checkUnused("ho_2", other))
	require.NoError(t, m.checkUnused("ho_0", rec(0)), "the oldest are forgotten")
	require.NoError(t, UsedTokens{}.checkUnused("ho_1", rec(maxUsed)))
}
