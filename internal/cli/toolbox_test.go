package cli

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Between two commands of a sync, a board that ends finds no call under way. The second command
// does not begin then: a wait that is over must not be joined.
func TestNoCallBeginsAfterTheEnd(t *testing.T) {
	box := &toolbox{}
	assert.True(t, box.begin())
	box.calls.Done()
	box.close()
	assert.False(t, box.begin())
	_, _, err := box.run(t.Context(), "version")
	assert.ErrorIs(t, err, context.Canceled)
}
