// Package obo makes and verifies on-behalf-of tokens: principal P lets agent A
// do S at repository R until T, for one handoff. Start with [Claims] for the members of a
// token, [Issue] and [Attenuate] for making one, and [VerifyChain], the
// only way to a [VerifiedToken]. The caller answers for keys and signatures
// through [Keys].
//
// # A token
//
// A token is one JSON object in the canonical form of RFC 8785, at most 16,384
// bytes, with exactly these members, named after RFC 8693, 7800 and 9396:
//
//	typ            "githandoff-obo/1"
//	jti            "obo_" and 32 lower-case hex digits, 128 random bits
//	iss            kid of the signing key
//	sub            the principal, "user:" and 1 to 249 of printable ASCII without
//	               space " # * ? ! ,
//	act            {"sub": the receiving agent}
//	cnf            {"kids": 1 to 16 kids, one of which the receiver must prove}
//	aud            1 to 16 repo ids
//	scope          1 to 64 scopes
//	iat, exp       whole Unix seconds, numbers as in RFC 7519; exp is the first
//	               second after its validity, at most 7 days after iat
//	handoff        {"id": …, "sha256": 64 hex digits over the stored envelope
//	               blob: what Handoff-Digest says, without its "sha256:"}
//	del_max_depth  0 to 3, how many tokens may follow this one
//	par_hash       SHA-256 of the exact bytes of the token before it, 64 hex
//	               digits; absent in the first
//
// Lists are sorted by bytes and hold nothing twice. A reader decodes, validates,
// encodes again and requires the same bytes. The smallest kind of token (line
// breaks added):
//
//	{"act":{"sub":"fixer"},
//	"aud":["git+https://example.com/acme/client"],
//	"cnf":{"kids":["openpgp:2222222222222222222222222222222222222222"]},
//	"del_max_depth":3,
//	"exp":1795298400,
//	"handoff":{"id":"ho_01kahcp3g0000000000000000r","sha256":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"},
//	"iat":1795212000,
//	"iss":"openpgp:1111111111111111111111111111111111111111",
//	"jti":"obo_000102030405060708090a0b0c0d0e0f",
//	"scope":["repo.write:src/auth/*"],
//	"sub":"user:alice@example.com",
//	"typ":"githandoff-obo/1"}
//
// Its signature is detached, over exactly those bytes: one armored OpenPGP
// signature, or one SSHSIG with the namespace "obo@githandoff". A chain lies in
// a payload commit as obo/0.json, obo/0.sig, obo/1.json, …, the first token
// first; the envelope's obo member names the last. The envelope is written
// before the token, whose jti it names, so the token can name its digest.
//
// # Scope
//
//	scope   = action [ ":" target ]
//	action  = word *( "." word )        [ ".*" only without a target ]
//	word    = a-z, then a-z 0-9 _ -
//	target  = segment *( "/" segment )  the last may be "*"
//	segment = printable characters without "*" and "/", but not "", "." or ".."
//
// At most 4,096 bytes. A final "*" stands for one word or segment, or more:
// repo.write:src/auth/* covers repo.write:src/auth/a/b.go and not
// repo.write:src/auth. An action without a target covers that action on every
// target, handoff.* every action below handoff on every target. The bare "*" is
// malformed, as are a.*.b, a.*:t and a*. Two scopes never add up to a third.
//
// # A chain
//
// A chain has 1 to 4 tokens. The first is signed by a root key for one of its
// principals, within each of its max_scope lists. Each further one is signed by
// a key in the cnf of the one before it, and only takes away: scope, aud, exp and
// del_max_depth shrink, the last by one at least; iat is not earlier, 5 minutes
// allowed for clocks; sub is the same.
//
// Verification looks at the number of tokens (depth_invalid) and at all sizes
// (too_large) before it reads any. Then, for each token from the first to the
// last:
//
//	one signature over the raw bytes      unsigned, signature_invalid, untrusted_key;
//	  by a pinned key                     untrusted_root for the first
//	canonical form, claims                malformed, non_canonical
//	iss is the signing key                signature_invalid
//	the key was valid at iat and is now   key_expired, key_revoked, not_yet_valid
//	the first: a root key                 untrusted_root
//	a jti of its own                      malformed
//	the home answers to one of aud        audience_mismatch
//	its own handoff: id, digest and jti   handoff_mismatch
//	  of the last, the parent's id of
//	  the one before, …
//	the last: act.sub is the inbox        audience_mismatch
//	scope, aud, exp, iat                  not_narrower
//	del_max_depth                         depth_invalid
//	par_hash                              par_hash_mismatch
//	iss is in the cnf before it           issuer_not_holder
//	sub as before                         principal_altered
//	the first: a principal of its key,    principal_mismatch
//	  and the one of the record
//	iat at most 5 minutes ahead           not_yet_valid
//	now before exp                        expired
//
// and at last, again from the first to the last, what the home knows of it
// (revoked, status_unknown). A valid token is bound to its holder by
// [VerifiedToken.Binds] (holder_binding_failed) and asked by [VerifiedToken.Allows] (scope).
//
// Reasons of form (malformed, non_canonical, too_large) have the code
// fault.Invalid, scope has fault.Policy, all others fault.Denied.
package obo
