package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"githandoff/internal/handoff"
)

// A renamed file has two paths. Every other file has one, whatever its name contains.
func TestChangesOfASnapshot(t *testing.T) {
	c := &workCommand{}
	r := c.row(&handoff.Work{}, []byte("M\x00a\nb\x00R087\x00old\x00new name\x00A\x00R\x00"))
	assert.Equal(t, []changedRow{{"M", "a\nb", ""}, {"R", "new name", "old"}, {"A", "R", ""}}, r.Changes)
	assert.Empty(t, c.row(&handoff.Work{}, nil).Changes)
}
