package output

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
)

// shown is a table as a terminal of a width shows it.
func shown(width int, header []string, rows ...[]string) []string {
	var out bytes.Buffer
	p := &Printer{out: &out, terminal: true, getenv: func(string) string { return "" }, Color: Never}
	t := p.Table(width, header...)
	t.Indent("  ")
	for _, row := range rows {
		var cells []Cell
		for i, text := range row {
			cells = append(cells, Text(text))
			if header[i] == "STATE" {
				cells[i] = State(text)
			}
		}
		t.Cells(cells...)
	}
	_ = t.Flush()
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func TestTableFitsTheTerminal(t *testing.T) {
	header := []string{"HANDOFF", "STATE", "FROM", "TASK", "HOLDER", "DEADLINE"}
	rows := [][]string{{"…959vbhaz", "offered", "fixer", "LIN-423-and-more", "", "7d left"}, {"…q38e7pwk", "queued", "", "", "", ""}}
	wide := []string{
		"  HANDOFF    STATE    FROM   TASK              HOLDER  DEADLINE",
		"  …959vbhaz  offered  fixer  LIN-423-and-more          7d left",
		"  …q38e7pwk  queued",
	}
	for _, width := range []int{0, 63, 200} {
		assert.Equal(t, wide, shown(width, header, rows...), width)
	}
	assert.Equal(t, []string{
		"  HANDOFF    STATE    FROM   TASK              DEADLINE",
		"  …959vbhaz  offered  fixer  LIN-423-and-more  7d left",
		"  …q38e7pwk  queued",
	}, shown(62, header, rows...), "a column without a text goes first")
	assert.Equal(t, []string{
		"  HANDOFF    STATE    FROM   TASK        DEADLINE",
		"  …959vbhaz  offered  fixer  LIN-423-a…  7d left",
		"  …q38e7pwk  queued",
	}, shown(49, header, rows...), "then the least needed one is cut")
	assert.Equal(t, []string{
		"  HANDOFF    STATE    FROM   DEADLINE",
		"  …959vbhaz  offered  fixer  7d left",
		"  …q38e7pwk  queued",
	}, shown(40, header, rows...), "and goes at last")
}

// A character may be two columns wide, and a column between full ones stays aligned.
func TestTableOfWideCharacters(t *testing.T) {
	lines := shown(40, []string{"HANDOFF", "GOAL"}, []string{"…q38e7pwk", `"修复登录时的错误并写一个测试"`}, []string{"…959vbhaz", "x"})
	for _, line := range lines {
		assert.LessOrEqual(t, ansi.StringWidth(line), 40, line)
	}
	assert.Equal(t, `  …q38e7pwk  "修复登录时的错误并写一个…`, lines[1])
	lines = shown(0, []string{"GOAL", "STATE"}, []string{"修复", "offered"}, []string{"mend", "queued"})
	assert.Equal(t, []string{"  GOAL  STATE", "  修复  offered", "  mend  queued"}, lines)
}
