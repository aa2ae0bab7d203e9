package record_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/record"
)

var update = flag.Bool("update", false, "write the table of trailers into docs/format.md")

const (
	tableBegins = "<!-- trailers: written by internal/record, TestFormatTable -->\n"
	tableEnds   = "<!-- end of trailers -->\n"
)

// The table in the specification is the one by which records are read and written.
func TestFormatTable(t *testing.T) {
	const page = "../../docs/format.md"
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), tableBegins)
	require.True(t, ok)
	table, after, ok := strings.Cut(rest, tableEnds)
	require.True(t, ok)
	if want := formatTable(); *update {
		require.NoError(t, os.WriteFile(page, []byte(before+tableBegins+want+tableEnds+after), 0o644))
	} else {
		assert.Equal(t, want, table, "go test ./internal/record -run TestFormatTable -update writes it")
	}
}

func formatTable() string {
	var b strings.Builder
	b.WriteString("| event | must have | may have |\n|---|---|---|\n")
	for _, event := range record.Events() {
		var must, may []string
		for _, name := range record.Trailers()[11:] {
			short := strings.TrimPrefix(name, "Handoff-")
			switch event.Needs(name) {
			case record.Must:
				must = append(must, short)
			case record.May:
				may = append(may, short)
			}
		}
		b.WriteString("| " + string(event) + " | " + strings.Join(must, ", ") + " | " + strings.Join(may, ", ") + " |\n")
	}
	return b.String()
}
