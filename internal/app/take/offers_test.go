package take

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/enginetest"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/sign"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// lister counts how often the inboxes are listed.
type lister struct {
	*workspace.Workspace
	lists int
}

func (l *lister) InboxItems(ctx context.Context, homes ...lifecycle.Home) ([]*workspace.Item, error) {
	l.lists++
	return l.Workspace.InboxItems(ctx, homes...)
}

// The refs of an inbox are listed once, and not again after each few offers that are refused: somebody may have
// put thousands there.
func TestRefusedOffersAreListedOnce(t *testing.T) {
	f := enginetest.NewLocal(t)
	repo := enginetest.Open(t, f.Hub)
	home := &lifecycle.LocalHome{Repo: repo, RepoID: "local:000102030405060708090a0b0c0d0e0f"}
	engine := func(name string) *lifecycle.Engine {
		key := enginetest.NewKey(t)
		f.Pin(t, enginetest.Entry(key, name, sign.RoleSender, sign.RoleRecipient))
		return lifecycle.New(lifecycle.Setup{
			Repo: repo, Trust: f.Trust(t), Signer: key, Actor: name, Now: f.Now, Random: rand.Reader,
			Intents: lifecycle.Intents{Dir: repo.Own("intents")},
		})
	}
	source, fixer := engine("investigator"), engine("fixer")
	const refused = 5 * tried
	for range refused {
		p, err := source.Author.Prepare(t.Context(), home, f.Envelope(t, "investigator", "fixer"), "")
		require.NoError(t, err)
		_, err = source.Offer(t.Context(), home, p)
		require.NoError(t, err)
	}
	// The key of the sender still signs, and may offer nothing any more.
	for i := range f.Trusted {
		if f.Trusted[i].KID == source.Author.Signer.KID() {
			f.Trusted[i].Roles = []string{sign.RoleRecipient}
		}
	}
	fixer.Keys.Trust = f.Trust(t)

	l := &lister{Workspace: &workspace.Workspace{
		Homes: workspace.Homes{Repo: repo, Aliases: crossrepo.Aliases{Repo: repo}, Local: home, Engine: fixer, OnWarn: func(error) {}},
		Agent: "fixer",
	}}
	h := &Handler{Agent: "fixer", Claims: work.ClaimsOf(repo), Engine: fixer, Local: home, Workspace: l, Work: l.Work()}
	s := &search{Handler: h, Request: Request{Lease: time.Hour}}
	c := &choice{search: s, skipped: map[handoff.ID]bool{}}
	_, err := c.resumeAny(t.Context())
	assert.True(t, fault.Is(err, fault.Refused), "%v", err)
	assert.Len(t, c.refused, refused)
	assert.Equal(t, 2, l.lists, "before and after the look")
}
