package internal_test

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stiff matches turns of phrase that the comments of the Go and git projects do not use: a relative clause
// without its noun, an inverted sentence, and outdated relative pronouns. TestStiffPhrasesAreFound has examples.
var stiff = regexp.MustCompile(strings.Join([]string{
	`\b(of|to|in|for|from|with|by|about|than|and|or|as|like|against|into|after|before|on|holds|reads|is|are|lists|keeps) what\b`,
	`(^|[.;:] )What [a-z][^?]*?(\.|;|$)`,
	`\b(of|to|for|by|from|than|and) who\b`,
	`(^|[.;:] )(Of|From|To|In|By|With) (what|one|those|it|that)\b`,
	`\ball the same\b`,
	`\bwhom\b`,
}, "|"))

// unpolished lists the packages whose comments still have such phrases. A package is removed when its last one
// is gone, and none may be added.
var unpolished = []string{}

// Comments must read like those of the Go and git projects.
func TestEnglish(t *testing.T) {
	found := map[string][]string{}
	for _, p := range checked(t) {
		name := strings.TrimPrefix(p.path, module)
		for _, file := range p.files {
			found[name] = append(found[name], stiffIn(p.fset, file)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(unpolished, name) {
			assert.Empty(t, found[name], "name the thing, then one verb, then the reason")
		}
	}
	for _, name := range unpolished {
		assert.NotEmpty(t, found[name], "%s has none left: take it off the list", name)
	}
}

// stiffIn lists the stiff phrases in the comments of a file, with their places.
func stiffIn(fset *token.FileSet, file *ast.File) (found []string) {
	for _, group := range file.Comments {
		text := strings.Join(strings.Fields(prose(group)), " ")
		for _, phrase := range stiff.FindAllString(text, -1) {
			found = append(found, fset.Position(group.Pos()).String()+": "+phrase)
		}
	}
	return found
}

// prose returns the text of a comment without its examples.
func prose(group *ast.CommentGroup) string {
	var lines []string
	for line := range strings.Lines(group.Text()) {
		if !strings.HasPrefix(line, "\t") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestStiffPhrasesAreFound(t *testing.T) {
	for _, bad := range []string{
		"a copy of what was left", "What nobody signed is refused.", "It is for who asks.", "Of one that is sealed, an outline is enough.",
		"It goes all the same.", "the agent to whom it goes",
	} {
		require.True(t, stiff.MatchString(bad), bad)
	}
	for _, good := range []string{"It says what is wrong.", "who ended it", "the state of the handoff", "What is wrong?"} {
		require.False(t, stiff.MatchString(good), good)
	}
}
