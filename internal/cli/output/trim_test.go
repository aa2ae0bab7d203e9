package output

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// However the text comes in pieces, each line loses the spaces at its end and nothing else.
func TestTrimmed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.StringOf(rapid.SampledFrom([]rune("a \n")))).Draw(t, "pieces")
		var got bytes.Buffer
		w := &trimmed{w: &got}
		for _, p := range pieces {
			n, err := w.Write([]byte(p))
			require.NoError(t, err)
			assert.Equal(t, len(p), n)
		}
		var want []string
		for line := range strings.SplitSeq(strings.Join(pieces, ""), "\n") {
			want = append(want, strings.TrimRight(line, " "))
		}
		assert.Equal(t, strings.Join(want, "\n"), got.String())
	})
}

// A row whose last cells are empty is no wider than its text, and the columns stay aligned.
func TestTableWithEmptyCells(t *testing.T) {
	var out bytes.Buffer
	p := New(&out, &out, true, func(string) string { return "" }, time.Now)
	table := p.Table()
	require.NoError(t, table.Cells(Text("HANDOFF"), Text("VERDICT"), Text("RESULTS")))
	require.NoError(t, table.Cells(Text("a"), Text("ok"), Text("")))
	require.NoError(t, table.Cells(Text("b"), Text("ok"), Text("done")))
	require.NoError(t, table.Flush())
	assert.Equal(t, "HANDOFF  VERDICT  RESULTS\na        ok\nb        ok       done\n", out.String())
}
