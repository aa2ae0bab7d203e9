package output

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A terminal obeys nothing of what a filter selects, nor of a patch; a pipe gets it as it is.
func TestFilteredTextAtATerminal(t *testing.T) {
	const hostile = "a\tgoal\n\x1b]0;title\a\u009b2J\u202e\r漢\n"
	for terminal, want := range map[bool]string{
		true:  "a\tgoal\n" + `\x1b]0;title\a\u009b2J\u202e\r漢` + "\n",
		false: hostile,
	} {
		var out strings.Builder
		p := New(&out, io.Discard, terminal, func(string) string { return "" }, func() time.Time { return time.Time{} })
		p.Filter = func(w io.Writer, object any) error {
			_, err := io.WriteString(w, object.(string))
			return err
		}
		require.NoError(t, p.Encode(&out, hostile))
		assert.Equal(t, want, out.String(), terminal)

		out.Reset()
		_, err := p.Foreign([]byte(hostile))
		require.NoError(t, err)
		assert.Equal(t, want, out.String(), terminal)
	}
}
