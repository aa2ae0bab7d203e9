package obo

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// maxScope bounds one scope, in bytes.
const maxScope = 4096

// Scope is one permission: an action, and a pattern of its targets. The grammar
// is in the package comment. The zero Scope covers nothing.
type Scope struct {
	action []string // dotted words; the last may be "*"
	target []string // segments between slashes; the last may be "*"; nil for any target
}

// ParseScope reads a scope. A text outside the grammar is refused with the code fault.Invalid
// and the reason malformed.
func ParseScope(s string) (Scope, error) {
	action, target, aimed := strings.Cut(s, ":")
	scope := Scope{action: strings.Split(action, ".")}
	if why := checkAction(scope.action, aimed); why != "" {
		return Scope{}, badScope(s, why)
	}
	if aimed {
		scope.target = strings.Split(target, "/")
		if why := checkTarget(scope.target); why != "" {
			return Scope{}, badScope(s, why)
		}
	}
	if len(s) > maxScope {
		return Scope{}, badScope(s, "it is too long")
	}
	return scope, nil
}

func checkAction(words []string, aimed bool) string {
	for i, w := range words {
		last := i == len(words)-1
		switch {
		case w == "*" && i == 0:
			return "it would allow every action"
		case w == "*" && last && !aimed:
		case w == "*":
			return `"*" stands only at the end`
		case !isWord(w):
			return "an action is words of a-z 0-9 _ - with dots between them"
		}
	}
	return ""
}

func isWord(s string) bool {
	const first = "abcdefghijklmnopqrstuvwxyz"
	return s != "" && strings.IndexByte(first, s[0]) >= 0 && strings.Trim(s[1:], first+"0123456789_-") == ""
}

func checkTarget(segments []string) string {
	for i, s := range segments {
		switch {
		case s == "*" && i == len(segments)-1:
		case strings.Contains(s, "*"):
			return `"*" stands only for the whole last segment of a target`
		case s == "", s == ".", s == "..":
			return `a segment of a target is neither empty nor "." nor ".."`
		case !utf8.ValidString(s), strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
			return "it holds control or invisible characters"
		}
	}
	return ""
}

func badScope(s, why string) error {
	const shown = 64
	if len(s) > shown {
		s = s[:shown] + "..."
	}
	return fault.New(fault.Invalid, fault.Malformed, "scope %+q: %s", s, why).
		WithHints(fault.Fact("a scope is an action, or an action and its target, such as repo.write:src/auth/* or handoff.*"))
}

// Covers reports whether s allows everything t allows. It is a partial order: scopes covering
// each other are the same.
func (s Scope) Covers(t Scope) bool {
	if len(s.action) == 0 || len(t.action) == 0 || !reaches(s.action, t.action) {
		return false
	}
	return s.target == nil || t.target != nil && reaches(s.target, t.target)
}

// reaches reports whether a pattern covers segments. A final "*" stands for one segment or more.
// The segments may themselves end in "*".
func reaches(pattern, segments []string) bool {
	prefix := len(pattern) - 1
	if pattern[prefix] != "*" {
		return slices.Equal(pattern, segments)
	}
	return len(segments) > prefix && slices.Equal(pattern[:prefix], segments[:prefix])
}

// CoversAll reports whether each of children is covered by one of parents. A malformed
// scope neither covers nor is covered.
func CoversAll(parents, children []string) bool {
	_, found := uncovered(parents, children)
	return !found
}

// uncovered finds the first of children not covered by any parent.
func uncovered(parents, children []string) (scope string, found bool) {
	wide := make([]Scope, 0, len(parents))
	for _, p := range parents {
		if s, err := ParseScope(p); err == nil {
			wide = append(wide, s)
		}
	}
	for _, c := range children {
		s, err := ParseScope(c)
		if err != nil || !slices.ContainsFunc(wide, func(p Scope) bool { return p.Covers(s) }) {
			return c, true
		}
	}
	return "", false
}

// The actions that githandoff checks. A token may have others, which other programs check.
const (
	actionPush  = "repo.push"
	actionWrite = "repo.write"
)

// Doubt says why a scope may not allow what its author means: its action resembles one that githandoff
// checks, or it names the branch of a push short, such as repo.push:main. Nil: neither.
func Doubt(scope string) error {
	action, target, _ := strings.Cut(scope, ":")
	if near := fault.Nearest(action, []string{actionPush, actionWrite}); near != "" {
		return fmt.Errorf("%s: nothing checks this action; did you mean %s?", scope, near)
	}
	if action == actionPush && target != "" && target != "*" && !strings.HasPrefix(target, "refs/") {
		return fmt.Errorf("%s: it allows no push, because the ref of a push has its full name; did you mean %s?", scope, actionPush+":refs/heads/"+target)
	}
	return nil
}

// RequiredScopes lists, sorted and once each, the scopes needed for a push: repo.push for each
// ref created, moved or deleted (a full name), and repo.write for each path changed by its
// commits. Give both names of a rename.
//
// A name outside the grammar, such as one with a control character in it, gives a scope no
// token allows; one ending in a segment "*" gives the wildcard, which asks for more than the
// name.
func RequiredScopes(refs, changedPaths []string) []string {
	scopes := make([]string, 0, len(refs)+len(changedPaths))
	for _, ref := range refs {
		scopes = append(scopes, actionPush+":"+ref)
	}
	for _, path := range changedPaths {
		scopes = append(scopes, actionWrite+":"+path)
	}
	return sortedSet(scopes)
}

// astray reports whether the target of a scope leads elsewhere than it says: a push to a refspec or
// a revision, which are not names of refs, or a file in git's own directory, in any spelling that a
// file system accepts for it.
func astray(scope string) bool {
	action, target, aimed := strings.Cut(scope, ":")
	switch {
	case !aimed:
		return false
	case action == actionPush:
		return strings.HasPrefix(target, "+") || strings.ContainsAny(target, " ~^:?[\\") || strings.Contains(target, "@{")
	case action == actionWrite:
		return handoff.CheckPath(target) != nil
	}
	return false
}
