package obo_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"githandoff/internal/fault"
	"githandoff/internal/obo"
)

func TestParseScope(t *testing.T) {
	for _, s := range []string{
		"handoff", "handoff.*", "handoff.emit", "repo.write", "repo.write:*", "repo.write:src/auth/*", "repo.write:.github/x y.yml",
		"repo.push:refs/heads/fix/*", "x_1-y:a:b", "repo.write:ö/日本", "do:" + strings.Repeat("a", 4093),
	} {
		got, err := obo.ParseScope(s)
		require.NoError(t, err, s)
		assert.Equal(t, s, got.String())
	}
	for _, s := range []string{
		"", "*", "*:x", "*.a", "a.*.b", "a*", "a.b*", "a.**", "repo.*:src", "repo.*:*", ":", ":x", "a:", "a.", ".a", "a..b", "A", "1a", "a b", " a",
		"a:/", "a:/x", "a:x/", "a:x//y", "a:..", "a:x/../y", "a:.", "a:x/./y", "a:x/*/y", "a:x*", "a:*x", "a:**", "a:x\ny", "a:x\x1b[2J",
		"a:x\u202ey", "a:x\u200by", "a:\xff", "a:x\u00a0y", "do:" + strings.Repeat("a", 4094),
	} {
		_, err := obo.ParseScope(s)
		assertRefused(t, err, fault.Invalid, "malformed")
	}
}

func TestCoversAll(t *testing.T) {
	for _, tc := range []struct {
		parent, child string
		want          bool
	}{
		{"repo.write", "repo.write", true},
		{"repo.write", "repo.write:src/a", true},
		{"repo.write:src/a", "repo.write", false},
		{"repo.write:*", "repo.write", false},
		{"repo.write:*", "repo.write:src/a", true},
		{"repo.write:src/*", "repo.write:src/a/b.go", true},
		{"repo.write:src/*", "repo.write:src/a/*", true},
		{"repo.write:src/*", "repo.write:src", false},
		{"repo.write:src/*", "repo.write:srcs/a", false},
		{"repo.write:src/a/*", "repo.write:src/*", false},
		{"repo.write:src/a", "repo.write:src/a/b", false},
		{"repo.write:src/a", "repo.write:src/A", false},
		{"repo.write:src/a", "repo.read:src/a", false},
		{"repo.*", "repo.write:src/a", true},
		{"repo.*", "repo.a.b", true},
		{"repo.*", "repo", false},
		{"repo.*", "repository.x", false},
		{"repo", "repo.write", false},
		{"repo.write", "repo.*", false},
		{"repo.a.*", "repo.*", false},
		{"*", "repo.write", false},
		{"", "repo.write", false},
		{"repo.write", "", false},
		{"repo.write", "repo.write:../x", false},
	} {
		assert.Equal(t, tc.want, obo.CoversAll([]string{tc.parent}, []string{tc.child}), "%s covers %s", tc.parent, tc.child)
	}
	assert.True(t, obo.CoversAll(nil, nil))
	assert.False(t, obo.CoversAll(nil, []string{"a"}))
	assert.True(t, obo.CoversAll([]string{"a", "b:x"}, []string{"b:x", "a:y", "a"}))
	assert.False(t, obo.CoversAll([]string{"a", "b:x"}, []string{"a", "b"}))
	assert.False(t, obo.Scope{}.Covers(obo.Scope{}))
}

func TestRequiredScopes(t *testing.T) {
	got := obo.RequiredScopes([]string{"refs/heads/fix/1"}, []string{"src/b.go", "src/a.go", "src/b.go"})
	assert.Equal(t, []string{"repo.push:refs/heads/fix/1", "repo.write:src/a.go", "repo.write:src/b.go"}, got)
	assert.Empty(t, obo.RequiredScopes(nil, nil))
	for _, odd := range []string{"a\nb", "../x", "/etc/passwd", "a/*b", ""} {
		assert.False(t, obo.CoversAll([]string{"repo.write"}, obo.RequiredScopes(nil, []string{odd})), "%q", odd)
	}
	assert.False(t, obo.CoversAll([]string{"repo.write:src/a"}, obo.RequiredScopes(nil, []string{"src/*"})))
}

// segments draws from few segments, so that one scope often covers another.
func segments(sep string, wild bool) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab"}), 1, 3).Draw(t, "segments")
		if wild && len(s) > 1 && rapid.Bool().Draw(t, "wild") {
			s[len(s)-1] = "*"
		}
		return strings.Join(s, sep)
	})
}

func scopes() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return segments(".", true).Draw(t, "action")
		case 1:
			return segments(".", false).Draw(t, "action") + ":*"
		default:
			return segments(".", false).Draw(t, "action") + ":" + segments("/", true).Draw(t, "target")
		}
	})
}

// means is the model: it reports whether the scope, as text, allows the plain request.
func means(scope, request string) bool {
	if prefix, wild := strings.CutSuffix(scope, "*"); wild {
		return strings.HasPrefix(request, prefix)
	}
	return request == scope || !strings.Contains(scope, ":") && strings.HasPrefix(request, scope+":")
}

func TestCoversIsAPartialOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(scopes(), 3, 3).Draw(t, "scopes")
		var s [3]obo.Scope
		for i := range s {
			var err error
			s[i], err = obo.ParseScope(text[i])
			require.NoError(t, err)
		}
		assert.True(t, s[0].Covers(s[0]))
		assert.Equal(t, text[0] == text[1], s[0].Covers(s[1]) && s[1].Covers(s[0]), "%q", text)
		if s[0].Covers(s[1]) && s[1].Covers(s[2]) {
			assert.True(t, s[0].Covers(s[2]), "%q", text)
		}
		if !strings.Contains(text[1], "*") {
			assert.Equal(t, means(text[0], text[1]), s[0].Covers(s[1]), "%q", text)
		}
	})
}

// However often a token is passed on, no agent gets more than the first token allowed.
func TestAttenuationNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(scopes(), 1, 4)
		p := first()
		p.Scope = lists.Draw(t, "root")
		token := must(obo.Issue(p))
		root, err := obo.Decode(token)
		require.NoError(t, err)
		for range rapid.IntRange(1, obo.MaxLinks).Draw(t, "steps") {
			p := next()
			p.Issuer, p.Audience = fixerK, nil
			p.Keys = []string{fixerK}
			p.Scope = lists.Draw(t, "scope")
			p.ExpiresAt = start.Add(time.Duration(rapid.IntRange(2, 30).Draw(t, "hours")) * time.Hour)
			child, err := obo.Attenuate(token, p)
			if err != nil {
				assert.True(t, fault.Is(err, "not_narrower") || fault.Is(err, "depth_invalid"), "%v", err)
				continue
			}
			token = child
		}
		leaf, err := obo.Decode(token)
		require.NoError(t, err)
		assert.LessOrEqual(t, leaf.ExpiresAt, root.ExpiresAt)
		assert.LessOrEqual(t, leaf.MaxDepth, root.MaxDepth)
		for range 8 {
			request := segments(".", false).Draw(t, "action") + ":" + segments("/", false).Draw(t, "target")
			if obo.CoversAll(leaf.Scope, []string{request}) {
				assert.True(t, obo.CoversAll(root.Scope, []string{request}), "%q", request)
			}
		}
	})
}

// Every scope that parses has only one text form and covers itself.
func FuzzScope(f *testing.F) {
	for _, s := range []string{"handoff.*", "repo.write:src/auth/*", "repo.push:refs/heads/fix/*", "*", "a.*.b", "a:..", "a:*", "a:x:y", ""} {
		f.Add(s, "repo.write:src/auth/a.go")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		s, err := obo.ParseScope(a)
		if err != nil {
			assertRefused(t, err, fault.Invalid, "malformed")
			assert.False(t, obo.CoversAll([]string{a}, []string{b}))
			return
		}
		assert.Equal(t, a, s.String())
		assert.True(t, s.Covers(s))
		if u, err := obo.ParseScope(b); err == nil && s.Covers(u) && u.Covers(s) {
			assert.Equal(t, a, b)
		}
	})
}
