package attack

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/sign"
)

// reasons lists all words with which verification refuses.
var reasons = strings.Fields(`unsigned signature_invalid untrusted_key untrusted_root key_expired
	key_revoked malformed malformed_object non_canonical too_large invalid_id invalid_path digest_mismatch
	audience_mismatch handoff_mismatch not_narrower depth_invalid par_hash_mismatch issuer_not_holder
	principal_altered principal_mismatch holder_binding_failed not_yet_valid expired revoked status_unknown replayed
	disputed rollback`)

// secretGoal is the goal of refused handoffs. It must not be printed.
const secretGoal = "the goal of a handoff that nobody checked"

// The verdict of git verify-commit about the commit of an attack.
const (
	accepts = "git accepts"
	refuses = "git refuses"
	refused = "git before 2.54 refuses"
	dated   = "git before 2.35 refuses" // it has no time for ssh-keygen to verify at
	varies  = "git's versions differ"
	noGit   = "nothing for git to check"
)

// attack is one way to reach a reason word.
type attack struct {
	name   string
	reason string
	code   int
	git    string // of the commit that mount returns
	mount  func(t *testing.T, s *fixture) forged
}

// made returns an attack with one forgery.
func made(f forgery) func(*testing.T, *fixture) forged {
	return func(t *testing.T, s *fixture) forged { return s.forge(t, f) }
}

// swapped returns an attack on a genuine handoff: whoever may push replaces its
// commit by one with other bytes.
func swapped(change func(raw []byte) []byte) func(*testing.T, *fixture) forged {
	return func(t *testing.T, s *fixture) forged {
		f := s.forge(t, forgery{})
		was := raw(t, s.Hub, f.payload)
		became := change(bytes.Clone(was))
		require.NotEqual(t, string(was), string(became), "the attack changes nothing")
		return s.swap(t, f, became)
	}
}

// header puts lines before the signature of a commit.
func header(lines string) func([]byte) []byte {
	return func(b []byte) []byte {
		return bytes.Replace(b, []byte(gittest.SignatureHeader()+" "), []byte(lines+gittest.SignatureHeader()+" "), 1)
	}
}

// unsign cuts the signature out of a raw commit.
func unsign(b []byte) []byte {
	before, _, _ := bytes.Cut(b, []byte(gittest.SignatureHeader()+" "))
	end := []byte(" -----END PGP SIGNATURE-----\n")
	to := bytes.Index(b, end) + len(end)
	return slices.Concat(before, b[to:])
}

func attacksOnCommits() []attack {
	return []attack{
		{"the signature cut out", "unsigned", 4, refuses, swapped(unsign)},
		{"an empty signature", "malformed_object", 4, varies, swapped(func(b []byte) []byte {
			return bytes.Replace(unsign(b), []byte("\n\n"), []byte("\n"+gittest.SignatureHeader()+" \n\n"), 1)
		})},
		{"another text under the signature", "signature_invalid", 4, refuses, swapped(func(b []byte) []byte {
			return bytes.Replace(b, []byte("steps=0"), []byte("steps=7"), 1)
		})},
		{"text after the armor", "signature_invalid", 4, varies, swapped(func(b []byte) []byte {
			end := []byte(" -----END PGP SIGNATURE-----\n")
			return bytes.Replace(b, end, append(bytes.Clone(end), " approved by alice\n"...), 1)
		})},
		{"a comment in the armor", "signature_invalid", 4, varies, swapped(func(b []byte) []byte {
			begin := []byte(gittest.SignatureHeader() + " -----BEGIN PGP SIGNATURE-----\n")
			return bytes.Replace(b, begin, append(bytes.Clone(begin), " Comment: x\n"...), 1)
		})},
		{"two signatures in one header", "signature_invalid", 4, varies, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			c := s.parsed(t, f)
			other, err := s.mallory.Sign(t.Context(), sign.NamespaceGit, c.Payload())
			require.NoError(t, err)
			c.Signature = append(other, c.Signature...)
			return s.swap(t, f, c.Encode())
		}},
		{"a second signature header", "malformed_object", 4, varies, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			b := raw(t, s.Hub, f.payload)
			from := bytes.Index(b, []byte(gittest.SignatureHeader()+" "))
			second := b[from : len(b)-len(unsign(b))+from]
			return s.swap(t, f, slices.Concat(b[:from], second, b[from:]))
		}},
		{"the key of another", "signature_invalid", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			fixer, err := s.keys.Load("fixer")
			require.NoError(t, err)
			return s.swap(t, f, signed(t, fixer, s.parsed(t, f))) // pinned, but not what Handoff-Key says
		}},
		{"a key that gpg has", "untrusted_key", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			c := s.parsed(t, f)
			c.Record.Key = s.mallory.KID()
			return s.swap(t, f, signed(t, s.mallory, c))
		}},
		{"an expired SSH key that dates back", "key_expired", 4, dated, func(t *testing.T, s *fixture) forged {
			key := s.sshKey(t, "temp", yesterday())
			return s.forge(t, forgery{born: yesterday().Add(-time.Hour), by: key, envelope: from("temp"), record: func(r *record.Record) {
				r.At = yesterday().Add(-time.Hour)
			}})
		}},
		{"a key that ended by its own word", "key_expired", 4, refused, func(t *testing.T, s *fixture) forged {
			return s.forge(t, forgery{born: yesterday(), by: s.endedKey(t, "ended"), envelope: from("ended"), record: func(r *record.Record) { r.At = yesterday() }})
		}},
		{"a retired key that dates back", "key_revoked", 4, accepts, func(t *testing.T, s *fixture) forged {
			key := s.newKey(t, "gone")
			s.trust(t, "gone")
			f := s.forge(t, forgery{by: key, envelope: from("gone"), record: func(r *record.Record) { r.At = yesterday() }})
			s.fixer.Must(t, "trust", "remove", key.KID())
			return f
		}},
		{"a header of one's own", "malformed_object", 4, varies, swapped(header("encoding UTF-7\n"))},
		{"two trees", "malformed_object", 4, varies, swapped(func(b []byte) []byte {
			return append([]byte("tree "+gittest.Objects().EmptyTree()+"\n"), b...)
		})},
		{"a trailer twice", "malformed_object", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			return s.swap(t, f, s.resigned(t, f, func(b []byte) []byte { return append(b, "Handoff-To: mallory\n"...) }))
		}},
		{"somebody's history behind it", "malformed_object", 4, accepts, func(t *testing.T, s *fixture) forged {
			code := s.fixer.Commit(t, "code.go", "package code\n", "code of another project")
			s.fixer.Git(t, "push", "--quiet", "origin", "HEAD:refs/heads/code")
			return s.forge(t, forgery{parents: []string{code}})
		}},
		{"a tag for a commit", "malformed_object", 4, noGit, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			s.Hub.Git(t, "tag", "-a", "-m", "x", string(f.id), f.payload)
			s.Hub.Git(t, "update-ref", f.inbox, "refs/tags/"+string(f.id))
			return f
		}},
	}
}

func attacksOnTime() []attack {
	return []attack{
		{"an offer of tomorrow", "not_yet_valid", 4, accepts, made(forgery{record: func(r *record.Record) { r.At = r.At.Add(time.Hour) }})},
		{"an offer that is older than its id", "disputed", 4, accepts, made(forgery{record: func(r *record.Record) { r.At = yesterday() }})},
		{"an end that is older than the offer", "disputed", 4, accepts, func(t *testing.T, s *fixture) forged {
			f := s.forge(t, forgery{})
			worker, err := s.keys.Load("fixer")
			require.NoError(t, err)
			s.step(t, f, worker, record.Failed, func(r *record.Record) { r.At = r.At.Add(-time.Hour) })
			return f
		}},
	}
}

func attacksOnTrees() []attack {
	// Whoever signs can sign a tree of any kind. git fsck may say nothing.
	one := func(mode, name string) func(string) []entry {
		return func(blob string) []entry { return []entry{{mode, name, blob}} }
	}
	beside := func(mode, name, oid string) func(string) []entry {
		return func(blob string) []entry { return []entry{{mode, name, oid}, {"100644", "handoff.json", blob}} }
	}
	emptyTree := gittest.Objects().EmptyTree()
	return []attack{
		{"a symbolic link", "malformed_object", 4, accepts, made(forgery{tree: one("120000", "handoff.json")})},
		{"an executable", "malformed_object", 4, accepts, made(forgery{tree: one("100755", "handoff.json")})},
		{"a submodule", "malformed_object", 4, accepts, made(forgery{tree: one("160000", "handoff.json")})},
		{"another name", "malformed_object", 4, accepts, made(forgery{tree: one("100644", "HANDOFF.JSON")})},
		{"a name that climbs", "malformed_object", 4, accepts, made(forgery{tree: one("100644", "../handoff.json")})},
		{"a mode that is none", "malformed_object", 4, accepts, made(forgery{tree: one("0100644", "handoff.json")})},
		{"a directory beside it", "malformed_object", 4, accepts, made(forgery{tree: beside("40000", ".git", emptyTree)})},
		{"the same name twice", "malformed_object", 4, accepts, made(forgery{tree: func(blob string) []entry {
			return []entry{{"100644", "handoff.json", blob}, {"100644", "handoff.json", blob}}
		}})},
		{"an envelope of another size", "too_large", 4, accepts, made(forgery{blob: func(b []byte) []byte {
			return append(b, bytes.Repeat([]byte(" "), handoff.MaxEnvelope)...)
		}})},
		{"another envelope than was signed", "digest_mismatch", 4, accepts, made(forgery{record: func(r *record.Record) {
			r.Digest = "sha256:" + strings.Repeat("0", 64)
		}})},
	}
}

func attacksOnEnvelopes() []attack {
	replace := func(old, new string) forgery {
		return forgery{blob: func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }}
	}
	env := func(change func(*handoff.Envelope)) forgery { return forgery{envelope: change} }
	rec := func(change func(*record.Record)) forgery { return forgery{record: change} }
	return []attack{
		{"half a document", "malformed", 6, accepts, made(forgery{blob: func(b []byte) []byte { return b[:len(b)/2] }})},
		{"a member twice", "malformed", 6, accepts, made(replace(`"goal":`, `"goal":"ignored","goal":`))},
		{"a member in another case", "malformed", 6, accepts, made(replace(`"goal":`, `"Goal":`))},
		{"a member that nobody knows", "malformed", 6, accepts, made(replace(`{`, `{"approved":true,`))},
		{"nested a million times", "malformed", 6, accepts, made(replace(`"complete"`, strings.Repeat("[", 100_000)))},
		{"a blank", "non_canonical", 6, accepts, made(replace(`{`, `{ `))},
		{"members in another order", "non_canonical", 6, accepts, made(forgery{blob: func(b []byte) []byte {
			return append([]byte(`{"status":"complete",`), bytes.Replace(b, []byte(`"status":"complete",`), nil, 1)[1:]...)
		}})},
		{"another spelling of a letter", "non_canonical", 6, accepts, made(replace("nobody", `nob\u006fdy`))},
		{"a summary over the limit", "too_large", 6, accepts, made(env(func(e *handoff.Envelope) {
			e.Summary = strings.Repeat("x", handoff.MaxSummary+1)
		}))},
		{"an id that climbs", "invalid_id", 6, accepts, made(env(func(e *handoff.Envelope) { e.ID = "ho_../../../config" }))},
		{"a parent that is none", "invalid_id", 6, accepts, made(forgery{
			envelope: func(e *handoff.Envelope) { e.Parent = "ho_--upload-pack=x" },
			record:   func(r *record.Record) { r.Parent = "" },
		})},
		{"a file that climbs", "invalid_path", 6, accepts, made(env(func(e *handoff.Envelope) {
			e.RelevantFiles = []string{"../../.ssh/id_ed25519"}
		}))},
		{"a file in .git", "invalid_path", 6, accepts, made(env(func(e *handoff.Envelope) {
			e.RelevantFiles = []string{"src/.GIT/hooks/post-checkout"}
		}))},
		{"another sender in the envelope", "handoff_mismatch", 4, accepts, made(forgery{
			envelope: func(e *handoff.Envelope) { e.Source.Agent = "alice" },
			record:   func(r *record.Record) { r.From, r.Actor = "boss", "boss" },
		})},
		{"another task in the trailers", "handoff_mismatch", 4, accepts, made(rec(func(r *record.Record) { r.Task = "LIN-1" }))},
		{"another target in the trailers", "handoff_mismatch", 4, accepts, made(env(func(e *handoff.Envelope) {
			other := "auditor"
			e.Target.Agent = &other
		}))},
		{"over since a second", "expired", 4, accepts, made(forgery{
			born: yesterday(),
			envelope: func(e *handoff.Envelope) {
				e.CreatedAt, e.ExpiresAt = handoff.FormatTime(yesterday()), handoff.FormatTime(yesterday().Add(time.Hour))
			},
			record: func(r *record.Record) { r.At = yesterday() },
		})},
	}
}

func yesterday() time.Time { return time.Now().UTC().Add(-24 * time.Hour).Truncate(time.Second) }

// from lets an envelope come from another agent.
func from(agent string) func(*handoff.Envelope) {
	return func(e *handoff.Envelope) { e.Source.Agent = agent }
}

// Each attack is refused with its word and its exit code, no part of its content is printed,
// and nothing at the hub moves.
func TestReasons(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.stockTrust(t)
	genuine := s.forge(t, forgery{})
	assert.Equal(t, accepts, s.gitSays(t, genuine.payload), "what the attacks start from")
	assert.Contains(t, s.fixer.Must(t, "resume", string(genuine.id)), secretGoal, "what the attacks start from")
	s.fixer.Must(t, "ack", string(genuine.id))

	seen := map[string]bool{}
	for _, a := range slices.Concat(attacksOnCommits(), attacksOnTrees(), attacksOnTime(), attacksOnEnvelopes(), attacksOnPlaces()) {
		t.Run(a.reason+" "+a.name, func(t *testing.T) {
			f := a.mount(t, s)
			switch a.git {
			case noGit, varies:
			case refused:
				assert.Equal(t, gittest.HasGit(t, "2.54"), s.gitSays(t, f.payload) == accepts)
			case dated:
				assert.Equal(t, gittest.HasGit(t, "2.35"), s.gitSays(t, f.payload) == accepts)
			default:
				assert.Equal(t, a.git, s.gitSays(t, f.payload))
			}
			before := s.Hub.Git(t, "for-each-ref")
			commands := []string{"resume"}
			if !seen[a.reason] && a.reason != "expired" && a.reason != "replayed" { // to look at what is over is allowed
				commands = append(commands, "show", "verify")
			}
			seen[a.reason] = true
			for _, command := range commands {
				r := s.fixer.Run(t, command, string(f.id), "--json")
				got := refusalOf(t, r)
				assert.Equal(t, a.reason, got.Reason, "%s: %s", command, got.Message)
				assert.Equal(t, a.code, r.Code, "%s: %s", command, got.Message)
				assert.Empty(t, r.Stdout, command)
				assert.NotContains(t, r.Stderr, secretGoal, command)
			}
			assert.Equal(t, before, s.Hub.Git(t, "for-each-ref"))
		})
	}
}

// stockTrust lets git check SSH signatures as it checks those of gpg.
func (s *fixture) stockTrust(t *testing.T) {
	t.Helper()
	s.Hub.Git(t, "config", "gpg.ssh.allowedSignersFile", s.allowed())
}

func (s *fixture) allowed() string { return s.Dir + "/allowed_signers" }

// gitSays asks git about the signature of a commit.
func (s *fixture) gitSays(t *testing.T, commit string) string {
	t.Helper()
	_, diag, code := s.Hub.TryGit("verify-commit", commit)
	require.NotEqual(t, -1, code, diag)
	if code == 0 {
		return accepts
	}
	return refuses
}

// The tables reach every word; rollback is TestRollback's.
func TestEveryReason(t *testing.T) {
	reached := map[string]bool{"rollback": true}
	for _, a := range slices.Concat(attacksOnCommits(), attacksOnTrees(), attacksOnTime(), attacksOnEnvelopes(), attacksOnPlaces()) {
		reached[a.reason] = true
	}
	for _, a := range attacksOnTokens() {
		reached[a.reason] = true
	}
	assert.ElementsMatch(t, reasons, slices.Collect(maps.Keys(reached)))
}
