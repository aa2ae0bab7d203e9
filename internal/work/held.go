package work

import (
	"context"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
)

// Workspace has the methods of the workspace needed by work.
type Workspace interface {
	Home(ctx context.Context, repoID string) (lifecycle.Home, error)
	Warn(err error)
}

// Held is the work held by the agent of this worktree.
type Held struct {
	Agent     string
	Claims    Claims
	Verifier  *lifecycle.Verifier
	Workspace Workspace
}

// Standing is the state of a recorded claim, as far as this clone knows.
type Standing struct {
	Claim *Claim
	Home  lifecycle.Home // nil if no alias leads to the home
	State *lifecycle.State
	Over  *record.Record // record of the step that ended the claim; nil if it may still stand
}

// Unconfirmed reports whether this clone has not seen the claim at its home, where the handoff still
// waits for somebody.
func (st *Standing) Unconfirmed() bool {
	return !st.Claim.Printed && st.State != nil && st.State.Offer != nil && st.State.Phase() == lifecycle.Open
}

// Standing reads, of the home's refs as they are known here, whether a claim
// still stands. It asks no hub.
func (w *Held) Standing(ctx context.Context, h *Claim) (*Standing, error) {
	st := &Standing{Claim: h}
	home, err := w.Workspace.Home(ctx, h.Home)
	if fault.As(err) != nil {
		return st, nil //nolint:nilerr // commands that need the home report the error
	}
	if err != nil {
		return nil, err
	}
	st.Home = home
	if st.State, err = w.Verifier.Reader.Load(ctx, home, h.Place()); err != nil {
		if fault.As(err) == nil {
			return nil, err
		}
		st.State = nil // a copy that cannot be read says nothing about the claim
		return st, nil
	}
	st.Over = endOf(st.State, h)
	return st, nil
}

// endOf returns the step that ended a claim: the receipt of its handoff, or somebody else's release
// or claim that is based on it. It returns nil if the claim still stands, or if this clone never
// saw it at its home.
func endOf(s *lifecycle.State, h *Claim) *record.Record {
	if s.Receipt != nil || h.Is(s.Claim) {
		return s.Receipt
	}
	for _, e := range slices.Backward(s.Entries) {
		r := e.Record()
		if e.Dispute == nil && h.Mine(r.Claim) && (r.Event == record.Released || r.Event == record.Claimed) {
			return r
		}
	}
	return nil
}

// Own reports whether the holder ended the claim itself: it needs no telling.
func (st *Standing) Own() bool {
	r := st.Over
	return r != nil && r.Event.Receipt() && r.Key == st.Claim.Key && st.Claim.Mine(r.Claim)
}

// WordAt returns the state of a claim in one word.
func (st *Standing) WordAt(now time.Time) string {
	switch {
	case st.Over != nil:
		return st.OverWord()
	case st.State != nil && st.State.Phase() == lifecycle.Disputed:
		return string(lifecycle.Disputed)
	case now.After(st.Claim.Lease):
		return "overdue"
	}
	return string(lifecycle.Held)
}

// OverWord says in one word how a claim that is over ended.
func (st *Standing) OverWord() string {
	if st.Over.Event == record.Claimed {
		return "taken over"
	}
	return string(st.Over.Event)
}

// moved reports whether the inbox ref of a claim is not where the lane says, as both are known
// here: somebody took a step not read by this clone yet.
func (st *Standing) moved() bool {
	s := st.State
	return s != nil && st.Over == nil && s.Claim != nil && (s.Tip == "" || s.Unlogged())
}

// Recorded returns the claims of this agent shown to it by this worktree.
func (w *Held) Recorded() ([]*Claim, error) {
	held, err := w.Claims.Held()
	return slices.DeleteFunc(held, func(h *Claim) bool { return h.Actor != w.Agent || !h.Printed }), err
}

// LostClaim returns the refusal of work on a claim ended by somebody else.
func LostClaim(st *Standing) *fault.Error {
	r := st.Over
	return fault.New(fault.Conflict, fault.NotHolder, "handoff %s was %s by %s at %s: stop working on it",
		r.ID, st.OverWord(), r.Actor, handoff.FormatTime(r.At)).
		WithHints(fault.Run("githandoff", "show", string(r.ID)).Because("says what became of it"))
}

// Close brings the records of this clone in line with the end of a claim: the claim, and the
// copy of an ended handoff. An end that this clone has kept stays kept, although the log shows it:
// taken again, it removes the refs that a git killed at the hub has left.
func (w *Held) Close(ctx context.Context, st *Standing) error {
	if st.Own() && st.Claim.Finished() {
		return nil
	}
	if !lifecycle.IsLocal(st.Home) && st.State.Receipt != nil && st.State.Tip != "" {
		ref := st.Home.Namespace().Inbox(st.State.Agent, st.State.ID)
		if err := w.Verifier.Repo.Apply(ctx, refs.Transaction{Edits: []refs.Edit{{Ref: ref, Old: st.State.Tip}}}); err != nil {
			w.Workspace.Warn(err)
		}
	}
	if !st.Own() {
		st.Claim.Lost = true
	}
	return w.Claims.End(ctx, st.Claim, w.Verifier.Keys.Now())
}

// CloseEnded closes those of some claims that have ended, as far as this clone knows, and returns the
// others. lost are the claims that somebody else ended, including those found before an error.
func (w *Held) CloseEnded(ctx context.Context, claims []*Claim) (held, lost []*Standing, err error) {
	for _, h := range claims {
		st, err := w.Standing(ctx, h)
		if err != nil {
			return nil, lost, err
		}
		if st.Over == nil {
			held = append(held, st)
			continue
		}
		if err := w.Close(ctx, st); err != nil {
			return nil, lost, err
		}
		if !st.Own() {
			lost = append(lost, st)
		}
	}
	return held, lost, nil
}

// Lost returns the closed claims of this agent that somebody else ended, and that were not taken again
// since.
func (w *Held) Lost() ([]*Claim, error) {
	lost, err := w.Claims.lost()
	if err != nil {
		return nil, err
	}
	held, err := w.Claims.Held()
	return slices.DeleteFunc(lost, func(h *Claim) bool {
		again := slices.ContainsFunc(held, func(now *Claim) bool { return now.ID == h.ID })
		return again || h.Actor != w.Agent
	}), err
}

// LostTokens is like Lost for claims with a token.
func (w *Held) LostTokens() ([]*Claim, error) {
	lost, err := w.Lost()
	return slices.DeleteFunc(lost, func(h *Claim) bool { return h.Token == "" }), err
}

// ByHome returns the ids of the claims of this agent, by the repo id of their home.
func (w *Held) ByHome() (map[string][]handoff.ID, error) {
	held, err := w.Recorded()
	at := map[string][]handoff.ID{}
	for _, h := range held {
		at[h.Home] = append(at[h.Home], h.ID)
	}
	return at, err
}

// Split lists the claims of this agent in this worktree, and those whose end is kept until
// their hub is back.
func (w *Held) Split() (held, finished []*Claim, err error) {
	all, err := w.Recorded()
	for _, h := range all {
		if h.Finished() {
			finished = append(finished, h)
		} else {
			held = append(held, h)
		}
	}
	return held, finished, err
}

// Current returns the one claim held by this worktree: what commands without an id mean.
func (w *Held) Current() (*Claim, error) {
	held, finished, err := w.Split()
	if err != nil {
		return nil, err
	}
	switch len(held) {
	case 0:
		all, err := w.Claims.Held()
		if err != nil {
			return nil, err
		}
		for _, h := range all {
			if h.Actor == w.Agent && !h.Printed { // a resume failed after its claim, or was killed
				return nil, fault.New(fault.NotFound, fault.NothingHeld, "handoff %s is claimed, and not shown yet", h.ID).
					WithHints(fault.Run("githandoff", "resume", string(h.ID)).Because("shows it"))
			}
		}
		if len(finished) > 0 {
			return nil, fault.New(fault.NotFound, fault.NothingHeld, "%s holds nothing in this worktree: finished handoffs wait for their hub (%s)", w.Agent, ShortIDs(finished)).
				WithHints(fault.Run("githandoff", "sync").Because("sends the queued steps"))
		}
		if w.Agent == "" {
			return nil, fault.New(fault.Usage, fault.NoIdentity, "this worktree has no agent").WithHints(noAgent())
		}
		hints, err := w.hintsElsewhere()
		if err != nil {
			return nil, err
		}
		waiting := fault.Run("githandoff", "resume").Because("takes a waiting handoff")
		if handoff.CheckAgent(w.Agent) != nil { // a person does not take handoffs
			waiting = fault.Run("githandoff", "inbox", "--all").Because("lists waiting handoffs")
		}
		return nil, fault.New(fault.NotFound, fault.NothingHeld, "%s holds nothing in this worktree", w.Agent).
			WithHints(append(hints, waiting)...)
	case 1:
		return held[0], nil
	}
	return nil, fault.New(fault.Usage, fault.AmbiguousID, "%s holds %d handoffs: %s", w.Agent, len(held), ShortIDs(held)).
		WithHints(each(held, func(id string) fault.Hint { return fault.With(id).Because("an id names one of them") })...)
}

// each returns a hint for each of the first two claims.
func each(held []*Claim, hint func(id string) fault.Hint) (hints []fault.Hint) {
	for _, h := range held[:min(len(held), 2)] {
		hints = append(hints, hint(string(h.ID)))
	}
	return hints
}

// Elsewhere returns the claims of this agent held by other worktrees of the clone.
func (w *Held) Elsewhere() ([]Located, error) {
	held, err := OfClone(w.Verifier.Repo)
	return slices.DeleteFunc(held, func(l Located) bool { return l.Actor != w.Agent || l.GitDir == w.Claims.GitDir }), err
}

// hintsElsewhere returns hints to the claims of this agent held by other worktrees of the clone.
func (w *Held) hintsElsewhere() (hints []fault.Hint, err error) {
	held, err := w.Elsewhere()
	for _, l := range held {
		dir, missing, err := l.Worktree()
		if err != nil {
			return nil, err
		}
		hint := fault.Run("githandoff", "-C", dir, "status").Because("shows what that worktree holds")
		switch {
		case missing:
			hint = ifDeleted(dir)
		case dir == "":
			hint = fault.Run("githandoff", "resume", string(l.ID)).Because("continues here what a removed worktree held")
		}
		hints = fault.AddHints(hints, hint)
	}
	return hints, err
}

// HintsMissing returns hints to the claims of this agent in worktrees of the clone whose files are missing.
func (w *Held) HintsMissing() (hints []fault.Hint, err error) {
	held, err := w.Elsewhere()
	for _, l := range held {
		if dir, missing, err := l.Worktree(); err == nil && missing {
			hints = fault.AddHints(hints, ifDeleted(dir))
		}
	}
	return hints, err
}

// Kept returns the claim with a kept step of this kind, because the same command without an id
// means that claim. It returns nil if there is no such claim, or more than one.
func (w *Held) Kept(event record.Event) (*Claim, error) {
	_, finished, err := w.Split()
	if err != nil || len(finished) != 1 || finished[0].Pending.Event != event {
		return nil, err
	}
	return finished[0], nil
}

// ShortIDs lists the ids of claims by unique ends. Commands taking the end of a held handoff's
// id compare it with the ids of held handoffs only.
func ShortIDs(held []*Claim) string {
	ends := handoff.EndsOf(idsOf(held))
	var ids []string
	for _, h := range held {
		ids = append(ids, ends.Of(h.ID))
	}
	return strings.Join(ids, ", ")
}

func idsOf(held []*Claim) (ids []handoff.ID) {
	for _, h := range held {
		ids = append(ids, h.ID)
	}
	return ids
}

// Find finds the claim meant by an id, or by no id.
func (w *Held) Find(arg string) (*Claim, error) {
	if arg == "" {
		return w.Current()
	}
	held, err := w.Claims.Held()
	if err != nil {
		return nil, err
	}
	held = slices.DeleteFunc(held, func(h *Claim) bool { return !h.ID.Matches(arg) })
	if len(held) > 1 {
		return nil, handoff.Ambiguous(arg, idsOf(held)...)
	}
	if len(held) == 1 {
		return held[0], nil
	}
	if id, err := handoff.ParseID(arg); err == nil {
		if h, err := w.Claims.Get(id); err == nil && h != nil {
			return h, nil
		}
	}
	return w.Claims.EndedBySuffix(arg)
}

func noAgent() fault.Hint {
	return fault.See("init").Because("--as names the agent that works here")
}
