package teampolicy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSkillList(t *testing.T) {
	for want, in := range map[string][]string{
		"":                 {},
		"a, b c":           {"a", "b c"},
		`a\u002cb, \u00e9`: {"a,b", "é"},
		`a\u000ab`:         {"a\nb", "", " "},
		"b":                {"", "b"},
	} {
		assert.Equal(t, want, skillList(in))
	}
	long := skillList([]string{strings.Repeat("a", 3000), strings.Repeat("b", 3000)})
	assert.True(t, strings.HasSuffix(long, "a, ..."))
	assert.LessOrEqual(t, len(long), maxSkillList)
}
