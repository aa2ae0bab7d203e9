package guard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// at sets the inbox ref of a handoff to a commit, as if before there was a guard or as git leaves it; "" deletes
// the ref. It returns the edit of a push that moves the ref to another commit.
func (h *fixture) at(t *testing.T, p lifecycle.Place, oid, to string) []refs.Edit {
	t.Helper()
	inbox := refs.LocalNamespace.Inbox(p.Agent, p.ID)
	now, err := h.repo.Resolve(t.Context(), inbox)
	require.NoError(t, err)
	require.NoError(t, h.repo.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{{Ref: inbox, Old: now, New: oid}}}))
	return []refs.Edit{{Ref: inbox, Old: oid, New: to}}
}

// A push may create an inbox ref that git left out, and move it back from a step without an entry. It must lead
// to the commit of the last logged step, and not to another commit with the same record.
func TestCheck_repaired(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	stranger := h.engine(t, "fixer")
	p := h.offer(t, boss, "fixer")
	inbox := refs.LocalNamespace.Inbox(p.Agent, p.ID)
	offered, err := h.repo.Resolve(t.Context(), inbox)
	require.NoError(t, err)
	claiming, _ := h.claiming(t, fixer, p)
	h.refuses(t, "unlogged", h.at(t, p, "", claiming[0].New))
	h.accept(t, h.at(t, p, "", offered))

	h.claim(t, fixer, p)
	claimed, err := h.repo.Resolve(t.Context(), inbox)
	require.NoError(t, err)
	h.accept(t, h.at(t, p, "", claimed))
	h.accept(t, h.at(t, p, h.onTop(t, fixer, claimed), claimed))

	o, err := h.repo.Read(t.Context(), claimed, record.MaxCommit)
	require.NoError(t, err)
	c, err := record.ParseCommit(o.Body)
	require.NoError(t, err)
	twin := h.commit(t, stranger, *c.Record, c.Tree, offered)
	require.NotEqual(t, claimed, twin)
	for name, was := range map[string]string{"left out": "", "unlogged": h.onTop(t, fixer, claimed)} {
		t.Run(name, func(t *testing.T) { h.refuses(t, "untrusted_key", h.at(t, p, was, twin)) })
	}
	h.refuses(t, "unlogged", h.at(t, p, claimed, twin))
	h.refuses(t, "unlogged", h.at(t, p, offered, claimed))
	h.refuses(t, "unlogged", h.at(t, p, claimed, offered))
	h.refuses(t, "unlogged", h.at(t, p, "", offered))
}

// A push must not move a handoff out of the inbox of its agent, or create its ref in another inbox. The inbox of
// handoffs that wait for a decision, which clients read as well, is no exception.
func TestCheck_repairedElsewhere(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	person := h.agent(t, "alice@example.com", "root")
	h.know(t, boss, fixer, person)
	sent, routed := h.offer(t, boss, "fixer"), h.offer(t, boss, "_")
	h.accept(t, h.catch(func(home lifecycle.Home) error {
		_, err := person.Route(t.Context(), home, routed, "fixer", "")
		return err
	}))
	for name, id := range map[string]handoff.ID{"sent": sent.ID, "routed": routed.ID} {
		t.Run(name, func(t *testing.T) {
			p := lifecycle.Place{Agent: "fixer", ID: id}
			tip, err := h.repo.Resolve(t.Context(), refs.LocalNamespace.Inbox("fixer", id))
			require.NoError(t, err)
			gone := refs.Edit{Ref: refs.LocalNamespace.Inbox("fixer", id), Old: tip}
			for _, other := range []string{"_", "boss"} {
				made := refs.Edit{Ref: refs.LocalNamespace.Inbox(other, id), New: tip}
				h.refuses(t, "audience_mismatch", []refs.Edit{gone, made})
				h.refuses(t, "audience_mismatch", []refs.Edit{made, gone})
				h.at(t, p, "", "")
				h.refuses(t, "audience_mismatch", []refs.Edit{made})
				h.accept(t, []refs.Edit{{Ref: gone.Ref, New: tip}})
			}
		})
	}
}

// A handoff that was disputed before there was a guard can be ended only by a root key.
func TestCheck_disputed(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	person := h.agent(t, "alice@example.com", "root")
	h.know(t, boss, fixer, person)
	p := h.offer(t, boss, "fixer")
	claiming, _ := h.claiming(t, fixer, p)
	wrong := h.forge(t, boss, p, func(*record.Record) {})
	lane := refs.LocalNamespace.Lane(p.ID)
	require.NoError(t, h.repo.Apply(t.Context(), refs.Transaction{Edits: wrong[1:]}))
	require.Equal(t, lane, claiming[1].Ref)
	o, err := h.repo.Read(t.Context(), claiming[1].New, record.MaxCommit)
	require.NoError(t, err)
	c, err := record.ParseCommit(o.Body)
	require.NoError(t, err)
	claiming[1].Old = wrong[1].New
	claiming[1].New = h.commit(t, fixer, *c.Record, c.Tree, wrong[1].New)
	h.refuses(t, "disputed", claiming)
	h.accept(t, h.catch(func(home lifecycle.Home) error {
		_, err := person.Withdraw(t.Context(), home, p, record.Revoked, lifecycle.Outcome{})
		return err
	}))
}

// A source releases a claim that does not count at the hub, and then withdraws the handoff.
func TestCheck_releasedElsewhere(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	p := h.offer(t, boss, "fixer")
	h.claim(t, fixer, p)
	h.Trusted = h.Trusted[:1]
	h.know(t, boss)
	revoking := func() []refs.Edit {
		return h.catch(func(home lifecycle.Home) error {
			_, err := boss.Withdraw(t.Context(), home, p, record.Revoked, lifecycle.Outcome{Force: true})
			return err
		})
	}
	h.refuses(t, "disputed", revoking()[:1])
	h.accept(t, revoking()[:2])
	h.accept(t, revoking())
}

// A handoff that waits for a decision leaves that inbox when it is routed to an agent.
func TestCheck_routed(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	person := h.agent(t, "alice@example.com", "root")
	h.know(t, boss, fixer, person)
	p := h.offer(t, boss, "_")
	push := h.catch(func(home lifecycle.Home) error {
		_, err := person.Route(t.Context(), home, p, "fixer", "")
		return err
	})
	require.Len(t, push, 3)
	require.Equal(t, refs.LocalNamespace.Inbox("_", p.ID), push[2].Ref)
	h.refuses(t, "disputed", push[:2])
	h.accept(t, push)
}
