package lifecycle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/sign"
)

// walk is a handoff on which honest agents take random steps. Its source trusts other keys than everybody else.
type walk struct {
	*roles
	t      *testing.T
	source *Engine // who ends it: an agent, or a person with a root key
	agents []*Engine
	claims map[*Engine]ClaimProof // the last claim of each agent
	place  Place
}

// distrust returns e in a clone that does not know the key of another engine as everybody else does.
func (w *walk) distrust(t *rapid.T, e, of *Engine) *Engine {
	retired := w.Now().Add(rapid.SampledFrom([]time.Duration{-time.Minute, time.Minute, DefaultLease}).Draw(t, "retired in"))
	switch how := rapid.SampledFrom([]string{"known", "known", "unknown", "retired", "by another name", "no recipient"}).Draw(t, "key"); how {
	case "known":
		return e
	case "unknown":
		return w.elsewhere(w.t, e, nil, of)
	default:
		return w.elsewhere(w.t, e, func(entry *sign.TrustEntry) {
			switch how {
			case "retired":
				entry.Retired = retired.UTC().Format(time.RFC3339)
			case "by another name":
				entry.Agents = []string{"reviewer"}
			case "no recipient":
				entry.Roles = []string{sign.RoleSender}
			}
		}, of)
	}
}

// phase returns the phase of the handoff for everybody but the source.
func (w *walk) phase() Phase { return w.load(w.t, again(w.reviewer), w.place).Phase() }

func (w *walk) agent(t *rapid.T) (e *Engine, claim ClaimProof, claimed bool) {
	e = w.agents[rapid.IntRange(0, len(w.agents)-1).Draw(t, "agent")]
	claim, claimed = w.claims[e]
	return e, claim, claimed
}

func (w *walk) Claim(t *rapid.T) {
	e, _, _ := w.agent(t)
	if _, claim, err := w.tryClaim(w.t.Context(), again(e), w.place); err == nil {
		w.claims[e] = claim
	}
}

func (w *walk) Renew(t *rapid.T) {
	if e, claim, claimed := w.agent(t); claimed {
		_, _ = again(e).Renew(w.t.Context(), w.home, claim, Renewal{}) // refused if others hold it
	}
}

func (w *walk) Release(t *rapid.T) {
	e, claim, claimed := w.agent(t)
	if !claimed {
		return
	}
	if _, err := again(e).Release(w.t.Context(), w.home, claim, false); err == nil {
		delete(w.claims, e)
	}
}

func (w *walk) Break(*rapid.T) {
	_, _ = again(w.source).Release(w.t.Context(), w.home, ClaimProof{Place: w.place}, true) // refused if nobody holds it
}

func (w *walk) revoke(t *rapid.T, force bool) error {
	s, err := withdraw(w.t, w.roles, again(w.source), w.place, force)
	if err == nil {
		assert.Equal(t, Ended, s.Phase())
		assert.Equal(t, Ended, w.phase())
	}
	return err
}

func (w *walk) Revoke(t *rapid.T) { _ = w.revoke(t, false) }

func (w *walk) RevokeByForce(t *rapid.T) {
	before := w.phase()
	err := w.revoke(t, true)
	if fault.Is(err, fault.Claimed) && before == Held {
		_, err = again(w.source).Release(w.t.Context(), w.home, ClaimProof{Place: w.place}, true)
		require.NoError(t, err)
		w.Pass(time.Second)
		err = w.revoke(t, true)
	}
	require.True(t, err == nil || before == Ended, "%s, and not revoked: %v", before, err)
}

func (w *walk) Check(t *rapid.T) {
	require.NotEqual(t, Disputed, w.phase())
	w.Pass(rapid.SampledFrom([]time.Duration{time.Second, DefaultLease / 2, DefaultLease + time.Second, 2*DefaultLease + time.Second}).Draw(t, "passes"))
}

// What a source ends is over for everybody, and nothing that it does disputes the handoff, whatever keys it
// trusts.
func TestSourceThatTrustsOtherKeys(t *testing.T) {
	gittest.Checks(t, 12)
	rapid.Check(t, func(rt *rapid.T) {
		c := newRoles(t)
		defer c.repo.Close()
		w := &walk{roles: c, t: t, source: c.source, agents: []*Engine{c.holder, c.peer, c.agent(t, "fixer")}, claims: map[*Engine]ClaimProof{}}
		if rapid.Bool().Draw(rt, "by root") {
			w.source = c.root
		}
		for _, e := range w.agents {
			w.source = w.distrust(rt, w.source, e)
		}
		w.place = c.offer(t, c.source, "fixer")
		rt.Repeat(map[string]func(*rapid.T){
			"claim": w.Claim, "claim again": w.Claim, "claim too": w.Claim, "renew": w.Renew, "release": w.Release,
			"break": w.Break, "revoke": w.Revoke, "revoke by force": w.RevokeByForce, "": w.Check,
		})
		w.Pass(2*DefaultLease + time.Second)
		if w.phase() != Ended {
			require.NoError(rt, w.revoke(rt, true))
		}
	})
}
