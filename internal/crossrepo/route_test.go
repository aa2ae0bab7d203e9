package crossrepo_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/app/decide"
	"githandoff/internal/app/emit"
	"githandoff/internal/app/finish"
	"githandoff/internal/app/hubsync"
	"githandoff/internal/fault"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// ask sends a handoff that waits for a decision.
func (v *fixture) ask(t *testing.T, s *agent, edit func(*handoff.Envelope)) handoff.ID {
	t.Helper()
	env := v.Envelope(t, s.name, "x")
	env.Target.Agent, env.Status = nil, handoff.StatusNeedsClarification
	env.Questions = []handoff.Question{{Question: "Which branch?", Options: []string{}}}
	if edit != nil {
		edit(env)
	}
	_, err := emit.New(s.Workspace).Emit(t.Context(), emit.Request{Envelope: env, Home: s.home})
	require.NoError(t, err)
	return env.ID
}

// A decision moves the handoff to an agent, at both kinds of home. A clone with an old copy finds the handoff
// there, and the sender does not deliver it again.
func TestRouteAtBothHomes(t *testing.T) {
	for name, v := range map[string]*fixture{"local": newLocalFixture(t), "hub": newHubFixture(t, byPath())} {
		t.Run(name, func(t *testing.T) {
			source, fixer, person := v.agent(t, "investigator"), v.agent(t, "fixer"), v.agent(t, "alice@example.com", sign.RoleRoot)
			id := v.ask(t, source, nil)
			waits := lifecycle.Place{Agent: handoff.Nobody, ID: id}
			source.look(t, waits)

			c, err := decide.New(person.Workspace).Case(t.Context(), string(id))
			require.NoError(t, err)
			require.NoError(t, decide.New(person.Workspace).Route(t.Context(), c, "fixer", true))
			assert.Equal(t, "fixer", c.State.Agent)
			assert.Equal(t, "true", receipt.DecodeResults(c.State.Routed().Data)[decide.Clarify])
			assert.Empty(t, v.inbox(t, waits))
			assert.NotEmpty(t, v.inbox(t, lifecycle.Place{Agent: "fixer", ID: id}))

			done, err := hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
			require.NoError(t, err)
			assert.Empty(t, done)
			assert.Empty(t, v.inbox(t, waits))
			assert.Equal(t, []string{"offered", "routed"}, v.log(t, id))

			h := fixer.mustClaim(t, lifecycle.Place{Agent: "fixer", ID: id})
			_, _, err = fixer.Engine.Acknowledge(t.Context(), fixer.home, h, lifecycle.Outcome{})
			require.NoError(t, err)
			_, err = hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
			require.NoError(t, err)
			assert.Empty(t, source.git.Git(t, "for-each-ref", "refs/handoffs/sent", "refs/handoffs/outbox"))
			assert.Equal(t, []string{"offered", "routed", "claimed", "acknowledged"}, v.log(t, id))
		})
	}
}

// A hub that lost the inbox ref of a routed handoff gets the payload again in the inbox to which it was routed.
// A repeated offer undoes no decision.
func TestRouteLostAtTheHub(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, person := v.agent(t, "investigator"), v.agent(t, "alice@example.com", sign.RoleRoot)
	id := v.ask(t, source, nil)
	c, err := decide.New(person.Workspace).Case(t.Context(), string(id))
	require.NoError(t, err)
	require.NoError(t, decide.New(person.Workspace).Route(t.Context(), c, "fixer", false))
	v.Hub.Git(t, "update-ref", "-d", refs.LocalNamespace.Inbox("fixer", id))

	_, err = hubsync.New(source.Workspace, finish.New(source.Workspace)).Sync(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, v.inbox(t, lifecycle.Place{Agent: handoff.Nobody, ID: id}))
	assert.NotEmpty(t, v.inbox(t, lifecycle.Place{Agent: "fixer", ID: id}))
	v.agent(t, "fixer").mustClaim(t, lifecycle.Place{Agent: "fixer", ID: id})
}

// An answer ends the handoff and offers its child in one step. A second answer makes no second child.
func TestSendBackOnce(t *testing.T) {
	v := newHubFixture(t, byPath())
	source, fixer := v.agent(t, "investigator"), v.agent(t, "fixer")
	alice, bob := v.agent(t, "alice@example.com", sign.RoleRoot), v.agent(t, "bob@example.com", sign.RoleRoot)
	id := v.ask(t, source, func(env *handoff.Envelope) {
		env.Skills = &handoff.Skills{Invoked: []string{"x"}}
		env.Rollback = &handoff.Rollback{OnFailure: "investigator", Checkpoint: strings.Repeat("a", gittest.Objects().Digits())}
	})
	one, err := decide.New(alice.Workspace).Case(t.Context(), string(id))
	require.NoError(t, err)
	two, err := decide.New(bob.Workspace).Case(t.Context(), string(id))
	require.NoError(t, err)
	reply := decide.Reply{Goal: "Go on", Text: "main", Reason: "answered"}

	// The source may reroute its own handoff, but may not answer it.
	for _, agent := range []*agent{source, fixer} {
		c, err := decide.New(agent.Workspace).Case(t.Context(), string(id))
		require.NoError(t, err)
		_, err = decide.New(agent.Workspace).SendBack(t.Context(), c, reply)
		assert.True(t, fault.Is(err, "untrusted_key"), "%s: %v", agent.name, err)
	}

	done, err := decide.New(alice.Workspace).SendBack(t.Context(), one, reply)
	require.NoError(t, err)
	assert.Equal(t, record.Rerouted, done.State.Receipt.Event)
	assert.Equal(t, done.Next, done.State.Receipt.Next)
	_, err = decide.New(bob.Workspace).SendBack(t.Context(), two, reply)
	assert.Equal(t, fault.Conflict, fault.CodeOf(err), err)
	assert.Equal(t, []string{"offered", "rerouted"}, v.log(t, id))
	assert.Equal(t, []string{"offered"}, v.log(t, done.Next))

	s := source.look(t, lifecycle.Place{Agent: "investigator", ID: done.Next})
	verified, err := source.Engine.Verifier.Verify(t.Context(), source.home, s, lifecycle.Options{})
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
	assert.Equal(t, alice.Engine.Author.Signer.KID(), verified.Offer().Key)
}
