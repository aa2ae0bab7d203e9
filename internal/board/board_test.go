package board_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"githandoff/internal/board"
)

var update = flag.Bool("update", false, "rewrite the recorded frames")

func now() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

// backend records the commands that were run.
type backend struct {
	rows []board.Row
	ran  []string
	err  error
	long string // a command with long output
}

func (d *backend) Rows(context.Context) ([]board.Row, error) { return slices.Clone(d.rows), nil }
func (d *backend) Sync(context.Context) error                { d.ran = append(d.ran, "sync"); return d.err }

func (d *backend) Run(_ context.Context, args ...string) (string, error) {
	d.ran = append(d.ran, strings.Join(args, " "))
	if args[0] != "show" && args[0] != d.long {
		return "done: " + args[0] + "\n", d.err
	}
	signed := "Signed by openpgp:949c14597a7afbde99da837d71097450ad04d64d (trusted here as investigator), for user:alice@example.com (declared).\n"
	return "line 1 of " + args[0] + "\n" + signed + strings.Repeat("more\n", 40), d.err
}

func team() *backend {
	at := func(minutes int) time.Time { return now().Add(-time.Duration(minutes) * time.Minute) }
	row := func(n int, state, from, to, holder, task string, age, left int) board.Row {
		id := "ho_01m80ywpy0tsg5tz000000000" + strconv.Itoa(n)
		return board.Row{ID: id, Short: "…0000000" + strconv.Itoa(n), State: state, From: from, To: to, Holder: holder, Task: task, At: at(age), Deadline: at(-left)}
	}
	rows := []board.Row{
		row(1, "claimed", "architect", "coder@origin", "coder", "LIN-423", 95, 25),
		row(2, "overdue", "planner", "tester@origin", "tester", "LIN-424", 300, -40),
		row(3, "offered", "coder", "an-agent-with-a-very-long-name@origin", "", "org/repo#7", 3, 9000),
		row(4, "undecided", "architect", "_", "", "", 2000, 9000),
		row(5, "claimed", "coder", "docs", "docs", "LIN-423", 10, 50),
	}
	rows[4].Parent = rows[0].ID
	return &backend{rows: rows}
}

// send gives the board a message and all messages that follow from it, except ticks.
func send(t *testing.T, b *board.Board, msg tea.Msg) {
	t.Helper()
	_, cmd := b.Update(msg)
	if cmd == nil {
		return
	}
	done := make(chan tea.Msg, 1)
	go func() { done <- cmd() }()
	select {
	case next := <-done:
		switch next := next.(type) {
		case nil, tea.QuitMsg:
		case tea.BatchMsg:
		default:
			send(t, b, next)
		}
	case <-time.After(time.Second):
	}
}

func press(t *testing.T, b *board.Board, keys ...string) {
	t.Helper()
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "down": {Code: tea.KeyDown}, "backspace": {Code: tea.KeyBackspace}, "pgdown": {Code: tea.KeyPgDown},
	}
	for _, k := range keys {
		if msg, ok := special[k]; ok {
			send(t, b, msg)
			continue
		}
		send(t, b, tea.KeyPressMsg{Text: k, Code: []rune(k)[0]})
	}
}

func open(t *testing.T, d *backend, width, height int) *board.Board {
	t.Helper()
	b := board.New(t.Context(), d, now, "alice@example.com")
	send(t, b, tea.WindowSizeMsg{Width: width, Height: height})
	press(t, b, "s") // s also reads the copies
	d.ran = nil
	return b
}

// frame compares the screen without colours with the recorded one.
func frame(t *testing.T, b *board.Board, name string, width, height int) {
	t.Helper()
	screen := b.Screen()
	lines := strings.Split(screen, "\n")
	assert.Len(t, lines, height)
	for _, l := range lines {
		assert.LessOrEqual(t, ansi.StringWidth(l), width, l)
	}
	plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(screen, "") + "\n"
	plain = regexp.MustCompile(` +\n`).ReplaceAllString(plain, "\n")
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(plain), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), plain)
}

// The recorded frames have the two usual sizes.
//
//	go test ./internal/board -update
func TestFrames(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		name := strconv.Itoa(size[0]) + "x" + strconv.Itoa(size[1])
		b := open(t, team(), size[0], size[1])
		frame(t, b, "list-"+name, size[0], size[1])
		press(t, b, "down", "v")
		frame(t, b, "revoke-"+name, size[0], size[1])
		press(t, b, "n", "enter")
		frame(t, b, "show-"+name, size[0], size[1])
	}
}

func TestKeysRunCommands(t *testing.T) {
	d := team()
	b := open(t, d, 120, 30)
	first, child := d.rows[0].ID, d.rows[4].ID
	press(t, b, "o")
	assert.Equal(t, []string{"route " + first}, d.ran)
	press(t, b, "j", "r", "y") // the child stands below the one that it follows from
	assert.Equal(t, "release --force "+child, d.ran[1])
	press(t, b, "a", "-", "x", "y", "backspace", "enter")
	assert.Equal(t, "route "+child+" --answer=-x", d.ran[2], "an answer is no flag")
	press(t, b, "enter", "esc", "k", "v", "y")
	assert.Equal(t, []string{"show " + child, "revoke " + first}, d.ran[3:])
}

// On a narrow terminal the line of keys has as many keys as fit, and always the one that leaves the board.
func TestNarrowKeys(t *testing.T) {
	b := open(t, team(), 60, 24)
	foot := func() string {
		lines := strings.Split(b.Screen(), "\n")
		return lines[len(lines)-1]
	}
	assert.Equal(t, "↑↓ enter show  o route  a answer  r release  q quit  ? keys", foot())
	press(t, b, "?")
	assert.Contains(t, b.Screen(), "filter  s sync  q quit\n")
	wide := open(t, team(), 120, 24)
	press(t, wide, "?")
	assert.Equal(t, 1, strings.Count(wide.Screen(), "s sync"), "they are at the foot already")
	press(t, b, "/", "x", "enter")
	assert.Equal(t, "filter: x  esc clears it  ↑↓ enter show  s sync  q quit", foot())
	send(t, b, tea.WindowSizeMsg{Width: 30, Height: 24})
	assert.Equal(t, "filter: x  q quit  ? keys", foot())
}

// A typed answer is never read as the name of a file.
func TestAnswerIsNoFile(t *testing.T) {
	d := team()
	b := open(t, d, 120, 30)
	press(t, b, "j", "a", "@", "x", "enter")
	assert.Equal(t, []string{"route " + d.rows[4].ID + " --answer=@@x"}, d.ran)
}

// A key that takes a handoff away from an agent asks first. Any answer but y means no.
func TestKeysThatTakeAHandoffAwayAsk(t *testing.T) {
	d := team()
	b := open(t, d, 120, 30)
	press(t, b, "v", "n")
	assert.Contains(t, b.Screen(), "nothing was done")
	press(t, b, "r", "enter", "v", "esc", "a", "esc", "a", "enter")
	assert.Empty(t, d.ran)
}

func TestFilter(t *testing.T) {
	d := team()
	b := open(t, d, 120, 30)
	press(t, b, "/", "l", "i", "n", "-", "4", "2", "4", "enter")
	assert.Contains(t, b.Screen(), "…00000002")
	assert.NotContains(t, b.Screen(), "…00000001")
	press(t, b, "o")
	assert.Equal(t, []string{"route " + d.rows[1].ID}, d.ran)
	press(t, b, "/", "esc")
	assert.Contains(t, b.Screen(), "…00000001")
	press(t, b, "/", "l", "i", "n", "-", "4", "2", "4", "enter")
	assert.NotContains(t, b.Screen(), "…00000001")
	press(t, b, "esc")
	assert.Contains(t, b.Screen(), "…00000001")
	_, cmd := b.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
	assert.Nil(t, cmd, "nothing is left to clear, and the board stays")
	// The cursor stays on its handoff when others are added or removed.
	d.rows = append([]board.Row{{ID: "ho_new", Short: "…new", State: "offered", At: now()}}, d.rows...)
	press(t, b, "s", "o")
	assert.Equal(t, "route "+d.rows[2].ID, d.ran[len(d.ran)-1])
}

// A handoff of one hub cannot hide a handoff of another hub that has the same id.
func TestTwoHubsWithOneID(t *testing.T) {
	d := team()
	twin := d.rows[0]
	twin.To, twin.From = "coder@fork", "mallory"
	d.rows = append([]board.Row{twin}, d.rows...)
	b := open(t, d, 120, 30)
	for _, shown := range []string{"coder@fork", "coder@origin"} {
		assert.Equal(t, 1, strings.Count(b.Screen(), shown), shown)
	}
	assert.Equal(t, 1, strings.Count(b.Screen(), "…00000005"), "a child of both")
}

// The text of a handoff can be read to its end, however narrow the terminal is.
func TestLongTextCanBeReadToItsEnd(t *testing.T) {
	b := open(t, team(), 80, 24)
	press(t, b, "enter")
	assert.Contains(t, b.Screen(), "for user:alice@example.com (declared).", "what is wider than the terminal goes on below")
	press(t, b, "G")
	assert.Contains(t, b.Screen(), "lines 21 to 43 of 43")
	press(t, b, "g")
	assert.Contains(t, b.Screen(), "lines 1 to 23 of 43")
	press(t, b, "pgdown")
	assert.Contains(t, b.Screen(), "lines 21 to 43 of 43")
	send(t, b, tea.WindowSizeMsg{Width: 200, Height: 60})
	assert.Contains(t, b.Screen(), "lines 1 to 42 of 42", "a wider terminal breaks it elsewhere")
	press(t, b, "q")
	assert.Contains(t, b.Screen(), "HANDOFF")
}

// Output of several lines is shown as a text to read.
func TestWaysToDecide(t *testing.T) {
	d := team()
	d.long = "route"
	b := open(t, d, 80, 24)
	press(t, b, "o")
	assert.Contains(t, b.Screen(), "line 1 of route")
	press(t, b, "q", "v", "y")
	assert.Contains(t, b.Screen(), "done: revoke")
}

// A message that is wider than the terminal can be read to its end.
func TestLongRefusal(t *testing.T) {
	d := team()
	b := open(t, d, 80, 24)
	d.err = errors.New(strings.Repeat("a long refusal ", 10) + "with an end")
	press(t, b, "o")
	assert.Contains(t, b.Screen(), "with an end")
	assert.Len(t, strings.Split(b.Screen(), "\n"), 24)
}

// The board shows a refusal, and an empty board works too.
func TestRefusals(t *testing.T) {
	d := team()
	b := open(t, d, 80, 24)
	d.err = errors.New("origin is down")
	press(t, b, "o")
	assert.Contains(t, b.Screen(), "route: origin is down")
	press(t, b, "s")
	assert.Contains(t, b.Screen(), "sync: origin is down")
	empty := open(t, &backend{}, 80, 24)
	press(t, empty, "enter", "r", "o", "down", "pgdown", "/", "x", "enter")
	assert.Len(t, strings.Split(empty.Screen(), "\n"), 24)
}

// reread makes the board read the copies, as it does every two seconds.
func reread(b *board.Board) { b.Update(b.Init()().(tea.BatchMsg)[0]()) }

// A typed answer belongs to the handoff for which it was begun. If that handoff is gone or has changed, nothing
// is sent, and the text stays in the prompt.
func TestAnswerStaysWithItsHandoff(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(d *backend)
		want   string
	}{
		"gone":           {func(d *backend) { d.rows = append(d.rows[:3:3], d.rows[4:]...) }, "…00000004 was undecided and is gone; your answer was not sent"},
		"alone, gone":    {func(d *backend) { d.rows = nil }, "…00000004 was undecided and is gone; your answer was not sent"},
		"another state":  {func(d *backend) { d.rows[3].State = "offered" }, "…00000004 was undecided and is offered now; your answer was not sent"},
		"another holder": {func(d *backend) { d.rows[3].Holder = "docs" }, "…00000004 has another holder now; your answer was not sent"},
	} {
		t.Run(name, func(t *testing.T) {
			d := team()
			b := open(t, d, 120, 30)
			press(t, b, "G", "a", "y", "e")
			assert.Contains(t, b.Screen(), "answer to …00000004: ye▏")
			before := d.rows[3]
			tc.change(d)
			reread(b)
			press(t, b, "s", "enter")
			assert.Empty(t, d.ran)
			assert.Contains(t, b.Screen(), tc.want)
			assert.Contains(t, b.Screen(), "answer to …00000004: yes▏")
			press(t, b, "!")
			d.rows = []board.Row{before}
			reread(b)
			press(t, b, "enter")
			assert.Equal(t, []string{"route " + before.ID + " --answer=yes!"}, d.ran, "it waits again")
		})
	}
}

// A confirmed step is not taken if another handoff is in the same row by then.
func TestConfirmationStaysWithItsHandoff(t *testing.T) {
	for _, key := range []string{"r", "v"} {
		d := team()
		b := open(t, d, 120, 30)
		press(t, b, key)
		d.rows[0].Holder = "tester"
		reread(b)
		press(t, b, "y")
		assert.Contains(t, b.Screen(), "…00000001 has another holder now; nothing was done")
		press(t, b, key)
		d.rows = d.rows[1:]
		reread(b)
		press(t, b, "y")
		assert.Contains(t, b.Screen(), "…00000001 was claimed and is gone; nothing was done")
		assert.Empty(t, d.ran)
	}
}

// If the handoff under the cursor is removed, the next one takes its row. A key that was pressed for the first
// handoff does nothing to the second.
func TestKeyIsForTheRowThatWasDrawn(t *testing.T) {
	for _, key := range []string{"o", "a", "r", "v"} {
		d := team()
		b := open(t, d, 120, 30)
		press(t, b, "j", "j") // 1, its child 5, 2, 3, 4
		third := d.rows[2]
		d.rows = append(d.rows[:1:1], d.rows[2:]...)
		reread(b)
		press(t, b, key, "y", "enter", "esc")
		assert.Equal(t, []string{"show " + third.ID}, d.ran, key)
		press(t, b, "o")
		assert.Equal(t, "route "+third.ID, d.ran[1])
	}
	d := team()
	b := open(t, d, 120, 30)
	press(t, b, "G")
	d.rows = d.rows[:3]
	reread(b)
	press(t, b, "o")
	assert.Contains(t, b.Screen(), "…00000004 left the list, and the cursor is on …00000003 now; nothing was done")
	assert.Empty(t, d.ran)
	d.rows = d.rows[1:]
	reread(b)
	press(t, b, "k", "o")
	assert.Equal(t, []string{"route " + d.rows[0].ID}, d.ran, "whoever moves the cursor has seen where it is")
	// The list becomes empty, and then the handoff returns.
	d.ran = nil
	all := d.rows
	d.rows = nil
	reread(b)
	press(t, b, "o")
	d.rows = all
	reread(b)
	press(t, b, "o")
	assert.Equal(t, []string{"route " + all[0].ID}, d.ran)
}
