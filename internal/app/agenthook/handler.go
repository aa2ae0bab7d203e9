package agenthook

import (
	"context"
	"slices"
	"strings"

	"githandoff/internal/agents"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// Desk is what the handler asks about this worktree. Everything is answered from
// local refs and files.
type Desk interface {
	// Agent is the name of the agent that works here.
	Agent() string
	// Worktree is the top of the work tree, empty in a bare repository.
	Worktree() string
	// Inbox lists the ids in the agent's inboxes, by the names of refs alone: some
	// may be claimed.
	Inbox(ctx context.Context) ([]handoff.ID, error)
	// Waiting lists those of ids that are offered to the agent, the oldest first; nil
	// means all. It reads each of them.
	Waiting(ctx context.Context, ids []handoff.ID) ([]agents.Handoff, error)
	// Held lists what this worktree holds.
	Held(ctx context.Context) ([]agents.Handoff, error)
	// Lost lists claims of this worktree that ended without it, with how they ended:
	// "revoked", "released", "taken over". Each is listed until it is forgotten.
	Lost(ctx context.Context) ([]Loss, error)
	// Peek prints a handoff inside its fence, as "resume --peek" does.
	Peek(ctx context.Context, id handoff.ID) (string, error)
	// Check returns nil if the held tokens allow all scopes, or if none is held.
	Check(ctx context.Context, scopes []string) error
	// Facts writes down what can be told of the work without asking the model, for a
	// handoff that may follow, and keeps it in the worktree's git directory.
	Facts(ctx context.Context, held []agents.Handoff) error
}

// Loss is a claim that ended without its holder.
type Loss struct {
	agents.Handoff
	How string
}

// Settings are the user's choices, from git configuration.
type Settings struct {
	Session string // handoff.session: announce, peek or off
	Stop    string // handoff.stop: remind or off
}

// The budgets of what is added to a session, in bytes.
const (
	maxPeek    = 2000 // at its start, where the user asked for it
	maxCompact = 4000 // after a compaction: what is held is printed again
)

// Handler answers one call.
type Handler struct {
	Desk     Desk
	Settings Settings
	Stamp    *Stamp
}

// Handle returns what is printed for a call; nil for nothing.
func (h *Handler) Handle(ctx context.Context, call *agents.Call) ([]byte, error) {
	if h.Settings.Session == "off" {
		return nil, nil
	}
	switch call.Event {
	case agents.SessionStart:
		return h.start(ctx, call)
	case agents.Prompt:
		return h.prompt(ctx, call)
	case agents.BeforeTool:
		return h.gate(ctx, call)
	case agents.BeforeCut:
		return nil, h.facts(ctx)
	case agents.TurnEnd:
		return h.stop(ctx, call)
	case agents.SessionEnd:
		return nil, h.end(ctx)
	}
	return nil, nil
}

// start says what waits and what is held. A session that goes on is told only what is
// new; one that was compacted is shown again what it holds.
func (h *Handler) start(ctx context.Context, call *agents.Call) ([]byte, error) {
	waiting, err := h.Desk.Waiting(ctx, nil)
	if err != nil {
		return nil, err
	}
	held, err := h.Desk.Held(ctx)
	if err != nil {
		return nil, err
	}
	fresh := h.Stamp.untold(waiting)
	switch call.Source {
	case "compact":
		return h.afterCut(ctx, call, held)
	case "resume":
		if len(fresh) == 0 && !h.Stamp.changed(held) {
			return h.prompt(ctx, call)
		}
		waiting = fresh
	}
	lost, err := h.lost(ctx)
	if err != nil {
		return nil, err
	}
	text := lost + agents.Announcement(h.Desk.Agent(), waiting, held)
	if text == "" {
		return nil, nil
	}
	if h.Settings.Session == "peek" && len(waiting) > 0 {
		if shown, err := h.Desk.Peek(ctx, waiting[0].ID); err == nil {
			text += short(shown, maxPeek)
		}
	}
	h.Stamp.tell(waiting, held)
	return call.Context(text), h.Stamp.Save()
}

// afterCut shows again what is held: the model has only a summary of it.
func (h *Handler) afterCut(ctx context.Context, call *agents.Call, held []agents.Handoff) ([]byte, error) {
	if len(held) == 0 {
		return nil, nil
	}
	text := agents.Announcement(h.Desk.Agent(), nil, held)
	if shown, err := h.Desk.Peek(ctx, held[0].ID); err == nil {
		text += short(shown, maxCompact-len(text))
	}
	return call.Context(text), nil
}

// short is a fenced text if it fits. Half of a fence would let the rest of the session
// look like a sender's data.
func short(text string, limit int) string {
	if len(text) > limit {
		return ""
	}
	return text
}

// prompt says what came in and what was lost since the session was told.
func (h *Handler) prompt(ctx context.Context, call *agents.Call) ([]byte, error) {
	fresh, err := h.arrived(ctx)
	if err != nil {
		return nil, err
	}
	lost, err := h.lost(ctx)
	if err != nil {
		return nil, err
	}
	held, err := h.Desk.Held(ctx)
	if err != nil {
		return nil, err
	}
	if len(fresh) == 0 && lost == "" && !h.Stamp.changed(held) {
		return nil, nil
	}
	h.Stamp.tell(fresh, held)
	return call.Context(lost + agents.Arrival(h.Desk.Agent(), fresh)), h.Stamp.Save()
}

// arrived lists the offers that the session was not told of. Where more wait than a
// stamp remembers, one more is no news.
func (h *Handler) arrived(ctx context.Context) ([]agents.Handoff, error) {
	ids, err := h.Desk.Inbox(ctx)
	if err != nil || len(ids) > maxStamp {
		return nil, err
	}
	ids = slices.DeleteFunc(ids, func(id handoff.ID) bool { return slices.Contains(h.Stamp.Told, id) })
	if len(ids) == 0 {
		return nil, nil
	}
	return h.Desk.Waiting(ctx, ids)
}

// lost says that a claim which the session knew of is over, once.
func (h *Handler) lost(ctx context.Context) (string, error) {
	all, err := h.Desk.Lost(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, l := range all {
		if slices.Contains(h.Stamp.Held, l.ID) && h.Stamp.once(&h.Stamp.Lost, l.ID) {
			b.WriteString(agents.Ended(h.Desk.Agent(), l.Handoff, l.How))
		}
	}
	return b.String(), nil
}

// gate refuses a tool call outside of what the held token allows. It never allows one.
func (h *Handler) gate(ctx context.Context, call *agents.Call) ([]byte, error) {
	scopes := call.Scopes(h.Desk.Worktree())
	if len(scopes) == 0 {
		return nil, nil
	}
	err := h.Desk.Check(ctx, scopes)
	if err == nil {
		return nil, nil
	}
	f := fault.As(err)
	if f == nil || f.Code != fault.Policy {
		return nil, err
	}
	return call.Deny("githandoff: " + f.Message + ". `githandoff obo show` says what is allowed."), nil
}

func (h *Handler) facts(ctx context.Context) error {
	held, err := h.Desk.Held(ctx)
	if err != nil || len(held) == 0 {
		return err
	}
	return h.Desk.Facts(ctx, held)
}

// stop reminds of a handoff that is held, once a session, where nobody would see it
// otherwise. A client that was made to go on says so, and is not asked again.
func (h *Handler) stop(ctx context.Context, call *agents.Call) ([]byte, error) {
	if call.Again || call.Subagent || h.Settings.Stop == "off" {
		return nil, nil
	}
	held, err := h.Desk.Held(ctx)
	if err != nil {
		return nil, err
	}
	changed := h.Stamp.changed(held)
	h.Stamp.tell(nil, held)
	for _, one := range held {
		if !h.Stamp.once(&h.Stamp.Reminded, one.ID) {
			continue
		}
		// What was not written down would be said at each end of a turn, without end.
		if err := h.Stamp.Save(); err != nil {
			return nil, err
		}
		text := agents.Reminder(h.Desk.Agent(), one)
		if call.Attended != nil && *call.Attended {
			return call.Note(text), nil
		}
		return call.Block(text), nil
	}
	if changed {
		return nil, h.Stamp.Save()
	}
	return nil, nil
}

// end notes what the session leaves held. Nothing is released: a session can go on, and
// the lease ends by itself.
func (h *Handler) end(ctx context.Context) error {
	held, err := h.Desk.Held(ctx)
	if err != nil || len(held) == 0 && len(h.Stamp.Held) == 0 {
		return err
	}
	h.Stamp.tell(nil, held)
	return h.Stamp.Save()
}

func ids(list []agents.Handoff) []handoff.ID {
	all := make([]handoff.ID, 0, len(list))
	for _, h := range list {
		all = append(all, h.ID)
	}
	slices.Sort(all)
	return all
}
