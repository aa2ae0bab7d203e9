package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"githandoff/internal/board"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

func newBoard(a *app) command {
	return command{
		use:   "board",
		short: "Watch all handoffs live, and decide, release and revoke with keys",
		long: `Shows every handoff that this clone knows, with holder, age and lease, and rereads the
local copies every two seconds. In the background it syncs with the hubs every half
minute. An action that takes something from an agent asks first.

Enter       shows the handoff under the cursor
o, a        route or answer one that waits for a decision
r           releases a claim
v           revokes an offer
/           filters the list; Esc clears the filter
s           syncs now
?           names the keys that do not fit at the foot
q, Ctrl-C   quit
Ctrl-Z      goes to the background; fg brings it back`,
		example: []string{"githandoff board"},
		exits:   []fault.Code{fault.Denied, fault.Invalid, fault.Unavailable},
		run:     func(ctx context.Context) error { return runBoard(ctx, a) },
	}
}

func runBoard(ctx context.Context, a *app) error {
	once := fault.Run("githandoff", "inbox", "--all").Because("lists them once")
	if !a.Terminal() || !output.IsTerminal(a.Stdin) {
		return usage("board needs a terminal").WithHints(once)
	}
	if a.Getenv("TERM") == "dumb" {
		return usage("board needs a terminal that can move its cursor, and TERM is dumb").WithHints(once)
	}
	ws, err := a.workspace(ctx, reads)
	if err != nil {
		return err
	}
	a.patience.Stop()
	ctx, cancel := context.WithCancel(ctx)
	backend := &boardBackend{reader: newToolbox(a), worker: newToolbox(a), syncer: newToolbox(a)}
	backend.worker.person = true
	defer backend.close()
	defer cancel()
	colours := colorprofile.ASCII
	if a.Coloured() {
		colours = colorprofile.ANSI
	}
	_, err = tea.NewProgram(board.New(ctx, backend, a.Now, ws.Agent),
		tea.WithContext(ctx), tea.WithInput(a.Stdin), tea.WithOutput(beneath(a.Stdout)), tea.WithEnvironment(a.Vars), tea.WithColorProfile(colours),
		tea.WithoutSignalHandler(), // signals end ctx; two handlers would wait for each other
	).Run()
	return err
}

// boardBackend carries out the requests of the board. Syncs and commands have their own state, so
// none waits for another.
type boardBackend struct {
	reader, worker, syncer *toolbox
	leads                  sync.Map // lead of each handoff, by the name of its ref
}

// lead is how far the steps of a handoff were read back.
type lead struct {
	next   string     // step to read next; "" once the offer was reached
	parent handoff.ID // parent that the offer names
}

// Anybody who may push to a hub can put a handoff of any number of steps there. So one reading of the board
// goes back some steps of each handoff, and some in all. The next reading goes on from there.
const (
	mostStepsBack = 100
	mostStepsRead = 2000
)

// close waits for the sync and the command that run.
func (b *boardBackend) close() {
	b.syncer.close()
	b.worker.close()
}

func (b *boardBackend) Rows(ctx context.Context) (rows []board.Row, err error) {
	defer recovered(&err)
	a := b.reader.app(ctx, io.Discard, io.Discard)
	defer a.close()
	ws, err := a.workspace(ctx, reads)
	if err != nil {
		return nil, err
	}
	var ids []handoff.ID
	var all []*workspace.Item
	err = ws.List(ctx, true, func(it *workspace.Item) error {
		rows, ids = append(rows, boardRow(a, ws, it)), append(ids, it.Place.ID)
		all = append(all, it)
		return nil
	})
	left := mostStepsRead
	for i, it := range all {
		rows[i].Parent = string(b.parent(ctx, ws.Repo, it, &left))
	}
	ends := handoff.EndsOf(ids)
	for i, id := range ids {
		rows[i].Short = ends.Of(id)
	}
	return rows, err
}

// parent returns the parent of a handoff, which its offer alone names. Other steps lead back to it. left is how
// many of them may be read. The parent is empty until the offer was reached.
func (b *boardBackend) parent(ctx context.Context, repo *refs.Repo, it *workspace.Item, left *int) handoff.ID {
	known, begun := b.leads.Load(it.Ref)
	if begun && known.(lead).next == "" {
		return known.(lead).parent
	}
	if it.Fault != nil {
		return ""
	}
	r, oid := it.Record, it.Commit
	if begun {
		oid = known.(lead).next
	}
	for n := 0; r.Event != record.Offered; n++ {
		b.leads.Store(it.Ref, lead{next: oid})
		if n == mostStepsBack || *left == 0 || !gitobj.IsID(oid) { // a forged step that names a ref could lead back to itself
			return ""
		}
		*left--
		o, err := repo.Read(ctx, oid, record.MaxCommit)
		if err != nil || o == nil {
			return "" // the object may be here at the next reading
		}
		if r, err = record.Reread(o.Body); err != nil {
			return ""
		}
		oid = r.Previous
	}
	b.leads.Store(it.Ref, lead{parent: r.Parent})
	return r.Parent
}

func boardRow(a *app, ws *workspace.Workspace, it *workspace.Item) board.Row {
	row := board.Row{ID: string(it.Place.ID), State: "refused", To: handoff.TargetAt(it.Place.Agent, untrusted.Line(ws.AliasOf(it.Home)))}
	r := it.Record
	if it.Fault != nil {
		row.At = a.Now()
		return row
	}
	row.State, row.From, row.Task = it.WordAt(a.Now()), untrusted.Name(r.From), untrusted.Task(r.Task)
	row.At, row.Deadline = r.At, r.Expires
	if !r.Lease.IsZero() {
		row.Holder, row.Deadline = untrusted.Name(r.Actor), r.Lease
	}
	return row
}

func (b *boardBackend) Sync(ctx context.Context) error {
	_, _, err := b.syncer.run(ctx, "sync")
	if err == nil {
		_, _, err = b.syncer.run(ctx, "inbox", "--all")
	}
	return printableError(err)
}

func (b *boardBackend) Run(ctx context.Context, args ...string) (string, error) {
	out, _, err := b.worker.run(ctx, args...)
	lines := strings.Split(strings.ReplaceAll(string(out), "\t", "    "), "\n")
	for i := range lines {
		lines[i] = untrusted.Line(lines[i])
	}
	return strings.Join(lines, "\n"), printableError(err)
}

// printableError returns an error with a text of one line, safe for a terminal.
func printableError(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(untrusted.Line(fault.OneLine(err)))
}
