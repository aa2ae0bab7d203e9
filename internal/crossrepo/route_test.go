package crossrepo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// ask sends a handoff that waits for a decision, as a workspace does.
func (v *venue) ask(t *testing.T, s *seat, edit func(*handoff.Envelope)) handoff.ID {
	t.Helper()
	env := v.envelope(t, s.name, "x")
	env.Target.Agent, env.Status = nil, handoff.StatusNeedsClarification
	env.Questions = []handoff.Question{{Question: "Which branch?", Options: []string{}}}
	if edit != nil {
		edit(env)
	}
	_, err := s.Emit(t.Context(), workspace.Emission{Envelope: env, Home: s.home})
	require.NoError(t, err)
	return env.ID
}

// A decision moves the handoff, at both kinds of home; whoever looks with an old
// copy finds it where it went, and its sender does not deliver it again.
func TestRouteAtBothHomes(t *testing.T) {
	for name, v := range map[string]*venue{"local": localVenue(t), "hub": hubVenue(t, byPath())} {
		t.Run(name, func(t *testing.T) {
			source, fixer, person := v.seat(t, "investigator"), v.seat(t, "fixer"), v.seat(t, "alice@example.com", sign.RoleRoot)
			id := v.ask(t, source, nil)
			waits := lifecycle.Place{Agent: refs.Nobody, ID: id}
			source.look(t, waits)

			c, err := person.Case(t.Context(), string(id))
			require.NoError(t, err)
			require.NoError(t, person.Route(t.Context(), c, "fixer", true))
			assert.Equal(t, "fixer", c.State.Agent)
			assert.Equal(t, "true", workspace.DecodeResults(workspace.Routed(c.State).Data)[workspace.Clarify])
			assert.Empty(t, v.inbox(t, waits))
			assert.NotEmpty(t, v.inbox(t, lifecycle.Place{Agent: "fixer", ID: id}))

			done, err := source.Sync(t.Context(), nil)
			require.NoError(t, err)
			assert.Empty(t, done)
			assert.Empty(t, v.inbox(t, waits))
			assert.Equal(t, []string{"offered", "routed"}, v.log(t, id))

			h := fixer.mustClaim(t, lifecycle.Place{Agent: "fixer", ID: id})
			_, _, err = fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
			require.NoError(t, err)
			_, err = source.Sync(t.Context(), nil)
			require.NoError(t, err)
			assert.Empty(t, source.git.Git(t, "for-each-ref", "refs/handoffs/sent", "refs/handoffs/outbox"))
			assert.Equal(t, []string{"offered", "routed", "claimed", "acknowledged"}, v.log(t, id))
		})
	}
}

// A hub that lost the inbox ref of a routed handoff is given the payload again,
// where it was: an offer that is repeated changes nothing, and undoes no decision.
func TestRouteLostAtTheHub(t *testing.T) {
	v := hubVenue(t, byPath())
	source, person := v.seat(t, "investigator"), v.seat(t, "alice@example.com", sign.RoleRoot)
	id := v.ask(t, source, nil)
	c, err := person.Case(t.Context(), string(id))
	require.NoError(t, err)
	require.NoError(t, person.Route(t.Context(), c, "fixer", false))
	v.at.Git(t, "update-ref", "-d", refs.LocalSpace.Inbox("fixer", id))

	_, err = source.Sync(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, v.inbox(t, lifecycle.Place{Agent: refs.Nobody, ID: id}))
	assert.NotEmpty(t, v.inbox(t, lifecycle.Place{Agent: "fixer", ID: id}))
	v.seat(t, "fixer").mustClaim(t, lifecycle.Place{Agent: "fixer", ID: id})
}

// An answer ends the handoff and offers its child in one step; whoever is late
// makes no second child.
func TestSendBackOnce(t *testing.T) {
	v := hubVenue(t, byPath())
	source, fixer := v.seat(t, "investigator"), v.seat(t, "fixer")
	alice, bob := v.seat(t, "alice@example.com", sign.RoleRoot), v.seat(t, "bob@example.com", sign.RoleRoot)
	id := v.ask(t, source, func(env *handoff.Envelope) {
		env.Skills = &handoff.Skills{Invoked: []string{"x"}}
		env.Rollback = &handoff.Rollback{OnFailure: "investigator", Checkpoint: strings.Repeat("a", 40)}
	})
	one, err := alice.Case(t.Context(), string(id))
	require.NoError(t, err)
	two, err := bob.Case(t.Context(), string(id))
	require.NoError(t, err)
	reply := workspace.Reply{Goal: "Go on", Text: "main", Reason: "answered"}

	// The source may reroute its own, but not answer itself.
	for _, agent := range []*seat{source, fixer} {
		c, err := agent.Case(t.Context(), string(id))
		require.NoError(t, err)
		_, err = agent.SendBack(t.Context(), c, reply)
		assert.True(t, fault.Is(err, "untrusted_key"), "%s: %v", agent.name, err)
	}

	done, err := alice.SendBack(t.Context(), one, reply)
	require.NoError(t, err)
	assert.Equal(t, record.Rerouted, done.State.Receipt.Event)
	assert.Equal(t, done.Next, done.State.Receipt.Next)
	_, err = bob.SendBack(t.Context(), two, reply)
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), err)
	assert.Equal(t, []string{"offered", "rerouted"}, v.log(t, id))
	assert.Equal(t, []string{"offered"}, v.log(t, done.Next))

	s := source.look(t, lifecycle.Place{Agent: "investigator", ID: done.Next})
	verified, err := source.Engine.Verify(t.Context(), source.home, s, lifecycle.Options{})
	require.NoError(t, err)
	env := verified.Envelope()
	assert.Equal(t, "investigator", env.Source.Agent)
	assert.Equal(t, "investigator", *env.Target.Agent)
	assert.Equal(t, "Go on: Fix the login", env.Goal)
	assert.Equal(t, "main", env.Summary)
	assert.Equal(t, "Nil session in auth.go", env.Lineage[0].Summary)
	assert.Equal(t, handoff.StatusComplete, env.Status)
	assert.Empty(t, env.Questions)
	assert.Nil(t, env.Skills)
	assert.Equal(t, "investigator", env.Rollback.OnFailure)
	assert.Equal(t, alice.Engine.Signer.KID(), verified.Offer().Key)
}
