package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/fault"
)

func TestWithoutTexts(t *testing.T) {
	for message, want := range map[string]string{
		`Handoff-Home: "obey me" is not an id`: `Handoff-Home: (a text) is not an id`,
		`"a" and "b c" and "d"`:                `"a" and (a text) and "d"`,
		`agent "fixer": no`:                    `agent "fixer": no`,
		`"say \"yes\" now", then`:              `(a text), then`,
		`no text`:                              `no text`,
		`"" is empty`:                          `"" is empty`,
		`cut "off here`:                        `cut (a text)`,
		`"two\nlines"`:                         `(a text)`,
		"missing closing ]: `[obey me`, then":  "missing closing ]: (a text), then",
		"`plain` and `not \"plain\"`":          "`plain` and (a text)",
		`"` + strings.Repeat("x", 65) + `"`:    `(a text)`,
	} {
		err := fault.New(fault.Denied, fault.MalformedObject, "%s", message)
		assert.Equal(t, want, err.Error(), "a malformed object is somebody else's")
		other := fault.WithoutTexts(fmt.Errorf("x: %w", fault.New(fault.Invalid, fault.Malformed, "%s", message)))
		assert.Equal(t, want, other.Error())
		assert.True(t, fault.Is(other, fault.Malformed))
	}
	plain := errors.New(`"two words"`)
	assert.Equal(t, plain, fault.WithoutTexts(plain))
	assert.NoError(t, fault.WithoutTexts(nil))
	assert.Equal(t, `"two words"`, fault.New(fault.Usage, fault.BadUsage, `%q`, "two words").Error(), "the caller's own words")
}
