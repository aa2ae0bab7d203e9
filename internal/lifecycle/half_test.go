package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// half is a home that applies only some edits of a transaction: those whose bits are set in mask. A server
// without atomic pushes may do that, or a git that is killed between two refs.
type half struct {
	*LocalHome
	mask  int
	edits int  // number of edits of the transaction
	lane  bool // whether the edit of the lane was applied
}

func (h *half) Apply(ctx context.Context, t refs.Transaction) error {
	if err := h.Repo.Store.Write(t.Objects...); err != nil {
		return err
	}
	h.edits = len(t.Edits)
	for i, e := range t.Edits {
		if h.mask>>i&1 == 0 {
			continue
		}
		h.lane = h.lane || strings.HasPrefix(e.Ref, h.Namespace().Lanes())
		if err := h.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{e}}); err != nil {
			return err
		}
	}
	return errKilled
}

// halves returns the steps that are taken in part, the phase before the step, and the phase after it if the lane
// has the entry.
func halves() map[string]struct {
	held   bool
	before Phase
	after  Phase
	take   func(t *testing.T, s *halfStep, home Home) error
} {
	type step = struct {
		held   bool
		before Phase
		after  Phase
		take   func(t *testing.T, s *halfStep, home Home) error
	}
	return map[string]step{
		"offer": {false, Absent, Open, func(t *testing.T, s *halfStep, home Home) error {
			s.payload = s.prepare(t, s.source, "fixer")
			s.p.ID = s.payload.Record.ID
			_, err := s.source.Offer(t.Context(), home, s.payload)
			return err
		}},
		"route": {false, Open, Open, func(t *testing.T, s *halfStep, home Home) error {
			s.payload = s.prepare(t, s.source, handoff.Nobody)
			_, err := s.source.Offer(t.Context(), s.home, s.payload)
			require.NoError(t, err)
			s.p.ID = s.payload.Record.ID
			_, err = s.root.Route(t.Context(), home, Place{Agent: handoff.Nobody, ID: s.p.ID}, "fixer", "")
			return err
		}},
		"claim": {false, Open, Held, func(t *testing.T, s *halfStep, home Home) error {
			_, err := s.holder.Claim(t.Context(), home, s.request())
			return err
		}},
		"progress": {true, Held, Held, func(t *testing.T, s *halfStep, home Home) error {
			_, err := s.holder.Renew(t.Context(), home, s.h, Renewal{Lease: time.Hour})
			return err
		}},
		"release": {true, Held, Open, func(t *testing.T, s *halfStep, home Home) error {
			_, err := s.holder.Release(t.Context(), home, s.h, false)
			return err
		}},
		"acknowledge": {true, Held, Ended, func(t *testing.T, s *halfStep, home Home) error {
			_, _, err := s.holder.Acknowledge(t.Context(), home, s.h, Outcome{})
			return err
		}},
		"revoke": {false, Open, Ended, func(t *testing.T, s *halfStep, home Home) error {
			_, err := s.source.Withdraw(t.Context(), home, s.p, record.Revoked, Outcome{})
			return err
		}},
	}
}

// halfStep is a step of which a home applies only a part.
type halfStep struct {
	*roles
	payload *Payload
	p       Place
	h       ClaimProof
}

func (s *halfStep) request() ClaimRequest {
	return ClaimRequest{
		Place: s.p, ByID: true, Nonces: []string{s.h.Nonce},
		Record: func(r *record.Record) error { s.h = ClaimProof{Place: s.p, Nonce: r.Nonce}; return nil },
	}
}

// The lane decides. Whichever part of a step reached the refs of a home, every other clone reads the state from
// the lane and can go on with the handoff. It needs nothing from the clone that took the step.
func TestHalfAStep(t *testing.T) {
	for name, step := range halves() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for mask, edits := 0, 1; mask < 1<<edits; mask++ {
				s := &halfStep{roles: newRoles(t), p: Place{Agent: "fixer"}}
				s.payload = s.prepare(t, s.source, "fixer")
				if name != "offer" && name != "route" {
					_, err := s.source.Offer(t.Context(), s.home, s.payload)
					require.NoError(t, err)
					s.p.ID = s.payload.Record.ID
				}
				if step.held {
					s.h = s.claim(t, s.holder, s.p)
				}
				home := &half{LocalHome: s.home, mask: mask}
				require.ErrorIs(t, step.take(t, s, home), errKilled)
				edits = home.edits
				t.Run(fmt.Sprintf("%b", mask), func(t *testing.T) {
					want := step.before
					if home.lane {
						want = step.after
					}
					left := s.snapshot(t)
					s.elsewhere(t)
					s.goesOn(t, want)
					if t.Failed() {
						t.Log(left)
					}
				})
			}
		})
	}
}

// A handoff has a snapshot, and a killed git left the first edits of a step. When the handoff has ended, no
// inbox has the snapshot any more.
func TestHalfAStepWithSnapshot(t *testing.T) {
	for name, step := range halves() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for made, edits := 0, 1; made <= edits; made++ {
				s := &halfStep{roles: newRoles(t), p: Place{Agent: "fixer"}}
				s.work = s.stash(t)
				s.payload = s.prepare(t, s.source, "fixer")
				if name != "offer" && name != "route" {
					_, err := s.source.Offer(t.Context(), s.home, s.payload)
					require.NoError(t, err)
					s.p.ID = s.payload.Record.ID
				}
				if step.held {
					s.h = s.claim(t, s.holder, s.p)
				}
				home := &half{LocalHome: s.home, mask: 1<<made - 1}
				require.ErrorIs(t, step.take(t, s, home), errKilled)
				edits = home.edits
				want := step.before
				if home.lane {
					want = step.after
				}
				s.elsewhere(t)
				s.goesOn(t, want)
				list, err := s.home.Repo.List(t.Context(), refs.Root+"work/")
				require.NoError(t, err)
				assert.Empty(t, list, "after %d of %d edits", made, edits)
			}
		})
	}
}

// stash writes the commit of a snapshot.
func (w *fixture) stash(t *testing.T) *handoff.Work {
	t.Helper()
	who := "x <x@githandoff.invalid> 1790000000 +0000"
	o := refs.NewObject(gittest.Objects(), "commit", []byte("tree "+gittest.Objects().EmptyTree()+"\nauthor "+who+"\ncommitter "+who+"\n\nWIP\n"))
	require.NoError(t, w.home.Repo.Store.Write(refs.NewObject(gittest.Objects(), "tree", nil), o))
	return &handoff.Work{Commit: o.OID, Head: o.OID}
}

// elsewhere removes what the clone that took the step recorded about it.
func (s *halfStep) elsewhere(t *testing.T) {
	t.Helper()
	for _, e := range s.engines {
		e.Recovery.Intents = Intents{Dir: t.TempDir()}
	}
}

// goesOn requires a phase, and then that the handoff can be claimed and ended.
func (s *halfStep) goesOn(t *testing.T, want Phase) {
	t.Helper()
	state := s.load(t, s.peer, s.p)
	require.Equal(t, want, state.Phase())
	if want == Absent || !state.Delivered() && want != Ended {
		_, err := s.source.Offer(t.Context(), s.home, s.payload)
		require.NoError(t, err, "its sender delivers it again")
		state = s.load(t, s.peer, s.p)
	}
	if state.To == handoff.Nobody {
		_, err := s.root.Route(t.Context(), s.home, s.p, "fixer", "")
		require.NoError(t, err)
		state = s.load(t, s.peer, s.p)
	}
	if state.Phase() == Held {
		require.Equal(t, s.h.Nonce, state.Claim.Nonce)
		_, err := s.peer.Claim(t.Context(), s.home, ClaimRequest{Place: s.p, ByID: true})
		require.ErrorContains(t, err, "is held by")
		_, err = s.holder.Renew(t.Context(), s.home, s.h, Renewal{Lease: time.Hour})
		require.NoError(t, err, "its holder goes on")
		_, err = s.source.Release(t.Context(), s.home, ClaimProof{Place: s.p}, true)
		require.NoError(t, err, "its source breaks the claim")
	}
	if want != Ended {
		h := s.claim(t, s.peer, s.p)
		_, err := s.peer.Renew(t.Context(), s.home, h, Renewal{Lease: time.Hour})
		require.NoError(t, err)
		_, _, err = s.peer.Acknowledge(t.Context(), s.home, h, Outcome{})
		require.NoError(t, err)
	}
	require.NoError(t, s.peer.Sweep(t.Context(), s.home, s.p))
	state = s.load(t, s.peer, s.p)
	assert.Equal(t, Ended, state.Phase())
	for _, e := range state.Entries {
		assert.NoError(t, e.Dispute)
	}
	assert.Empty(t, s.places(t), "nothing is in an inbox")
}

// An offer that was interrupted is made again with another signature. The new commit replaces that of the
// interrupted offer.
func TestOfferOverwritesWhatWasCutOff(t *testing.T) {
	c := newRoles(t)
	first := c.prepare(t, c.source, "fixer")
	_, err := c.source.Offer(t.Context(), &half{LocalHome: c.home, mask: 1}, first)
	require.ErrorIs(t, err, errKilled)
	again, err := c.source.Author.Prepare(t.Context(), c.home, first.Envelope, "")
	require.NoError(t, err)
	require.NotEqual(t, first.Commit.OID, again.Commit.OID)
	_, err = c.source.Offer(t.Context(), c.home, again)
	require.NoError(t, err)
	p := Place{Agent: "fixer", ID: first.Record.ID}
	assert.Equal(t, again.Commit.OID, c.load(t, c.peer, p).Tip)
	c.claim(t, c.peer, p)
}
