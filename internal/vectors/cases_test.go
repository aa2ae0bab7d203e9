package vectors_test

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/crossrepo"
	"githandoff/internal/gittest"
	"githandoff/internal/handoff"
	"githandoff/internal/obo"
	"githandoff/internal/record"
	"githandoff/internal/screen"
)

// vector is one text and the answer that a reader must give: "ok", its meaning, or the reason word of the
// refusal.
type vector struct {
	Kind  string   `json:"kind"`
	Name  string   `json:"name"`
	Input []string `json:"input"`
	Want  string   `json:"want"`
}

// readers has a function for each kind. The README explains the kinds with a second input.
var readers = map[string]func(in []string) string{
	"envelope": func(in []string) string {
		env, err := handoff.Decode([]byte(in[0]))
		if err == nil {
			err = screen.Envelope(env)
		}
		return word(err)
	},
	"message": func(in []string) string {
		_, err := record.Parse([]byte(in[0]), in[1])
		return inForm(err)
	},
	"commit": func(in []string) string {
		_, err := record.ParseCommit([]byte(in[0]))
		return inForm(err)
	},
	"data": func(in []string) string {
		_, err := record.DecodeData(in[0])
		return inForm(err)
	},
	"speaks-of": func(in []string) string { return string(record.IDOf([]byte(in[0]))) },
	"agent":     func(in []string) string { return refusedOr(handoff.CheckAgent(in[0])) },
	"id": func(in []string) string {
		_, err := handoff.ParseID(in[0])
		return refusedOr(err)
	},
	"derived-id": func(in []string) string {
		at, err := handoff.ParseTime(in[0])
		if err != nil {
			return word(err)
		}
		return string(handoff.DeriveID(at, in[1:]...))
	},
	"repo-id": func(in []string) string {
		id, err := crossrepo.RepoID(in[0], "/srv/work")
		if err != nil {
			return word(err)
		}
		return id
	},
	"scope-covers": func(in []string) string {
		above, err := obo.ParseScope(in[0])
		if err != nil {
			return word(err)
		}
		below, err := obo.ParseScope(in[1])
		if err != nil {
			return word(err)
		}
		return map[bool]string{true: "covers", false: "does not cover"}[above.Covers(below)]
	},
	"token": func(in []string) string {
		_, err := obo.Decode([]byte(in[0]))
		return word(err)
	},
}

func inForm(err error) string {
	if err != nil {
		return "malformed_object"
	}
	return "ok"
}

func refusedOr(err error) string {
	if err != nil {
		return "refused"
	}
	return "ok"
}

// Each case is read as it must be; -update stores them all.
func TestCases(t *testing.T) {
	all := cases(t)
	require.GreaterOrEqual(t, len(all), 100)
	if *update {
		save(t, "cases.json", all)
	}
	readCases(t, all)
}

// The stored cases are read as they must be.
func TestKeptCases(t *testing.T) {
	var all []vector
	load(t, "cases.json", &all)
	require.GreaterOrEqual(t, len(all), 100)
	readCases(t, all)
}

func readCases(t *testing.T, all []vector) {
	t.Helper()
	seen := map[string]bool{}
	for _, v := range all {
		require.False(t, seen[v.Kind+v.Name], "%s: %s is there twice", v.Kind, v.Name)
		seen[v.Kind+v.Name] = true
		if assert.NotNil(t, readers[v.Kind], v.Kind) {
			assert.Equal(t, v.Want, readers[v.Kind](v.Input), "%s: %s", v.Kind, v.Name)
		}
	}
}

func cases(t testing.TB) []vector {
	all := envelopes(t)
	all = append(all, messages(t)...)
	all = append(all, names()...)
	return append(all, tokens(t)...)
}

// envelopes returns cases of envelopes, the first of which is valid.
func envelopes(t testing.TB) []vector {
	h := newWriter(t).begin("envelope")
	good, err := handoff.Canonical(h.env)
	require.NoError(t, err)
	all := []vector{{"envelope", "in order", []string{string(good)}, "ok"}}
	with := func(name, want, old, next string) {
		require.Equal(t, 1, strings.Count(string(good), old), old)
		all = append(all, vector{"envelope", name, []string{strings.Replace(string(good), old, next, 1)}, want})
	}
	goal := func(name, want, text string) { with("goal: "+name, want, `"Stop the 500 on login"`, text) }
	with("a blank between tokens", "non_canonical", `"goal":`, `"goal": `)
	with("a later version", "unknown_schema", "githandoff/1", "githandoff/2")
	with("an unknown member", "malformed", `"goal":`, `"gaol":"x","goal":`)
	with("a member twice", "malformed", `"goal":`, `"goal":"x","goal":`)
	with("a member in another case", "malformed", `"goal":`, `"Goal":`)
	with("no goal and no summary", "malformed", `"goal":"Stop the 500 on login",`, ``)
	with("it ends before it begins", "malformed", `"expires_at":"2026-11-27`, `"expires_at":"2026-11-19`)
	with("it ends as it begins", "ok", `"expires_at":"2026-11-27`, `"expires_at":"2026-11-20`)
	with("no end", "ok", `"expires_at":"2026-11-27T22:00:00Z",`, ``)
	with("a part of a second", "malformed", `"created_at":"2026-11-20T22:00:00Z"`, `"created_at":"2026-11-20T22:00:00.5Z"`)
	with("an empty object that may be", "ok", `"created_at":`, `"context":{},"created_at":`)
	with("an empty object that may not", "non_canonical", `"created_at":"2026-11-20T22:00:00Z",`, `"created_at":"2026-11-20T22:00:00Z","data":{},`)
	with("names that differ in case, in data", "ok", `"created_at":"2026-11-20T22:00:00Z",`, `"created_at":"2026-11-20T22:00:00Z","data":{"K":"v","k":"v"},`)
	with("its own parent", "invalid_id", `"salt":`, `"parent":"`+string(h.id)+`","salt":`)
	with("a path upwards", "invalid_path", `"salt":`, `"relevant_files":["../x"],"salt":`)
	with("a path into .git", "invalid_path", `"salt":`, `"relevant_files":["a/.GIT/config"],"salt":`)
	with("a line of a file", "ok", `"goal":"Stop the 500 on login",`, `"files_verified":["a.go:1-2"],"goal":"Stop the 500 on login",`)
	with("a line with a zero in front, which is a path", "ok", `"goal":"Stop the 500 on login",`, `"files_verified":["a.go:01-2"],"goal":"Stop the 500 on login",`)
	with("a drive", "invalid_path", `"goal":"Stop the 500 on login",`, `"files_verified":["a:01-2"],"goal":"Stop the 500 on login",`)
	with("a token's member too many", "malformed", `"salt":`, `"obo":{"jti":"obo_00000000000000000000000000000000","line":"x","path":"obo/0.json"},"salt":`)
	goal("TAB, LF and CR", "ok", `"a\tb\nc\r"`)
	goal("an escape sequence", "malformed", `"\u001b[2J"`)
	goal("a soft hyphen", "malformed", "\"a\u00adb\"")
	goal("a line separator", "malformed", "\"a\u2028b\"")
	goal("text from right to left", "malformed", "\"a\u202eb\"")
	goal("a zero-width space", "malformed", "\"a\u200bb\"")
	goal("a joiner between Latin letters", "malformed", "\"a\u200db\"")
	goal("a joiner between pictures", "ok", "\"\U0001f469\u200d\U0001f52c\"")
	goal("a non-joiner in Persian", "ok", "\"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645\"")
	goal("a style behind a picture", "ok", "\"\u2764\ufe0f\"")
	goal("a style behind a letter", "malformed", "\"a\ufe0f\"")
	goal("an Arabic number sign", "ok", "\"\u0600\u0661\"")
	goal("a lone surrogate", "malformed", `"\ud800"`)
	goal("an escape that is not needed", "non_canonical", `"\u0061"`)
	return all
}

// messages returns cases of the messages of a receipt and of commits beside it.
func messages(t testing.TB) []vector {
	h := held(newWriter(t).begin("message"))
	tip := h.laneTip
	h.then("fixer", record.Failed, as, as)
	raw := h.git.Git(t, "cat-file", "commit", h.laneTip) + "\n"
	_, message, ok := strings.Cut(raw, "\n\n")
	require.True(t, ok)
	all := []vector{
		{"message", "in order", []string{message, "fixer"}, "ok"},
		{"message", "of another actor", []string{message, "tester"}, "malformed_object"},
		{"commit", "in order", []string{raw}, "ok"},
		{"speaks-of", "in order", []string{raw}, string(h.id)},
		{"speaks-of", "no event", []string{"x\n\nHandoff-Id: " + string(h.id) + "\n"}, string(h.id)},
		{"speaks-of", "the last of two", []string{"\nHandoff-Id: x\nHandoff-Id: " + string(h.id) + "\n"}, string(h.id)},
		{"speaks-of", "the last of two is none", []string{"\nHandoff-Id: " + string(h.id) + "\nHandoff-Id: x\n"}, ""},
		{"speaks-of", "nobody", []string{"Handoff-Id: " + string(h.id) + "\n"}, ""},
	}
	with := func(kind, name, old, next string) {
		in := map[string][]string{"message": {message, "fixer"}, "commit": {raw}}[kind]
		require.Equal(t, 1, strings.Count(in[0], old), "%s: %q", name, old)
		all = append(all, vector{kind, name, append([]string{strings.Replace(in[0], old, next, 1)}, in[1:]...), "malformed_object"})
	}
	with("message", "a trailer twice", "Handoff-Status: complete\n", "Handoff-Status: complete\nHandoff-Status: complete\n")
	with("message", "an unknown trailer", "Handoff-Status: complete\n", "Handoff-Status: complete\nHandoff-Evil: x\n")
	with("message", "another order", "Handoff-From: boss\nHandoff-To: fixer\n", "Handoff-To: fixer\nHandoff-From: boss\n")
	with("message", "a foreign trailer", "Handoff-Claim:", "Handoff-Lease: 2026-11-20T23:00:00Z\nHandoff-Claim:")
	with("message", "a trailer that is missing", "Handoff-Status: complete\n", "")
	with("message", "two blanks", "Handoff-Status: complete", "Handoff-Status:  complete")
	with("message", "an unknown status", "Handoff-Status: complete", "Handoff-Status: done")
	with("message", "61 seconds", "Handoff-Duration: 1s", "Handoff-Duration: 61s")
	with("message", "counts with a zero in front", "steps=1 ", "steps=01 ")
	with("message", "a year of one digit too many", "Handoff-Expires: 2026", "Handoff-Expires: 12026")
	with("message", "a digest of another kind", "sha256:", "sha512:")
	with("message", "a home that is none", "Handoff-Home: local:", "Handoff-Home: home:")
	with("commit", "two parents", "parent "+tip+"\n", "parent "+tip+"\nparent "+tip+"\n")
	with("commit", "another tree", "tree "+gittest.Objects().EmptyTree(), "tree "+h.tree)
	with("commit", "an extra header", "\n"+gittest.SignatureHeader()+" ", "\nencoding UTF-8\n"+gittest.SignatureHeader()+" ")
	with("commit", "no payload", "Handoff-Payload: "+h.payload+"\n", "")
	with("commit", "a line feed more", "\n\nfailed", "\n\n\nfailed")
	for name, in := range map[string][2]string{
		"in order":         {`{"k":"\u003c\u00e9\ud83d\ude00\n"}`, "ok"},
		"no JSON":          {"xx", "malformed_object"},
		"a list":           {`["a"]`, "malformed_object"},
		"null":             {`{"a":null}`, "malformed_object"},
		"empty":            {`{}`, "malformed_object"},
		"not escaped":      {`{"k":"<"}`, "malformed_object"},
		"upper-case hex":   {`{"k":"\u00E9"}`, "malformed_object"},
		"long escape":      {`{"k":"\u000a"}`, "malformed_object"},
		"sorted by bytes":  {`{"B":"","a":"","\u00e9":"","\uffee":"","\ud83d\ude00":""}`, "ok"},
		"sorted otherwise": {`{"a":"","B":""}`, "malformed_object"},
		"4,096 bytes":      {`{"a":"` + strings.Repeat("x", 4088) + `"}`, "ok"},
		"4,097 bytes":      {`{"a":"` + strings.Repeat("x", 4089) + `"}`, "malformed_object"},
	} {
		all = append(all, vector{"data", name, []string{in[0]}, in[1]})
	}
	return sorted(all)
}

// names returns cases of the names in section 1.
func names() []vector {
	var all []vector
	add := func(kind, want string, in ...string) {
		all = append(all, vector{kind, strings.Join(in, " "), in, want})
	}
	for _, good := range []string{"fixer", "0", "a.b_c-d", strings.Repeat("a", 63)} {
		add("agent", "ok", good)
	}
	for _, bad := range []string{"", "_", "-a", ".a", "a..b", "a.lock", "a.", "A", "ä", strings.Repeat("a", 64)} {
		add("agent", "refused", bad)
	}
	add("id", "ok", "ho_01m7y8gjs8tmj60w6w82mcpy0h")
	for _, bad := range []string{"ho_81m7y8gjs8tmj60w6w82mcpy0h", "ho_01m7y8gjs8tmj60w6w82mcpy0", "ho_01m7y8gjs8tmj60w6w82mcpy0i", "HO_01m7y8gjs8tmj60w6w82mcpy0h"} {
		add("id", "refused", bad)
	}
	add("derived-id", "ho_01m7y896ermtgew8fbyvb2xg9m", "2026-11-21T05:11:51Z", "ho_01m7y896er9qkxsrwexxgkjazc", "00c3cb394a6f25b8099808238459cd4c")
	for in, want := range map[string]string{
		"https://Example.com/acme/client.git": "git+https://example.com/acme/client", "https://bob@example.com:443/a/": "git+https://example.com/a",
		"git@example.com:acme/client.git": "git+https://example.com/acme/client", "ssh://git@example.com:2222/a": "git+https://example.com:2222/a",
		"http://h/a?x=1": "git+https://h/a", "https://h/a b": "git+https://h/a%20b", "https://h/a/.git": "git+https://h/a/",
		"/srv/hub.git": "git+file:///srv/hub.git", "file:///srv/hub/.git": "git+file:///srv/hub", "../hub": "git+file:///srv/hub",
		"ftp://h/a": "bad_url", "ext::sh -c id": "bad_url", "": "bad_url", "-x": "bad_url",
	} {
		add("repo-id", want, in)
	}
	for in, want := range map[[2]string]string{
		{"repo.write:src/auth/*", "repo.write:src/auth/a/b.go"}: "covers", {"repo.write:src/auth/*", "repo.write:src/auth"}: "does not cover",
		{"repo.write", "repo.write:src/a"}: "covers", {"repo.write:src/a", "repo.write"}: "does not cover",
		{"handoff.*", "handoff.emit"}: "covers", {"handoff.*", "handoff"}: "does not cover", {"a.b:x", "a.b:x"}: "covers",
		{"*", "a"}: "malformed", {"a.*.b", "a"}: "malformed", {"a:..", "a"}: "malformed", {"a:x//y", "a"}: "malformed", {"A", "a"}: "malformed",
	} {
		add("scope-covers", want, in[0], in[1])
	}
	return sorted(all)
}

// tokens returns cases of tokens, the first of which is valid.
func tokens(t testing.TB) []vector {
	c := &obo.Claims{
		Type: obo.Type, JTI: "obo_" + strings.Repeat("0", 32), Issuer: signer(t, "alice@example.com").KID(), Subject: "user:alice@example.com",
		Actor: obo.Actor{Subject: "fixer"}, Confirmation: obo.Confirmation{Keys: []string{signer(t, "fixer").KID()}},
		Audience: []string{homeID}, Scope: []string{"repo.read", "repo.write:src/*"}, IssuedAt: start().Unix(), ExpiresAt: start().Unix() + 86400,
		Handoff: obo.HandoffRef{ID: handoff.DeriveID(start(), "token"), SHA256: hex.EncodeToString(make([]byte, 32))}, MaxDepth: 1,
	}
	b, err := obo.Encode(c)
	require.NoError(t, err)
	good := string(b)
	all := []vector{{"token", "in order", []string{good}, "ok"}}
	with := func(name, want, old, next string) {
		require.Equal(t, 1, strings.Count(good, old), old)
		all = append(all, vector{"token", name, []string{strings.Replace(good, old, next, 1)}, want})
	}
	with("of another type", "malformed", "githandoff-obo/1", "githandoff-obo/2")
	with("scopes in another order", "malformed", `"repo.read","repo.write:src/*"`, `"repo.write:src/*","repo.read"`)
	with("no scope", "malformed", `"repo.read","repo.write:src/*"`, ``)
	with("a scope of everything", "malformed", `"repo.read",`, `"*",`)
	with("eight days", "malformed", `"exp":`+jsonInt(c.ExpiresAt), `"exp":`+jsonInt(c.IssuedAt+8*86400))
	with("over before it begins", "malformed", `"exp":`+jsonInt(c.ExpiresAt), `"exp":`+jsonInt(c.IssuedAt-1))
	with("four more may follow", "malformed", `"del_max_depth":1`, `"del_max_depth":4`)
	with("a member too many", "malformed", `"aud":`, `"aaa":1,"aud":`)
	with("a blank", "non_canonical", `"aud":`, `"aud": `)
	with("a principal with a star", "malformed", "user:alice@example.com", "user:*@example.com")
	with("a part of a second", "malformed", `"iat":`+jsonInt(c.IssuedAt), `"iat":`+jsonInt(c.IssuedAt)+`.5`)
	return all
}

func jsonInt(n int64) string { return strconv.FormatInt(n, 10) }

func sorted(all []vector) []vector {
	slices.SortStableFunc(all, func(a, b vector) int { return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name)) })
	return all
}
