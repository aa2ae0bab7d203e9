package cli

import (
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/assert"
)

// A goal ends where the terminal ends, also one of characters that take two columns.
func TestGoalFitsTheTerminal(t *testing.T) {
	table := func() [][]string {
		return [][]string{
			{"HANDOFF", "TASK", "GOAL"},
			{"…959vbhaz", "LIN-1", `"Stop the 500 on login"`},
			{"…q38e7pwk", "", `"修复登录时的错误并写一个测试"`},
			{"…q38e7pwl", "", ""},
		}
	}
	assert.Equal(t, table(), fitted(table(), 0), "no terminal cuts nothing")
	assert.Equal(t, table(), fitted(table(), 200))
	got := fitted(table(), 40)
	assert.Equal(t, `"Stop the 500 on lo…`, got[1][2])
	for _, row := range got {
		assert.LessOrEqual(t, 2+len("…959vbhaz")-2+2+len("LIN-1")+2+lipgloss.Width(row[2]), 40)
	}
	assert.Equal(t, least, lipgloss.Width(fitted(table(), 5)[1][2]), "some of it is always there")
}
