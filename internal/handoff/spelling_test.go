package handoff_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/handoff"
)

func TestIsHex(t *testing.T) {
	assert.True(t, handoff.IsHex("00ff", 4))
	assert.True(t, handoff.IsHex("", 0))
	for _, s := range []string{"00fF", "00f", "00fff", "00g0", "0x00", "００"} {
		assert.False(t, handoff.IsHex(s, 4), s)
	}
}
