// Package board is a live view of handoffs for a person who looks after many agents.
//
// It is a model in the sense of Bubble Tea: messages come in, a screen goes out. It shows the
// copies of its [Backend], reads them again every two seconds, and has the backend sync beside
// that. Every key that changes something runs the command a person would type, and asks first
// if the step takes something from an agent.
package board

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Row is one handoff. Its texts can be printed as they are.
type Row struct {
	ID, Short, State       string
	From, To, Holder, Task string
	Parent                 string // id of the handoff from which this one follows
	At, Deadline           time.Time
}

// place tells apart two handoffs with one id. Whoever may push to a hub can put a handoff there that has the id of
// another one.
type place struct{ id, to string }

func (r Row) place() place { return place{r.ID, r.To} }

// Backend is where the board reads and works.
type Backend interface {
	// Rows lists the handoffs in the local copies. No hub is asked.
	Rows(ctx context.Context) ([]Row, error)
	// Sync brings the copies up to date.
	Sync(ctx context.Context) error
	// Run runs a command of githandoff and returns what it printed.
	Run(ctx context.Context, args ...string) (string, error)
}

// How often the copies are read, and hubs are asked.
const (
	readEvery = 2 * time.Second
	syncEvery = 30 * time.Second
)

// mode says what keys mean.
type mode int

const (
	listing   mode = iota
	filtering      // letters go into the filter
	answering      // letters go into the answer
	asking         // y confirms
	reading        // a text fills the screen
)

// Board is the model.
type Board struct {
	ctx     context.Context
	backend Backend
	now     func() time.Time
	who     string

	width, height int
	mode          mode
	rows          []Row // all handoffs
	shown         []Row // rows that the filter lets through, chains together
	depth         []int // depth of each shown row in its chain
	cursor        int
	selected      place
	left          Row // row that went away under the cursor
	filter, input string
	begun         Row      // row for which a prompt was opened, as it was then
	confirm       []string // command that y runs
	question      string   // asks whether to run it
	reader        reader   // shows a text in the mode reading
	said          string   // outcome of the last command
	unread        string   // text to show as soon as nobody is typing a line
	syncing       bool
	synced        time.Time
}

// New makes a board. who names the agent in its first line.
func New(ctx context.Context, backend Backend, now func() time.Time, who string) *Board {
	return &Board{ctx: ctx, backend: backend, now: now, who: who, width: 80, height: 24}
}

type (
	rowsMsg struct {
		rows []Row
		err  error
	}
	tickMsg   struct{}
	syncedMsg struct{ err error }
	dueMsg    struct{}
	ranMsg    struct {
		show bool
		what string
		text string
		err  error
	}
)

// Init reads the copies and begins to sync.
func (b *Board) Init() tea.Cmd { return tea.Batch(b.read, b.sync(), again(), due()) }

func again() tea.Cmd { return tea.Tick(readEvery, func(time.Time) tea.Msg { return tickMsg{} }) }
func due() tea.Cmd   { return tea.Tick(syncEvery, func(time.Time) tea.Msg { return dueMsg{} }) }

func (b *Board) read() tea.Msg {
	rows, err := b.backend.Rows(b.ctx)
	return rowsMsg{rows, err}
}

func (b *Board) sync() tea.Cmd {
	if b.syncing {
		return nil
	}
	b.syncing = true
	return func() tea.Msg { return syncedMsg{b.backend.Sync(b.ctx)} }
}

func (b *Board) run(show bool, args ...string) tea.Cmd {
	b.said = "running githandoff " + args[0] + " …"
	return func() tea.Msg {
		text, err := b.backend.Run(b.ctx, args...)
		return ranMsg{show, args[0], text, err}
	}
}

// Update takes a message.
func (b *Board) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		b.width, b.height = msg.Width, msg.Height
		b.reader.resize(b.width, b.height)
	case tickMsg:
		return b, tea.Batch(b.read, again())
	case dueMsg:
		return b, tea.Batch(b.sync(), due())
	case rowsMsg:
		b.took(msg)
	case syncedMsg:
		b.syncing = false
		if msg.err != nil {
			b.said = "sync: " + msg.err.Error()
			return b, b.read
		}
		b.synced = b.now()
		return b, b.read
	case ranMsg:
		return b, b.ran(msg)
	case tea.KeyPressMsg:
		cmd := b.key(msg)
		b.show()
		return b, cmd
	case tea.PasteMsg:
		switch b.mode { // in other modes, pasted text presses no keys
		case filtering:
			b.filter += oneLine(msg.Content)
		case answering:
			b.input += oneLine(msg.Content)
		}
		b.choose()
	}
	return b, nil
}

func (b *Board) took(msg rowsMsg) {
	if msg.err != nil {
		b.said = msg.err.Error()
		return
	}
	before, at := b.under(), b.cursor
	b.rows = msg.rows
	b.choose()
	if before.ID != "" && b.under().ID != before.ID {
		b.left, b.cursor = before, at
		b.move(0)
	}
}

func (b *Board) ran(msg ranMsg) tea.Cmd {
	switch {
	case msg.err != nil:
		b.said = msg.what + ": " + msg.err.Error()
	case msg.show || strings.Contains(strings.TrimSpace(msg.text), "\n"): // such as the ways to decide
		b.said, b.unread = "", msg.text
		b.show()
	default:
		b.said = firstLine(msg.text)
	}
	return b.read
}

// show opens a text, unless a person is typing: their next key is not for the text.
func (b *Board) show() {
	if b.unread == "" || b.mode != listing && b.mode != reading {
		return
	}
	b.mode = reading
	b.reader.open(b.unread, b.width, b.height)
	b.unread = ""
}
