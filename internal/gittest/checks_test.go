package gittest_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/gittest"
)

// A flag of the command line counts, also if its value is the default.
func TestPreset(t *testing.T) {
	checks := flag.Int("gittest.preset", 100, "of this test alone")
	t.Run("not given", func(t *testing.T) {
		assert.True(t, gittest.Preset(t, "gittest.preset", "4"))
		assert.Equal(t, 4, *checks)
	})
	assert.Equal(t, 100, *checks)
	require.NoError(t, flag.Set("gittest.preset", "100"))
	assert.False(t, gittest.Preset(t, "gittest.preset", "4"))
	assert.Equal(t, 100, *checks)
}
