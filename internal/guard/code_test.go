package guard_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/enginetest"
	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

const who = "x <x@githandoff.invalid>"

// code writes a signed commit of code.
func (h *fixture) code(t *testing.T, e *lifecycle.Engine, message string) string {
	t.Helper()
	raw := gitobj.EncodeCommit(gittest.Objects().EmptyTree(), nil, who, h.Now(), message)
	sig, err := e.Author.Signer.Sign(t.Context(), sign.NamespaceGit, raw)
	require.NoError(t, err)
	header := gittest.SignatureHeader() + " " + strings.ReplaceAll(strings.TrimRight(string(sig), "\n"), "\n", "\n ")
	o := refs.NewObject(gittest.Objects(), "commit", bytes.Replace(raw, []byte("\n\n"), []byte("\n"+header+"\n\n"), 1))
	require.NoError(t, h.repo.Store.Write(refs.NewObject(gittest.Objects(), "tree", nil), o))
	return o.OID
}

// under returns a commit message that names a claim and its token.
func under(p lifecycle.Place, token string) string {
	return fmt.Sprintf("work\n\nHandoff-Id: %s\nHandoff-Token: %s\n", p.ID, token)
}

// lend offers fixer a handoff with a token for branches below fix, and returns the token.
func (h *fixture) lend(t *testing.T, person *lifecycle.Engine) (p lifecycle.Place, token string) {
	t.Helper()
	env := h.Envelope(t, "boss", "fixer")
	h.accept(t, h.catch(func(home lifecycle.Home) error {
		payload, err := person.Author.PrepareFor(t.Context(), home, env, lifecycle.Authority{
			Principal: "user:alice@example.com", Scope: []string{"repo.push:refs/heads/fix/*"},
		})
		require.NoError(t, err)
		token = payload.Record.Token
		_, err = person.Offer(t.Context(), home, payload)
		return err
	}))
	return lifecycle.Place{Agent: "fixer", ID: env.ID}, token
}

// A commit of an agent is accepted if its key holds the claim that the commit names, now and at this hub, and if
// the commit names the token of the claim.
func TestCheck_code(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	person := h.agent(t, "alice@example.com", sign.RoleRoot)
	h.know(t, boss, fixer, person)
	push := func(oid string) []refs.Edit { return []refs.Edit{{Ref: "refs/heads/fix/1", New: oid}} }
	assert.Empty(t, h.judge(t, h.Now(), push(h.code(t, person, "by a person\n"))))
	h.refuses(t, "scope", push(h.code(t, fixer, "by an agent\n")))

	p, token := h.lend(t, person)
	h.refuses(t, "handoff_mismatch", push(h.code(t, fixer, under(lifecycle.Place{ID: h.NewID(t)}, token))))
	h.refuses(t, "holder_binding_failed", push(h.code(t, fixer, under(p, token))))
	h.claim(t, fixer, p)
	good := push(h.code(t, fixer, under(p, token)))
	assert.Empty(t, h.judge(t, h.Now(), good))
	assert.Empty(t, h.judge(t, h.Now(), append(good, refs.Edit{Ref: "refs/heads/main", Old: good[0].New})), "anybody may delete a branch")
	h.refuses(t, "holder_binding_failed", push(h.code(t, boss, under(p, token))))
	h.refuses(t, "handoff_mismatch", push(h.code(t, fixer, under(p, "obo_"+strings.Repeat("0", 32)))))
	plain := h.offer(t, boss, "fixer")
	h.claim(t, fixer, plain)
	h.refuses(t, "handoff_mismatch", push(h.code(t, fixer, under(plain, token))))

	many := good
	for i := range 256 {
		many = append(many, refs.Edit{Ref: fmt.Sprintf("refs/heads/fix/more/%d", i), New: good[0].New})
	}
	h.refuses(t, "too_large", many)

	h.Pass(lifecycle.DefaultLease + time.Second)
	h.refuses(t, "expired", good)
}

// The number of commits signed by agents is limited, and the limit is checked before any claim.
func TestCheck_manyCommits(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, fixer := h.pair(t)
	o, err := h.repo.Read(t.Context(), h.code(t, fixer, "by an agent\n"), record.MaxCommit)
	require.NoError(t, err)
	tip, all := "", []*refs.Object{}
	for range 10_001 { // another parent breaks the signature, but the commit still names the agent
		body := o.Body
		if tip != "" {
			body = bytes.Replace(body, []byte("\nauthor"), []byte("\nparent "+tip+"\nauthor"), 1)
		}
		all = append(all, refs.NewObject(gittest.Objects(), "commit", body))
		tip = all[len(all)-1].OID
	}
	require.NoError(t, h.repo.Store.Write(all...))
	h.refuses(t, "too_large", []refs.Edit{{Ref: "refs/heads/x", New: tip}})
}

// The length of a chain of tags is limited.
func TestCheck_tagsOfTags(t *testing.T) {
	h := newFixture(t)
	h.pair(t)
	oid, kind := gittest.Objects().EmptyTree(), "tree"
	require.NoError(t, h.repo.Store.Write(refs.NewObject(gittest.Objects(), "tree", nil)))
	for n := 1; n <= 17; n++ {
		tag := refs.NewObject(gittest.Objects(), "tag", fmt.Appendf(nil, "object %s\ntype %s\ntag t\ntagger %s 0 +0000\n\nm\n", oid, kind, who))
		require.NoError(t, h.repo.Store.Write(tag))
		oid, kind = tag.OID, "tag"
		if n == 16 {
			assert.Empty(t, h.judge(t, h.Now(), []refs.Edit{{Ref: "refs/tags/t", New: oid}}))
		}
	}
	h.refuses(t, "too_large", []refs.Edit{{Ref: "refs/tags/t", New: oid}})
}

// A claim is in force only while its token is valid, and needs a valid token. The holder can still end the
// handoff afterwards, and its recipient can reject it.
func TestCheck_tokenOfAClaim(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	person := h.agent(t, "alice@example.com", sign.RoleRoot)
	h.know(t, boss, fixer, person)
	p, token := h.lend(t, person)
	lease := func(d time.Duration) []refs.Edit {
		return h.forge(t, fixer, p, func(r *record.Record) {
			r.Token, r.Principal, r.Lease = token, "user:alice@example.com (token)", r.At.Add(d)
		})
	}
	h.Pass(23 * time.Hour)
	assert.Empty(t, h.judge(t, h.Now(), lease(time.Hour)))
	h.refuses(t, "disputed", lease(time.Hour+time.Second))
	h.Pass(2 * time.Hour)
	h.refuses(t, "expired", lease(time.Minute))
	h.accept(t, h.catch(func(home lifecycle.Home) error {
		_, err := fixer.Fail(t.Context(), home, lifecycle.ClaimProof{Place: p}, lifecycle.Outcome{})
		return err
	}))
}

// A push can add only a limited number of entries to a lane.
func TestCheck_manyEntries(t *testing.T) {
	h := newFixture(t)
	boss, _ := h.pair(t)
	p := h.offer(t, boss, "fixer")
	lane := refs.LocalNamespace.Lane(p.ID)
	was, err := h.repo.Resolve(t.Context(), lane)
	require.NoError(t, err)
	o, err := h.repo.Read(t.Context(), was, record.MaxCommit)
	require.NoError(t, err)
	c, err := record.ParseCommit(o.Body)
	require.NoError(t, err)
	tip := was
	for n := 1; n <= 257; n++ {
		again := enginetest.SignCommit(t, boss.Author.Signer, &record.Commit{Tree: c.Tree, Parents: []string{tip}, Record: c.Record})
		require.NoError(t, h.repo.Store.Write(again))
		tip = again.OID
		if n == 256 {
			h.refuses(t, "malformed", []refs.Edit{{Ref: lane, Old: was, New: tip}})
		}
	}
	h.refuses(t, "rollback", []refs.Edit{{Ref: lane, Old: was, New: tip}})
}
