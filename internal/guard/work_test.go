package guard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
)

// snapshot writes a snapshot with the shape of a stash.
func (h *fixture) snapshot(t *testing.T, message string) handoff.Work {
	t.Helper()
	commit := func(message string, parents ...string) string {
		body := "tree " + gittest.Objects().EmptyTree() + "\n"
		for _, p := range parents {
			body += "parent " + p + "\n"
		}
		body += "author " + who + " 0 +0000\ncommitter " + who + " 0 +0000\n\n" + message + "\n"
		o := refs.NewObject(gittest.Objects(), "commit", []byte(body))
		require.NoError(t, h.repo.Store.Write(refs.NewObject(gittest.Objects(), "tree", nil), o))
		return o.OID
	}
	head := commit("head")
	return handoff.Work{Head: head, Commit: commit(message, head, commit("index", head))}
}

// A pushed snapshot must be the one that the signed envelope names, based on the commit that it names.
func TestCheck_snapshot(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	named, other := h.snapshot(t, "one"), h.snapshot(t, "another")
	offering := func(w handoff.Work, sent string) []refs.Edit {
		env := h.Envelope(t, "boss", "fixer")
		env.Work = &w
		push := h.offering(t, boss, env)
		i := slices.IndexFunc(push, func(e refs.Edit) bool { return strings.HasPrefix(e.Ref, "refs/handoffs/work/") })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, w.Commit, push[i].New)
		if push[i].New = sent; sent == "" {
			return slices.Delete(push, i, i+1)
		}
		return push
	}
	assert.Empty(t, h.judge(t, h.Now(), offering(named, named.Commit)))
	h.refuses(t, "digest_mismatch", offering(named, other.Commit))
	h.refuses(t, "lost", offering(named, ""))
	h.refuses(t, "handoff_mismatch", offering(handoff.Work{Commit: named.Commit, Head: other.Commit}, named.Commit))
	h.refuses(t, "malformed_object", offering(handoff.Work{Commit: named.Head, Head: named.Head}, named.Head))

	push := offering(named, named.Commit)
	h.accept(t, push)
	place, ok := refs.LocalNamespace.ParseHandoffRef(push[1].Ref)
	require.True(t, ok)
	work := refs.Edit{Ref: refs.LocalNamespace.Work("fixer", place.ID), Old: named.Commit}
	h.refuses(t, "lost", []refs.Edit{work})
	h.Hub.Git(t, "update-ref", "-d", work.Ref) // git left the ref out
	h.refuses(t, "digest_mismatch", []refs.Edit{{Ref: work.Ref, New: other.Commit}})
	h.accept(t, []refs.Edit{{Ref: work.Ref, New: named.Commit}})

	h.accept(t, h.acknowledging(t, fixer, h.claim(t, fixer, lifecycle.Place{Agent: "fixer", ID: place.ID})))
	h.refuses(t, "unlogged", []refs.Edit{{Ref: work.Ref, New: named.Commit}})
}
