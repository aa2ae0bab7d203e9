package refs

import (
	"bytes"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A paced reader reads all data, however small the pieces are.
func TestPaced(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	want := bytes.Repeat([]byte("0123456789abcdef"), 8<<10)
	go func() {
		defer w.Close()
		for piece := range slices.Chunk(want, 4<<10) {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}()
	got, err := io.ReadAll(newPaced(r))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got), "%d bytes", len(got))
}
