package guard_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/enginetest"
	"githandoff/internal/gitobj"
	"githandoff/internal/gittest"
	"githandoff/internal/guard"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// The signer's clock may differ by MaxSkew, and an offer may have waited for the hub.
func TestCheck_clock(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	made := h.Now()
	offering := h.offering(t, boss, h.Envelope(t, "boss", "fixer"))
	p := h.offer(t, boss, "fixer")
	claiming, _ := h.claiming(t, fixer, p)
	for _, tc := range []struct {
		push   []refs.Edit
		off    time.Duration
		reason string
	}{
		{claiming, 0, ""},
		{claiming, guard.MaxSkew, ""},
		{claiming, -guard.MaxSkew, ""},
		{claiming, guard.MaxSkew + time.Second, "expired"},
		{claiming, -guard.MaxSkew - time.Second, "not_yet_valid"},
		{offering, 6 * 24 * time.Hour, ""},
		{offering, -guard.MaxSkew - time.Second, "not_yet_valid"},
	} {
		h.Set(made.Add(tc.off))
		if tc.reason != "" {
			h.refuses(t, tc.reason, tc.push)
			continue
		}
		assert.Empty(t, h.judge(t, h.Now(), tc.push), "off by %s", tc.off)
	}
}

// git lists the refs that a hub already has first, so an existing lane comes before the inbox ref.
// A refusal names the inbox ref, because only that one says which handoff is meant.
func TestCheck_namesTheHandoff(t *testing.T) {
	h := newFixture(t)
	boss, _ := h.pair(t)
	stranger := h.engine(t, "stranger")
	env := h.Envelope(t, "stranger", "fixer")
	push := h.offering(t, stranger, env)
	for range 2 {
		refused := h.judge(t, h.Now(), push)
		require.Len(t, refused, 1)
		assert.Equal(t, refs.LocalNamespace.Inbox("fixer", env.ID), refused[0].Ref)
		slices.Reverse(push)
	}
	assert.Empty(t, h.judge(t, h.Now(), h.offering(t, boss, h.Envelope(t, "boss", "fixer"))))
}

// A payload that clones refuse is refused at a hub.
func TestCheck_payloads(t *testing.T) {
	h := newFixture(t)
	boss, _ := h.pair(t)
	blob := func(body string) string {
		o := refs.NewObject(gittest.Objects(), "blob", []byte(body))
		require.NoError(t, h.repo.Store.Write(o))
		return o.OID
	}
	tree := func(lines ...string) string {
		return h.Hub.GitIn(t, strings.NewReader(strings.Join(lines, "\n")+"\n"), "mktree")
	}
	// offering returns the push of an offer with another tree and digest, which its sender could have signed.
	offering := func(tree, body string) []refs.Edit {
		env := h.Envelope(t, "boss", "fixer")
		home := h.home(homeID)
		p, err := boss.Author.Prepare(t.Context(), home, env, "")
		require.NoError(t, err)
		rec := p.Record
		rec.Digest = handoff.Digest([]byte(body))
		payload := h.commit(t, boss, rec, tree)
		rec.Payload = payload
		return []refs.Edit{
			{Ref: refs.LocalNamespace.Inbox("fixer", env.ID), New: payload},
			{Ref: refs.LocalNamespace.Lane(env.ID), New: h.commit(t, boss, rec, gittest.Objects().EmptyTree())},
		}
	}
	file := func(body string) []refs.Edit {
		return offering(tree("100644 blob "+blob(body)+"\thandoff.json"), body)
	}
	for name, tc := range map[string]struct {
		reason string
		push   []refs.Edit
	}{
		"not JSON":     {"malformed", file("{")},
		"too large":    {"too_large", file(strings.Repeat("x", handoff.MaxEnvelope+1))},
		"another blob": {"digest_mismatch", offering(tree("100644 blob "+blob("a")+"\thandoff.json"), "b")},
		"a link":       {"malformed_object", offering(tree("120000 blob "+blob("a")+"\thandoff.json"), "a")},
		"a stowaway":   {"malformed_object", offering(tree("100644 blob "+blob("a")+"\thandoff.json", "100644 blob "+blob("a")+"\tx"), "a")},
		"a tree":       {"malformed_object", offering(h.Hub.Git(t, "rev-parse", h.commitOf(t, "", gitobj.TreeEntry{Mode: gitobj.File, Name: "handoff.json", OID: gittest.Objects().EmptyTree()})+"^{tree}"), "a")},
		"an empty one": {"malformed_object", offering(gittest.Objects().EmptyTree(), "a")},
	} {
		t.Run(name, func(t *testing.T) { h.refuses(t, tc.reason, tc.push) })
	}

	secret := h.Envelope(t, "boss", "fixer")
	secret.Detail = "the key is AKIA" + strings.Repeat("Q", 16)
	h.refuses(t, "secret_found", h.offering(t, boss, secret))
	transcript := h.Envelope(t, "boss", "fixer")
	transcript.Detail = "User: hello\nAssistant: hello\nUser: go on\nAssistant: yes\n"
	h.refuses(t, "transcript_found", h.offering(t, boss, transcript))
}

// The guard checks the signer of an entry, its home, its names and its lease.
func TestCheck_entries(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	tester := h.agent(t, "tester", sign.RoleRecipient)
	person := h.agent(t, "alice@example.com", sign.RoleRoot)
	stranger := h.engine(t, "fixer")
	h.know(t, boss, fixer, tester, person, stranger)
	p := h.offer(t, boss, "fixer")
	same := func(*record.Record) {}
	for name, tc := range map[string]struct {
		by     *lifecycle.Engine
		edit   func(*record.Record)
		reason string
	}{
		"as it should be":    {fixer, same, ""},
		"a stranger":         {stranger, same, "untrusted_key"},
		"another's inbox":    {tester, same, "untrusted_key"},
		"a root key":         {person, same, "untrusted_key"},
		"another key's name": {fixer, func(r *record.Record) { r.Key = boss.Author.Signer.KID() }, "signature_invalid"},
		"another home":       {fixer, func(r *record.Record) { r.Home = "git+https://example.com/acme/other" }, "audience_mismatch"},
		"another payload":    {fixer, func(r *record.Record) { r.Digest = "sha256:" + strings.Repeat("0", 64) }, "digest_mismatch"},
		"the holder's step":  {fixer, func(r *record.Record) { r.Event, r.Claim = record.Progressed, r.Nonce }, "disputed"},
		"for ever":           {fixer, func(r *record.Record) { r.Lease = r.At.Add(25 * time.Hour) }, "disputed"},
		"a second offer": {boss, func(r *record.Record) {
			r.Event, r.Lease, r.Previous = record.Offered, time.Time{}, record.None
			r.Counts, r.Status = h.Envelope(t, "boss", "fixer").Counts(), handoff.StatusComplete
		}, "handoff_mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			push := h.forge(t, tc.by, p, tc.edit)
			if tc.reason == "" {
				assert.Empty(t, h.judge(t, h.Now(), push))
				return
			}
			h.refuses(t, tc.reason, push)
		})
	}

	for _, roles := range [][]string{{sign.RoleRecipient}, {sign.RoleSender}} {
		other := h.agent(t, "other", roles...)
		h.know(t, other)
		env := h.Envelope(t, "boss", "fixer") // from an agent that the key is not pinned for
		push := h.catch(func(home lifecycle.Home) error {
			trusting := *other
			trusting.Keys.Trust = h.engine(t, "boss").Keys.Trust
			trusting.Keys.Trust, _ = enginetest.NewTrust(enginetest.Entry(other.Author.Signer, "other", sign.RoleRoot))
			payload, err := trusting.Author.Prepare(t.Context(), home, env, "")
			require.NoError(t, err)
			_, err = trusting.Offer(t.Context(), home, payload)
			return err
		})
		h.refuses(t, "untrusted_key", push)
	}
}

// Only a root key may join histories.
func TestCheck_joined(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	person := h.agent(t, "alice@example.com", sign.RoleRoot)
	h.know(t, boss, fixer, person)
	p := h.offer(t, boss, "fixer")
	lane := refs.LocalNamespace.Lane(p.ID)
	backup := h.Hub.Git(t, "rev-parse", lane)
	held := h.claim(t, fixer, p)
	h.accept(t, h.acknowledging(t, fixer, held))
	whole := h.Hub.Git(t, "rev-parse", lane)
	h.Hub.Git(t, "update-ref", lane, backup) // the hub is restored from the backup

	h.Set(h.Now().Add(24 * time.Hour))
	h.refuses(t, "expired", []refs.Edit{{Ref: lane, Old: backup, New: whole}})
	join := func(e *lifecycle.Engine) []refs.Edit {
		o, err := e.Join(t.Context(), backup, whole)
		require.NoError(t, err)
		require.NoError(t, h.repo.Store.Write(o))
		return []refs.Edit{{Ref: lane, Old: backup, New: o.OID}}
	}
	h.refuses(t, "rollback", join(fixer))
	h.accept(t, join(person))
}

// The report on the refs of a push is limited in length, and correct.
func TestCheck_refs(t *testing.T) {
	h := newFixture(t)
	boss, _ := h.pair(t)
	push := h.offering(t, boss, h.Envelope(t, "boss", "fixer"))
	h.refuses(t, "malformed", append(push, push[0]))
	stale := append([]refs.Edit{}, push...)
	stale[1].Old = push[1].New
	h.refuses(t, "stale", stale)

	var many []refs.Edit
	for i := range 100_000 {
		many = append(many, refs.Edit{Ref: fmt.Sprintf("refs/handoffs/inbox/fixer/%d", i), New: push[0].New})
	}
	h.refuses(t, "too_large", many)
	h.refuses(t, "invalid_path", many[:20])
	assert.Len(t, h.judge(t, h.Now(), many[:20]), 10, "a pusher is told ten things")
}

// A step is accepted as a whole, and a part of it is refused.
func TestCheck_noPartOfAStep(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	rapid.Check(t, func(rt *rapid.T) {
		p, held := lifecycle.Place{}, lifecycle.ClaimProof{}
		for range rapid.IntRange(1, 4).Draw(rt, "steps") {
			var push []refs.Edit
			next := held
			switch {
			case p.ID == "":
				env := h.Envelope(t, "boss", "fixer")
				push = h.offering(t, boss, env)
				p = lifecycle.Place{Agent: "fixer", ID: env.ID}
			case held.Nonce == "":
				push, next = h.claiming(t, fixer, p)
			default:
				end := rapid.IntRange(0, 2).Draw(rt, "how")
				push = h.catch(func(home lifecycle.Home) error {
					var err error
					switch end {
					case 0:
						_, err = fixer.Renew(t.Context(), home, held, lifecycle.Renewal{Lease: time.Hour})
					case 1:
						_, err = fixer.Release(t.Context(), home, held, false)
					default:
						_, _, err = fixer.Acknowledge(t.Context(), home, held, lifecycle.Outcome{})
					}
					return err
				})
				if end == 1 {
					next = lifecycle.ClaimProof{}
				}
				if end == 2 {
					p, next = lifecycle.Place{}, lifecycle.ClaimProof{}
				}
			}
			require.Len(rt, push, 2)
			for i := range push {
				require.NotEmpty(rt, h.judge(t, h.Now(), push[i:i+1]), "%v alone", push[i])
			}
			h.accept(t, push)
			held = next
		}
	})
}

// An entry must not bring files.
func TestCheck_entryWithFiles(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	p := h.offer(t, boss, "fixer")
	push, _ := h.claiming(t, fixer, p)
	blob := refs.NewObject(gittest.Objects(), "blob", []byte("anything"))
	id, err := hex.DecodeString(blob.OID)
	require.NoError(t, err)
	tree := refs.NewObject(gittest.Objects(), "tree", append([]byte("100644 file\x00"), id...))
	for i, e := range push {
		if e.Ref != refs.LocalNamespace.Lane(p.ID) {
			continue
		}
		o, err := h.repo.Read(t.Context(), e.New, record.MaxCommit)
		require.NoError(t, err)
		c, err := record.ParseCommit(o.Body)
		require.NoError(t, err)
		c.Tree = tree.OID
		c.Signature, err = fixer.Author.Signer.Sign(t.Context(), sign.NamespaceGit, c.Payload())
		require.NoError(t, err)
		entry := refs.NewObject(gittest.Objects(), "commit", c.Encode())
		require.NoError(t, h.repo.Store.Write(blob, tree, entry))
		push[i].New = entry.OID
	}
	h.refuses(t, "malformed_object", push)
}

// A step must have the same record in the lane and on the inbox ref.
func TestCheckOneRecordTwice(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	h.know(t, boss, fixer)
	p := h.offer(t, boss, "fixer")
	for name, inLane := range map[string]func(*record.Record){
		"a longer lease": func(r *record.Record) { r.Lease = r.Lease.Add(2 * time.Hour) },
		"another time":   func(r *record.Record) { r.At = r.At.Add(-time.Second) },
		"another base":   func(r *record.Record) { r.Previous = strings.Repeat("a", gittest.Objects().Digits()) },
	} {
		t.Run(name, func(t *testing.T) {
			h.refuses(t, "disputed", h.forgeTwo(t, fixer, p, func(*record.Record) {}, inLane))
		})
	}
	assert.Empty(t, h.judge(t, h.Now(), h.forgeTwo(t, fixer, p, func(*record.Record) {}, func(*record.Record) {})))
}

// A key that the hub retired cannot make an entry, whatever date the entry has.
func TestCheck_retiredKey(t *testing.T) {
	h := newFixture(t)
	boss, fixer := h.pair(t)
	p := h.offer(t, boss, "fixer")
	waiting := h.offering(t, boss, h.Envelope(t, "boss", "fixer"))
	rejection := h.catch(func(home lifecycle.Home) error {
		_, err := fixer.Fail(t.Context(), home, lifecycle.ClaimProof{Place: p}, lifecycle.Outcome{})
		return err
	})
	h.Set(h.Now().Add(time.Minute))
	for i := range h.Trusted {
		h.Trusted[i].Retired = h.Now().Add(-time.Second).Format(time.RFC3339)
	}
	h.refuses(t, "key_revoked", h.forge(t, fixer, p, func(r *record.Record) { r.At = h.Now().Add(-30 * time.Second) }))
	h.refuses(t, "key_revoked", waiting)
	h.refuses(t, "key_revoked", rejection)
}
