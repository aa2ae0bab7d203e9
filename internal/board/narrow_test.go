package board_test

import (
	"regexp"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"

	"githandoff/internal/board"
)

// lines returns the lines of the screen without colours.
func lines(b *board.Board) []string {
	return strings.Split(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(b.Screen(), ""), "\n")
}

// A terminal may have any size, whatever the board shows. A message once crashed the board in a terminal of two
// lines.
func TestAnySize(t *testing.T) {
	for name, keys := range map[string][]string{
		"list": {"down"}, "message": {"v", "n"}, "question": {"r"}, "answer": {"a", "x"}, "filter": {"/", "o"}, "text": {"enter"},
	} {
		b := open(t, team(), 80, 24)
		press(t, b, keys...)
		for height := 1; height < 9; height++ {
			for width := 1; width < 100; width += 3 {
				send(t, b, tea.WindowSizeMsg{Width: width, Height: height})
				assert.Len(t, lines(b), height, "%s %dx%d", name, width, height)
				for _, l := range lines(b) {
					assert.LessOrEqual(t, ansi.StringWidth(l), width, l)
				}
			}
		}
	}
}

// A narrow terminal shows who holds a handoff and for how long, rather than who sent it. It shows
// no count without its word.
func TestNarrowList(t *testing.T) {
	b := open(t, team(), 40, 24)
	assert.Equal(t, "alice@example.com  2 claimed …", strings.TrimRight(lines(b)[0], " "))
	assert.Equal(t, "HANDOFF     STATE      HOLDER  LEFT", strings.TrimRight(lines(b)[1], " "))
	assert.Equal(t, "…00000002   overdue    tester  over 40m", strings.TrimRight(lines(b)[4], " "))
	send(t, b, tea.WindowSizeMsg{Width: 60, Height: 24})
	assert.Equal(t, "HANDOFF     STATE      HOLDER     LEFT      TASK", strings.TrimRight(lines(b)[1], " "))
}

// A person sees the end of the text that they type, and the whole question.
func TestNarrowPrompts(t *testing.T) {
	b := open(t, team(), 40, 24)
	press(t, b, "a")
	press(t, b, strings.Split("an answer that is longer than the terminal is wide", "")...)
	text := strings.Join(lines(b), " ")
	assert.Contains(t, text, "is wide▏")
	assert.Contains(t, text, "enter sends it, esc does not")
	press(t, b, strings.Split(strings.Repeat("and goes on ", 30)+"to its end", "")...)
	assert.Contains(t, strings.Join(lines(b), " "), "to its end▏")
	assert.Len(t, lines(b), 24)
	press(t, b, "esc", "r")
	assert.Contains(t, strings.Join(strings.Fields(strings.Join(lines(b), " ")), " "), "y runs it, any other key does not")
}

// Pasted text goes into an open prompt as one line. If no prompt is open, it is not read as keys.
func TestPaste(t *testing.T) {
	d := team()
	b := open(t, d, 120, 30)
	send(t, b, tea.PasteMsg{Content: "vy"})
	assert.NotContains(t, b.Screen(), "y runs it")
	press(t, b, "v")
	send(t, b, tea.PasteMsg{Content: "y"})
	assert.Empty(t, d.ran)
	press(t, b, "esc", "/")
	send(t, b, tea.PasteMsg{Content: "LIN-424\n"})
	assert.Contains(t, b.Screen(), "filter: LIN-424▏")
	assert.NotContains(t, b.Screen(), "…00000001")
	press(t, b, "enter", "a")
	send(t, b, tea.PasteMsg{Content: "two\nlines \x1b[31m\u202eред\xff"})
	press(t, b, "!", "enter")
	assert.Equal(t, []string{"route " + d.rows[1].ID + " --answer=two lines  [31mред!"}, d.ran)
}

// A text that arrives while a person types is shown later: the next key belongs to the prompt.
func TestTextWaitsForThePrompt(t *testing.T) {
	d := team()
	b := open(t, d, 120, 30)
	_, show := b.Update(tea.KeyPressMsg{Code: tea.KeyEnter})
	press(t, b, "a", "s")
	send(t, b, show())
	press(t, b, "q", "r", "y")
	assert.Contains(t, b.Screen(), ": sqry▏")
	assert.NotContains(t, b.Screen(), "line 1 of show")
	press(t, b, "esc")
	assert.Contains(t, b.Screen(), "line 1 of show")
	press(t, b, "q")
	assert.Contains(t, b.Screen(), "HANDOFF")
}
