package guard_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// onTop returns a commit that a key signed and that has another one as its parent.
func (h *fixture) onTop(t *testing.T, e *lifecycle.Engine, oid string) string {
	t.Helper()
	o, err := h.repo.Read(t.Context(), oid, record.MaxCommit)
	require.NoError(t, err)
	c, err := record.ParseCommit(o.Body)
	require.NoError(t, err)
	rec := *c.Record
	rec.Event, rec.Actor, rec.Key, rec.Previous = record.Claimed, e.Author.Actor, e.Author.Signer.KID(), oid
	rec.Nonce, rec.Lease = "000102030405060708090a0b0c0d0e0f", h.Now().Add(lifecycle.DefaultLease)
	rec.At, rec.Counts, rec.Status, rec.Principal = h.Now(), "", "", ""
	return h.commit(t, e, rec, c.Tree, oid)
}

// A push that logs one step and puts another one on top of it is refused. A push that puts a step on an inbox
// ref and logs nothing is refused as well.
func TestUnlogged(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	p := h.offer(t, boss, "fixer")
	push, _ := h.claiming(t, fixer, p)
	require.Len(t, push, 2)
	require.Equal(t, refs.LocalNamespace.Inbox(p.Agent, p.ID), push[0].Ref)
	push[0].New = h.onTop(t, fixer, push[0].New)
	h.refuses(t, "unlogged", push)
	h.refuses(t, "unlogged", push[:1])
}

// If a step reached only the inbox ref before there was a guard, the next step overwrites it, whoever takes it.
func TestUnloggedIsOverwritten(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	p := h.offer(t, boss, "fixer")
	inbox := refs.LocalNamespace.Inbox(p.Agent, p.ID)
	tip, err := h.repo.Resolve(t.Context(), inbox)
	require.NoError(t, err)
	left := h.onTop(t, fixer, tip)
	require.NoError(t, h.repo.Apply(t.Context(), refs.Transaction{Edits: []refs.Edit{{Ref: inbox, Old: tip, New: left}}}))
	push, held := h.claiming(t, fixer, p)
	assert.Equal(t, left, push[0].Old)
	h.accept(t, push)
	h.accept(t, h.acknowledging(t, fixer, held))
}
