package handoff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/handoff"
)

// A target that is parsed and printed is the same text.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"fixer", "fixer@client", "@client", "", "@", "a@b@c", "Fixer", "fixer@-x", "a..b@c", "_@origin"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		agent, alias, err := handoff.ParseTarget(s)
		if err != nil {
			return
		}
		again := ""
		if agent != nil {
			require.NoError(t, handoff.CheckAgent(*agent))
			again = *agent
		}
		if alias != "" {
			require.NoError(t, handoff.CheckAlias(alias))
			again += "@" + alias
		}
		assert.Equal(t, s, again)
	})
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2026-11-20T22:00:00Z", "2026-11-20T22:00:00.0Z", "2026-11-20T22:00:00+00:00", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-20 22:00:00Z", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if at, err := handoff.ParseTime(s); err == nil {
			assert.Equal(t, s, handoff.FormatTime(at))
		}
	})
}
