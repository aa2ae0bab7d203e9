// Package annotate writes a line about each handoff into the note of its code
// commit, shares these notes with a hub, and keeps them in form. Notes are hints,
// derived from the log: nothing depends on them.
package annotate

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/notes"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed for notes.
type Workspace interface {
	All(ctx context.Context) workspace.HomeList
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Warn(err error)
}

// Notes writes the notes on code commits.
type Notes struct {
	Agent     string
	Aliases   crossrepo.Aliases
	Engine    *lifecycle.Engine
	lines     map[string][]string // lines still to be written, by code commit
	Workspace Workspace
}

// New makes the notes of a workspace.
func New(w *workspace.Workspace) *Notes {
	return &Notes{Agent: w.Agent, Aliases: w.Aliases, Engine: w.Engine, Workspace: w}
}

// Add remembers one line for the note of a handoff's code commit; none if the handoff is sealed,
// since its subject is secret. Notes are hints, derived from the log: they are written after the
// transaction, by compare-and-swap, before the command returns.
func (n *Notes) Add(env *handoff.Envelope, sealed bool, home lifecycle.Home, r *record.Record) {
	commit := env.Source.Commit
	if sealed || commit == "" {
		return
	}
	if n.lines == nil {
		n.lines = map[string][]string{}
	}
	// A hub of two aliases has one name in all lines: a step that is written again makes no second one.
	alias := n.Aliases.NameOf(home.ID())
	if !notes.IsAlias(alias) {
		alias = ""
	}
	n.lines[commit] = append(n.lines[commit], notes.Line(r.At, string(r.Event), r.ID, r.From, handoff.TargetAt(r.To, alias), r.Digest))
}

// Write writes the collected notes, also for the commits in place of rewritten ones. Commits
// missing in this repository get no note.
func (n *Notes) Write(ctx context.Context) error {
	if len(n.lines) == 0 {
		return nil
	}
	lines, err := n.followed(ctx, n.lines)
	if err != nil || len(lines) == 0 {
		return err
	}
	err = n.update(ctx, "Notes added by githandoff", func(tree string, w *collector) (string, error) {
		return notes.AddTo(ctx, w, w, tree, lines)
	})
	if err == nil {
		n.lines = nil
	}
	return err
}

// Try writes the due notes after a step. A failure undoes nothing: sync restores missing notes.
func (n *Notes) Try(ctx context.Context) {
	if err := n.Write(ctx); err != nil {
		n.Workspace.Warn(fault.About("the step is taken, and its note is not written", err))
	}
}

const (
	maxCodeCommit = 1 << 20 // bytes of a code commit that gets a note
	noteRounds    = 60
)

// update moves the notes ref by compare-and-swap to the tree returned by build, and with it the
// notes shown by git log.
func (n *Notes) update(ctx context.Context, message string, build func(tree string, w *collector) (string, error)) error {
	for round := 0; ; round++ {
		w := &collector{repo: n.Engine.Repo}
		edits, err := n.edits(ctx, message, build, w)
		if fault.Is(err, fault.MissingObject) && round < noteRounds/4 {
			// Another process moved the ref and is saving its objects from a gc.
			if err := refs.Pause(ctx, 1); err != nil {
				return err
			}
			continue
		}
		if err != nil || len(edits) == 0 {
			return err
		}
		err = n.Engine.Repo.Apply(ctx, refs.Transaction{Edits: edits, Objects: w.objects})
		if _, ok := errors.AsType[*refs.StaleError](err); !ok {
			return err
		}
		if round == noteRounds {
			return fault.New(fault.Unavailable, fault.Busy, "the notes ref moved %d times in a row", noteRounds).
				WithHints(fault.Run("githandoff", "sync").Because("writes the note that is missing"))
		}
		if err := refs.Pause(ctx, min(round/4, 3)); err != nil {
			return err
		}
	}
}

// edits works out how the notes refs move; none where they are right.
func (n *Notes) edits(ctx context.Context, message string, build func(tree string, w *collector) (string, error), w *collector) ([]refs.Edit, error) {
	tip, err := n.Engine.Repo.Resolve(ctx, refs.NotesRef)
	if err != nil {
		return nil, err
	}
	t, err := n.tidy(ctx, tip, w)
	if err != nil {
		return nil, err
	}
	tree, err := build(t.tree, w)
	if err != nil {
		return nil, err
	}
	var edits []refs.Edit
	if tree != t.was || t.far {
		oid, err := n.commit(w, tree, message+"\n\n"+notesMark)
		if err != nil {
			return nil, err
		}
		edits = append(edits, refs.Edit{Ref: refs.NotesRef, Old: tip, New: oid})
	}
	shown, err := n.shownEdit(ctx, tree, w)
	return append(edits, shown...), err
}

// commit makes a notes commit of a tree ("" is the empty one). It has no parent: the lanes
// are the history, and each commit of a chain would keep a version of every note for ever.
func (n *Notes) commit(w *collector, tree, message string) (string, error) {
	if tree == "" {
		tree, _ = w.Put("tree", nil) // Put of a collector never fails
	}
	raw, err := notes.Commit(tree, nil, n.Engine.Author.Actor+" <"+sign.Mail(n.Engine.Author.Actor)+">", n.Engine.Now().UTC().Truncate(time.Second), message)
	if err != nil {
		return "", err
	}
	return w.Put("commit", raw)
}

// Restore writes the lines left out by a killed command, for every handoff offered by this agent
// and still under way, and the added lines. It verifies only handoffs that lack a line. A handoff in
// the outbox is not offered yet: it gets its line when its home has it.
func (n *Notes) Restore(ctx context.Context) error {
	var mine []offer
	err := refs.Commits(ctx, n.Engine.Repo, func(ref refs.Ref, raw []byte) error {
		if r, err := record.Scan(raw); err == nil && r.From == n.Agent {
			mine = append(mine, offer{id: r.ID, tip: ref.OID, tree: gitobj.Tree(raw)})
		}
		return nil
	}, refs.Root+"inbox/", refs.Root+"sent/")
	if err != nil {
		return err
	}
	lacking, err := unnoted(ctx, n, mine)
	if err != nil {
		return err
	}
	for _, oid := range lacking {
		p, err := n.Engine.Verifier.ReloadOffer(ctx, oid)
		if err != nil || p.Record.From != n.Agent {
			continue // not a valid offer of this agent
		}
		home, err := n.Workspace.Home(ctx, p.Record.Home)
		if err == nil {
			n.Add(p.Envelope, p.Sealed, home, &p.Record)
		}
	}
	if err := n.Write(ctx); err != nil || !n.areShown() {
		return err
	}
	return n.Show(ctx)
}

// offer is an offered handoff, as far as its commit shows it.
type offer struct {
	id        handoff.ID
	tip, tree string
}

// unnoted returns the tips of the offers whose lines are missing in the note of their code commit, or of one in its
// place. It verifies nothing. An offer or a note that cannot be read counts as missing.
func unnoted(ctx context.Context, n *Notes, offers []offer) (tips []string, err error) {
	tipsOf, due := map[string][]string{}, map[string][]string{} // by id, of which anybody can write an offer; and by code commit
	for _, o := range offers {
		raw, err := n.Engine.Repo.Read(ctx, o.tree+":handoff.json", handoff.MaxEnvelope)
		if err != nil {
			tips = append(tips, o.tip)
			continue
		}
		var env struct{ Source struct{ Commit string } }
		if raw != nil && json.Unmarshal(raw.Body, &env) == nil && gitobj.IsID(env.Source.Commit) { // a sealed one gets no line
			tipsOf[string(o.id)] = append(tipsOf[string(o.id)], o.tip)
			due[env.Source.Commit] = append(due[env.Source.Commit], string(o.id))
		}
	}
	if due, err = n.followed(ctx, due); err != nil || len(due) == 0 {
		return tips, err
	}
	tip, err := n.Engine.Repo.Resolve(ctx, refs.NotesRef)
	if err != nil {
		return nil, err
	}
	err = notes.Each(ctx, &collector{repo: n.Engine.Repo}, tip, slices.Sorted(maps.Keys(due)), func(commit string, lines []string) {
		all := strings.Join(lines, "\n")
		for _, id := range due[commit] {
			if !strings.Contains(all, " "+string(record.Offered)+" "+id+" ") {
				tips = append(tips, tipsOf[id]...)
			}
		}
	})
	if err != nil { // Write mends the notes, or says what is wrong
		tips = slices.Concat(append(slices.Collect(maps.Values(tipsOf)), tips)...)
	}
	slices.Sort(tips)
	return slices.Compact(tips), ctx.Err()
}

// collector lends this repository to package notes. It keeps the new objects for a transaction, and
// reads them as well.
type collector struct {
	repo    *refs.Repo
	objects []*refs.Object
	byOID   map[string]*refs.Object
}

const maxNotesObject = 1 << 20 // bytes of a tree, a commit or a note

func (c *collector) Object(ctx context.Context, oid string) (kind string, body []byte, err error) {
	if o := c.byOID[oid]; o != nil {
		return o.Type, o.Body, nil
	}
	o, err := c.repo.Read(ctx, oid, maxNotesObject)
	if err != nil || o == nil {
		return "", nil, err
	}
	return o.Type, o.Body, nil
}

func (c *collector) Put(kind string, body []byte) (string, error) {
	o := refs.NewObject(c.repo.Format, kind, body)
	if c.byOID[o.OID] == nil {
		if c.byOID == nil {
			c.byOID = map[string]*refs.Object{}
		}
		c.byOID[o.OID] = o
		c.objects = append(c.objects, o)
	}
	return o.OID, nil
}
