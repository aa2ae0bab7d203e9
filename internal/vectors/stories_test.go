package vectors_test

import (
	"strings"
	"time"

	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

func as(*record.Record) {} // leaves the record unchanged

// story is one handoff, and the answer that a reader must give.
type story struct {
	name    string
	entries string // verdicts on the entries of its lane, oldest first
	verify  string // "ok STATE", or the reason word of the refusal
	tell    func(h *told) *told
}

func offer(h *told) *told { return h.offered(as, as) }
func held(h *told) *told  { return offer(h).then("fixer", record.Claimed, as, as) }

// in returns a story with one more step, whose record is edited.
func in(by string, event record.Event, f edit) func(*told) *told {
	return func(h *told) *told { return held(h).then(by, event, f, as) }
}

func otherDigest(r *record.Record) { r.Digest = "sha256:" + strings.Repeat("0", 64) }

// lives returns stories of valid handoffs.
func lives() []story {
	return []story{
		{"offered", "ok", "ok offered", offer},
		{"claimed", "ok ok", "ok claimed", held},
		{"progressed with results", "ok ok ok", "ok claimed", in("fixer", record.Progressed, func(r *record.Record) {
			r.Data = record.EncodeData(map[string]string{"progress": "half <&> é 😀\n"})
		})},
		{"released", "ok ok ok", "ok offered", in("fixer", record.Released, as)},
		{"released by its source", "ok ok ok", "ok offered", in("boss", record.Released, as)},
		{"acknowledged", "ok ok ok", "ok acknowledged", in("fixer", record.Acknowledged, func(r *record.Record) { r.Data = `{"pr":"#743"}` })},
		{"acknowledged, skills missing", "ok ok ok", "ok acknowledged", in("fixer", record.Acknowledged, func(r *record.Record) { r.SkillsMissing = "code-review, tdd" })},
		{"failed", "ok ok ok", "ok failed", in("fixer", record.Failed, func(r *record.Record) { r.Data = `{"error":"no"}` })},
		{"rejected", "ok ok", "ok failed", func(h *told) *told { return offer(h).then("fixer", record.Failed, as, as) }},
		{"rerouted by its holder", "ok ok ok", "ok rerouted", in("fixer", record.Rerouted, func(r *record.Record) { r.Next = handoff.DeriveID(start(), "next") })},
		{"revoked by its source", "ok ok", "ok revoked", func(h *told) *told { return offer(h).then("boss", record.Revoked, as, as) }},
		{"revoked by a root key", "ok ok ok", "ok revoked", in("alice@example.com", record.Revoked, as)},
		{"expired", "ok ok", "ok expired", func(h *told) *told { return offer(h).then("boss", record.Expired, as, as) }},
		{"taken over when its lease was over", "ok ok ok", "ok claimed", func(h *told) *told {
			held(h)
			h.clock = h.clock.Add(time.Hour)
			return h.then("fixer", record.Claimed, as, as)
		}},
		{"routed", "ok ok", "ok offered", func(h *told) *told {
			h.env.Target.Agent, h.agent = nil, handoff.Nobody
			return offer(h).then("alice@example.com", record.Routed, func(r *record.Record) { r.To = "fixer" }, as)
		}},
	}
}

// lies returns stories whose lane entry differs from the commit on the inbox ref.
func lies() []story {
	twice := func(name string, f edit) story {
		return story{"another record in the lane: " + name, "disputed", "disputed", func(h *told) *told { return h.offered(as, f) }}
	}
	return []story{
		twice("digest", otherDigest),
		twice("task", func(r *record.Record) { r.Task = "LIN-1" }),
		twice("expiry", func(r *record.Record) { r.Expires = r.Expires.Add(-time.Hour) }),
		twice("parent", func(r *record.Record) { r.Parent = handoff.DeriveID(start(), "parent") }),
		twice("counts", func(r *record.Record) { r.Counts = new(handoff.Envelope).Counts() }),
		twice("status", func(r *record.Record) { r.Status = handoff.StatusNeedsReview }),
		twice("principal", func(r *record.Record) { r.Principal = "user:ceo@example.com (declared)" }),
		twice("token", func(r *record.Record) {
			r.Token, r.Principal = "obo_"+strings.Repeat("1", 32), "user:ceo@example.com (token)"
		}),
		{"another record in the lane: lease", "ok disputed", "disputed", func(h *told) *told {
			return offer(h).then("fixer", record.Claimed, as, func(r *record.Record) { r.Lease = r.Lease.Add(time.Hour) })
		}},
		{"a receipt of another task", "ok ok handoff_mismatch", "disputed", in("fixer", record.Acknowledged, func(r *record.Record) { r.Task = "LIN-1" })},
		{"a receipt with other counts", "ok ok handoff_mismatch", "disputed", in("fixer", record.Acknowledged, func(r *record.Record) { r.Counts = new(handoff.Envelope).Counts() })},
		{"a receipt of another status", "ok ok handoff_mismatch", "disputed", in("fixer", record.Acknowledged, func(r *record.Record) { r.Status = handoff.StatusBlocked })},
		{"a receipt with a false duration", "ok ok handoff_mismatch", "disputed", in("fixer", record.Acknowledged, func(r *record.Record) { r.Duration = "2s" })},
		{"a receipt of another digest", "ok ok digest_mismatch", "disputed", in("fixer", record.Acknowledged, otherDigest)},
		{"a release for another inbox", "ok ok handoff_mismatch", "disputed", in("fixer", record.Released, func(r *record.Record) { r.To = "tester" })},
	}
}

// forms returns stories with receipts, and an offer, that do not have the form of section 5.
func forms() []story {
	bad := func(name string, f edit) story {
		return story{"malformed: " + name, "ok ok malformed_object", "disputed", in("fixer", record.Failed, f)}
	}
	data := func(name, s string) story { return bad("data: "+name, func(r *record.Record) { r.Data = s }) }
	return []story{
		data("no JSON", "xx"), data("a list", `["a"]`), data("a number", `{"a":1}`), data("a member twice", `{"a":"b","a":"b"}`),
		data("another order", `{"b":"","a":""}`), data("empty", `{}`), data("a lone surrogate", `{"a":"\ud800"}`),
		data("an angle bracket", `{"a":"<"}`), data("upper-case hex", `{"a":"\u00E9"}`), data("a long escape", `{"a":"\u000a"}`),
		data("too long", `{"a":"`+strings.Repeat("x", 4089)+`"}`),
		bad("61 seconds", func(r *record.Record) { r.Duration = "61s" }),
		bad("a count with a zero in front", func(r *record.Record) { r.Counts = "steps=01 blockers=0 decisions=0 deliverables=0 files=0" }),
		bad("no status", func(r *record.Record) { r.Status = "" }),
		bad("a lease in a receipt", func(r *record.Record) { r.Lease = r.At.Add(time.Hour) }),
		bad("skills missing in a failure", func(r *record.Record) { r.SkillsMissing = "tdd" }),
		bad("a long task", func(r *record.Record) { r.Task = strings.Repeat("x", 129) }),
		bad("its own child", func(r *record.Record) { r.Next = r.ID }),
		{"malformed: rerouted to nothing", "ok ok malformed_object", "disputed", in("fixer", record.Rerouted, as)},
		{"malformed: a claim without a lease in the lane", "ok malformed_object", "disputed", func(h *told) *told {
			return offer(h).then("fixer", record.Claimed, as, func(r *record.Record) { r.Lease = time.Time{} })
		}},
		{"malformed: an offer without Handoff-Payload in the lane", "malformed_object", "malformed_object", func(h *told) *told {
			return h.offered(as, func(r *record.Record) { r.Payload = "" })
		}},
		{"malformed: an offer with a lease in the lane", "malformed_object", "malformed_object", func(h *told) *told {
			return h.offered(as, func(r *record.Record) { r.Lease = r.At.Add(time.Hour) })
		}},
	}
}

// entries returns stories with entries of other handoffs, or of none.
func entries() []story {
	names := func(h *told) string { return "Handoff-Id: " + string(h.id) + "\n" }
	return []story{
		{"a commit that names it, without an event", "ok malformed_object", "disputed", func(h *told) *told { return offer(h).scribble("x\n\n" + names(h)) }},
		{"a commit that names it last of two", "ok malformed_object", "disputed", func(h *told) *told {
			return offer(h).scribble("x\n\nHandoff-Id: " + string(handoff.DeriveID(start(), "other")) + "\n" + names(h))
		}},
		{"a commit that names it in a line that is no id", "ok", "ok offered", func(h *told) *told {
			return offer(h).scribble("x\n\nHandoff-Id: " + string(h.id) + " \n")
		}},
		{"a commit that speaks of nobody", "ok", "ok offered", func(h *told) *told { return offer(h).scribble("x\n") }},
		{"a commit of more than 81,920 bytes", "ok", "ok offered", func(h *told) *told {
			return offer(h).scribble(strings.Repeat("x", 82_000) + "\n\n" + names(h))
		}},
		{"a merge that nobody signed", "", "rollback", func(h *told) *told { return offer(h).scribble("x\n", h.payload) }},
		{"a claim by a stranger", "ok untrusted_key", "disputed", func(h *told) *told { return offer(h).then("mallory", record.Claimed, as, as) }},
		{"a claim by who may not", "ok untrusted_key", "disputed", func(h *told) *told { return offer(h).then("tester", record.Claimed, as, as) }},
		{"a claim by a stranger, released by the source", "ok untrusted_key ok ok", "ok revoked", func(h *told) *told {
			return offer(h).then("mallory", record.Claimed, as, as).then("boss", record.Released, as, as).then("boss", record.Revoked, as, as)
		}},
		{"a claim by who may not, released by the source", "ok untrusted_key ok", "disputed", func(h *told) *told {
			return offer(h).then("tester", record.Claimed, as, as).then("boss", record.Released, as, as)
		}},
		{"a claim by a stranger, released by another", "ok untrusted_key disputed", "disputed", func(h *told) *told {
			return offer(h).then("mallory", record.Claimed, as, as).then("tester", record.Released, as, as)
		}},
		{"a claim by a stranger before a lease is over, released by the source", "ok ok untrusted_key disputed", "disputed", func(h *told) *told {
			return held(h).then("mallory", record.Claimed, as, as).then("boss", record.Released, as, as)
		}},
		{"a claim while it is held", "ok ok disputed", "disputed", in("fixer", record.Claimed, as)},
		{"a lease of 25 hours", "ok disputed", "disputed", func(h *told) *told {
			return offer(h).then("fixer", record.Claimed, func(r *record.Record) { r.Lease = r.At.Add(25 * time.Hour) }, as)
		}},
		{"a second end", "ok ok ok replayed", "ok acknowledged", func(h *told) *told {
			return in("fixer", record.Acknowledged, as)(h).then("fixer", record.Failed, as, as)
		}},
		{"for another home", "audience_mismatch", "audience_mismatch", func(h *told) *told {
			return h.offered(func(r *record.Record) { r.Home = "git+https://example.com/acme/client" }, func(r *record.Record) {})
		}},
		{"signed by another key than it names", "signature_invalid", "signature_invalid", func(h *told) *told {
			return h.offered(func(r *record.Record) { r.Actor, r.Key = "mallory", signer(h, "mallory").KID() }, as)
		}},
		{"counts that are not the envelope's", "ok", "handoff_mismatch", func(h *told) *told {
			return h.offered(func(r *record.Record) { r.Counts = new(handoff.Envelope).Counts() }, as)
		}},
		{"a digest that is not the envelope's", "ok", "digest_mismatch", func(h *told) *told { return h.offered(otherDigest, as) }},
	}
}
