package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitobj"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
)

// Engine takes the steps of handoffs. It acts for one agent or person with one key, and for
// one goroutine at a time. Its parts can be used alone: Reader and Verifier need no key.
type Engine struct {
	Repo *refs.Repo
	Now  func() time.Time

	Keys     *Keys     // the keys trusted here
	Reader   *Reader   // reads the state of handoffs at their homes
	Verifier *Verifier // proves the content of handoffs
	Author   *Author   // signs payloads, steps and joins
	Recovery *Recovery // settles interrupted transactions
}

// Setup has the parts of an Engine, and the functions that they call, which may be nil.
type Setup struct {
	Repo   *refs.Repo
	Trust  *sign.Trust
	Signer sign.Signer // nil if no step is taken
	Actor  string      // agent name, or a person's mail address
	Guest  bool        // the worktree is set up for another agent
	Now    func() time.Time
	Random io.Reader

	Intents Intents
	Used    UsedTokens
	Ahead   Ahead

	HomeOf    func(ctx context.Context, repoID string) (Home, error) // see [Verifier]
	Opener    func(ctx context.Context) (sign.Signer, error)         // see [Verifier]
	Published func(sign.KID) (sign.PublicKey, bool)                  // see [Keys]
	Alias     func(repoID string) string                             // see [Keys]
	Walked    func()                                                 // see [Lanes]
}

// New makes an engine.
func New(s Setup) *Engine {
	keys := &Keys{Trust: s.Trust, Now: s.Now, Published: s.Published, Alias: s.Alias}
	lanes := &Lanes{Repo: s.Repo, Keys: keys, Walked: s.Walked}
	reader := &Reader{Repo: s.Repo, Keys: keys, Lanes: lanes, Ahead: s.Ahead}
	author := &Author{Keys: keys, Signer: s.Signer, Actor: s.Actor, Guest: s.Guest, Random: s.Random, Format: s.Repo.Format}
	return &Engine{
		Repo: s.Repo, Now: s.Now, Keys: keys, Reader: reader, Author: author,
		Verifier: &Verifier{Repo: s.Repo, Keys: keys, Reader: reader, Author: author, Used: s.Used, HomeOf: s.HomeOf, Opener: s.Opener},
		Recovery: &Recovery{Repo: s.Repo, Reader: reader, Intents: s.Intents},
	}
}

// As returns the same engine for another agent of this clone, with that agent's key.
func (e *Engine) As(signer sign.Signer, actor string) *Engine {
	author, verifier, other := *e.Author, *e.Verifier, *e
	author.Signer, author.Actor = signer, actor
	verifier.Author = &author
	other.Author, other.Verifier = &author, &verifier
	return &other
}

func denied(reason fault.Reason, format string, args ...any) *fault.Error {
	return fault.New(fault.Denied, reason, format, args...)
}

// start is where a step begins.
type start int

const (
	fromCopies start = iota // the copies here decide; a fetch comes only before a refusal
	afterFetch              // a fetch comes first
)

// act takes a step: it loads the state, lets plan build the transaction, and applies it. If a ref has
// moved, it begins again. If only other entries moved the lane, plan builds the step on them. If the
// handoff itself moved, plan sees this and says who won.
func (e *Engine) act(ctx context.Context, home Home, p Place, from start, plan func(*State, *batch) error) (*State, error) {
	r := &rounds{home: home, spec: WholeHandoffs(p)}
	if from == afterFetch {
		first := r.spec
		first.Log = true
		if err := home.Refresh(ctx, first); err != nil {
			return nil, err
		}
		r.fetched = true
	}
	for {
		s, err := e.Reader.LoadOrFetch(ctx, home, p)
		if err != nil {
			return nil, err
		}
		if s.Tip == "" && s.Phase() == Held && !r.fetched && !home.LaneIsFresh(p.ID) {
			// The copies have the claim and no inbox ref: an end would leave the ref at the home.
			if err := home.Refresh(ctx, r.spec); err != nil {
				return nil, err
			}
			r.fetched = true
			continue
		}
		b := &batch{engine: e, home: home}
		if refusal := plan(s, b); refusal != nil {
			if err := r.retryRefused(ctx, s, refusal); err != nil {
				return s, err
			}
			continue
		}
		t := b.transaction()
		if len(t.Edits) == 0 {
			return s, nil // the step was taken before
		}
		already, err := e.apply(ctx, home, t)
		stale, moved := errors.AsType[*refs.StaleError](err)
		switch {
		case err == nil && b.after != nil && !already:
			return b.after, nil
		case err == nil:
			return e.Reader.Load(ctx, home, p)
		case !moved:
			return s, err
		}
		if err := r.retryMoved(ctx, t.Edits, stale); err != nil {
			return s, err
		}
	}
}

// rounds counts the rounds of a step, and fetches its handoffs from their home for the next one.
type rounds struct {
	home    Home
	spec    FetchSpec // what to fetch of the handoffs
	fetched bool      // whether they were fetched before the first decision
	n       int       // number of rounds that are over
}

// mostRounds limits how often a step is decided again because others were faster.
const mostRounds = 40

// retryRefused fetches the handoff of a step refused in the first round if the copies here may be old, or
// lack objects: then the step is decided again. Otherwise it returns the refusal.
func (r *rounds) retryRefused(ctx context.Context, s *State, refusal error) error {
	if r.n++; r.n > 1 {
		return refusal
	}
	if fault.Is(refusal, fault.MissingObject) && BringLost(ctx, r.home, r.spec.Places[0]) {
		return nil
	}
	if r.fetched || s.Receipt != nil || !slices.Contains([]fault.Code{fault.NotFound, fault.Conflict, fault.Denied}, fault.CodeOf(refusal)) {
		return refusal
	}
	err := r.home.Refresh(ctx, r.spec)
	if err != nil && len(s.Entries) > 0 && !errors.Is(refusal, ErrUnseen) {
		return refusal
	}
	return err // nil: decide again; otherwise the hub cannot be read, and nothing known here refuses the step
}

// retryMoved fetches the refs of a step that found them moved, unless the home was read while it
// refused the step.
func (r *rounds) retryMoved(ctx context.Context, edits []refs.Edit, stale *refs.StaleError) error {
	if r.n++; r.n == mostRounds {
		return fault.New(fault.Unavailable, fault.Busy, "handoff %s: others changed its lane %d times in a row", r.spec.Lanes[0], mostRounds).
			WithHints(fault.Fact("run the same command again"))
	}
	if r.n > 2 {
		if err := refs.Pause(ctx, min(r.n-3, 4)); err != nil {
			return err
		}
	}
	// Fetch the requested place, and also the one to which the handoff was to move.
	moved := FetchSpecFor(r.home, edits)
	if stale.Read && moved.covers(r.spec) {
		return nil
	}
	moved.Places, moved.Lanes = append(moved.Places, r.spec.Places...), append(moved.Lanes, r.spec.Lanes...)
	return r.home.Refresh(ctx, moved)
}

// apply applies a transaction, under an intent if it makes an inbox ref, which a claim does not. It reports
// whether an earlier try had applied it already; the state may have moved on since.
func (e *Engine) apply(ctx context.Context, home Home, t refs.Transaction) (already bool, err error) {
	if err := e.Recovery.settleBefore(ctx, home, t); err != nil {
		return false, err
	}
	i, err := e.Recovery.Intents.begin(home, t)
	if err != nil {
		return false, err
	}
	defer i.leave()
	err = home.Apply(ctx, t)
	if err == nil || errors.Is(err, refs.ErrRefused) { // the home applied the whole transaction, or nothing
		i.forget()
		return false, err
	}
	if _, ok := errors.AsType[*refs.StaleError](err); !ok {
		return false, err
	}
	// Others moved a ref, or a git of ours was killed half-way or before it could report success.
	logged, serr := e.Recovery.settle(ctx, home, i)
	switch {
	case serr != nil:
		return false, serr
	case logged:
		return true, ApplyMissing(ctx, e.Repo, t.LocalEdits)
	}
	return false, err
}

// ApplyMissing makes those of some edits of this repository which were not made yet. Another process
// may be at the same edits: what it makes first is not missing.
func ApplyMissing(ctx context.Context, repo *refs.Repo, edits []refs.Edit) error {
	var err error
	for range len(edits) + 1 { // another process may win the race for each edit once
		var rest []refs.Edit
		for _, edit := range edits {
			now, err := repo.Resolve(ctx, edit.Ref)
			if err != nil {
				return err
			}
			if now == edit.Old {
				rest = append(rest, edit)
			}
		}
		edits = rest
		err = repo.Apply(ctx, refs.Transaction{Edits: edits})
		if _, stale := errors.AsType[*refs.StaleError](err); !stale {
			return err
		}
	}
	return err
}

// batch collects one transaction, in this order: moved inbox refs, lane entries, deleted inbox
// refs.
type batch struct {
	engine *Engine
	home   Home
	tx     refs.Transaction
	gone   []refs.Edit
	after  *State // state after the transaction; nil if the plan cannot tell
	lanes  []refs.Edit
}

// take drafts a step and adds it to the transaction. The token of a claim that is renewed must be
// good now.
func (b *batch) take(ctx context.Context, s *State, event record.Event, fill func(*record.Record)) error {
	rec, err := b.engine.Author.draft(s, event, fill)
	if err == nil && event == record.Progressed {
		err = b.engine.Verifier.checkRenewal(ctx, b.home, s, rec)
	}
	if err != nil {
		return err
	}
	return b.build(ctx, s, rec)
}

// build adds a step to the transaction: its effect on the inbox ref, by its row of the table,
// and its entry in the lane.
func (b *batch) build(ctx context.Context, s *State, rec *record.Record) error {
	step, _ := StepOf(rec.Event)
	switch step.Inbox {
	case Moves:
		return b.advance(ctx, s, rec)
	case Carries:
		return b.carry(ctx, s, rec)
	case Deletes:
		return b.end(ctx, s, rec)
	}
	return fmt.Errorf("no step %q on a handoff that was offered", rec.Event)
}

// longChain is the number of commits of an inbox ref after which the next step stands on the payload again,
// because readers look for the payload below at most maxChain commits. The lane keeps every step. It is no smaller,
// because a hub that keeps handoffs as branches may refuse such a move.
const longChain = 1024

// below returns the commit on which the next step stands: the last one that the lane names, or the payload below a
// long chain; "" if there is none.
func (s *State) below() string {
	if len(s.Chain) >= longChain {
		return s.Chain[0].OID
	}
	return s.base()
}

// advance puts a commit on top of the inbox ref.
func (b *batch) advance(ctx context.Context, s *State, rec *record.Record) error {
	if len(s.Chain) == 0 && fault.Is(s.chainErr, fault.MissingObject) {
		return s.chainErr
	}
	if len(s.Chain) == 0 {
		return whyNoPayload(ctx, b.home, s.ID)
	}
	o, err := b.engine.Author.commit(ctx, sign.Mail(b.engine.Author.Actor), rec, s.Chain[0].Commit.Tree, s.below())
	if err != nil {
		return err
	}
	b.move(b.home.Namespace().Inbox(rec.To, s.ID), s.tips[rec.To], o)
	if err := b.dropAll(ctx, s, rec.To); err != nil {
		return err
	}
	return b.entry(ctx, sign.Mail(rec.Actor), *rec, s.Payload, s.LaneTip)
}

// carry moves the inbox ref, and the ref of the snapshot, into the inbox of another
// agent, with a commit on top.
func (b *batch) carry(ctx context.Context, s *State, rec *record.Record) (err error) {
	if s.tips[rec.To], err = b.engine.Repo.Resolve(ctx, b.home.Namespace().Inbox(rec.To, s.ID)); err != nil {
		return err
	}
	work := b.engine.Verifier.WorkOf(ctx, s)
	if err := BringWork(ctx, b.engine.Repo, b.home, s, work); err != nil {
		return err
	}
	if err := b.keepWork(ctx, rec.To, s.ID, work); err != nil {
		return err
	}
	return b.advance(ctx, s, rec)
}

// end appends the receipt and deletes the refs of the handoff.
func (b *batch) end(ctx context.Context, s *State, rec *record.Record) error {
	if err := b.entry(ctx, sign.Mail(rec.Actor), *rec, s.Payload, s.LaneTip); err != nil {
		return err
	}
	return b.dropAll(ctx, s, "")
}

// move gives an inbox ref a new commit.
func (b *batch) move(ref, old string, o *refs.Object) {
	b.tx.Objects = append(b.tx.Objects, o)
	b.tx.Edits = append(b.tx.Edits, refs.Edit{Ref: ref, Old: old, New: o.OID})
}

// drop deletes a ref, after the other edits.
func (b *batch) drop(ref, old string) {
	b.gone = append(b.gone, refs.Edit{Ref: ref, Old: old})
}

// dropAll deletes the refs of a handoff in all inboxes except one, with the leftovers of a killed
// git. The refs of its snapshot go first.
func (b *batch) dropAll(ctx context.Context, s *State, but string) error {
	var agents []string
	for _, agent := range slices.Sorted(maps.Keys(s.tips)) {
		if s.tips[agent] != "" && agent != but {
			agents = append(agents, agent)
		}
	}
	if err := b.dropWork(ctx, s, agents); err != nil {
		return err
	}
	for _, agent := range agents {
		b.drop(b.home.Namespace().Inbox(agent, s.ID), s.tips[agent])
	}
	return nil
}

// entry appends an entry to the lane of rec's id, pinned at laneTip unless an
// earlier entry of the same batch stands there already. mail is the address of its author.
func (b *batch) entry(ctx context.Context, mail string, rec record.Record, payload, laneTip string) error {
	name := b.home.Namespace().Lane(rec.ID)
	i := slices.IndexFunc(b.lanes, func(lane refs.Edit) bool { return lane.Ref == name })
	if i < 0 {
		i = len(b.lanes)
		b.lanes = append(b.lanes, refs.Edit{Ref: name, Old: laneTip, New: laneTip})
	}
	rec.Payload = payload
	o, err := b.engine.Author.commit(ctx, mail, &rec, gitobj.FormatOf(payload).EmptyTree(), b.lanes[i].New)
	if err != nil {
		return err
	}
	b.tx.Objects = append(b.tx.Objects, o)
	b.lanes[i].New = o.OID
	return nil
}

func (b *batch) transaction() refs.Transaction {
	t := b.tx
	t.Objects = append(t.Objects, refs.NewObject(b.engine.Repo.Format, "tree", nil))
	t.Edits = slices.Concat(t.Edits, b.lanes, b.gone)
	return t
}

// keepWork gives a snapshot its ref at the home, before the inbox ref.
func (b *batch) keepWork(ctx context.Context, agent string, id handoff.ID, w *handoff.Work) error {
	if w == nil {
		return nil
	}
	ref := b.home.Namespace().Work(agent, id)
	if IsLocal(b.home) {
		now, err := b.engine.Repo.Resolve(ctx, ref)
		switch {
		case err != nil || now == w.Commit:
			return err
		case now != "":
			return denied(fault.Disputed, "%s exists and points to another commit", ref).
				WithHints(fault.Run("git", "update-ref", "-d", ref, now).Because("removes it: githandoff did not make it"))
		}
	}
	b.tx.Edits = append([]refs.Edit{{Ref: ref, New: w.Commit}}, b.tx.Edits...)
	return nil
}

// dropWork deletes the refs of a snapshot beside the inbox refs of these agents.
func (b *batch) dropWork(ctx context.Context, s *State, agents []string) error {
	if len(agents) == 0 {
		return nil
	}
	w := b.engine.Verifier.WorkOf(ctx, s)
	if w == nil {
		return nil
	}
	for _, agent := range agents {
		ref, old := b.home.Namespace().Work(agent, s.ID), w.Commit
		if IsLocal(b.home) {
			var err error
			if old, err = b.engine.Repo.Resolve(ctx, ref); err != nil {
				return err
			}
		}
		if old != "" {
			b.drop(ref, old)
		}
	}
	return nil
}
