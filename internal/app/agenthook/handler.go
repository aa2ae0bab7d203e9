package agenthook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/agents"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/refs"
)

// Worktree answers the handler's questions about this worktree. Everything is answered from
// local refs and files.
type Worktree interface {
	// Agent is the name of this worktree's agent.
	Agent() string
	// Top is the top of the work tree, empty in a bare repository.
	Top() string
	// Inbox lists the ids in the agent's inboxes, the oldest first, by the names of refs
	// alone: some may be claimed.
	Inbox(ctx context.Context) ([]handoff.ID, error)
	// Waiting lists the ids offered to the agent, the oldest first. It reads each of them.
	Waiting(ctx context.Context, ids []handoff.ID) ([]agents.Handoff, error)
	// Held lists the handoffs held by this worktree.
	Held(ctx context.Context) ([]agents.Handoff, error)
	// Lost lists claims of this worktree ended by others, and how they ended: "revoked",
	// "released", "taken over". Each is listed until it is forgotten.
	Lost(ctx context.Context) ([]Loss, error)
	// Peek prints a handoff inside its fence, as "resume --peek" does.
	Peek(ctx context.Context, id handoff.ID) (string, error)
	// Take claims the oldest offer of this repository's own home, without asking a hub.
	// It returns nil where none can be taken.
	Take(ctx context.Context) (*Taken, error)
	// Release gives a claim of this worktree back: at this repository at once, at a hub
	// with the next sync.
	Release(ctx context.Context, id handoff.ID) error
	// Check returns nil if the held tokens allow all scopes, or if none is held.
	Check(ctx context.Context, scopes []string) error
	// Facts records the facts about the work known without the model, for a possible next
	// handoff, in the worktree's git directory.
	Facts(ctx context.Context, held []agents.Handoff) error
}

// Loss is a claim ended by others.
type Loss struct {
	agents.Handoff
	How string
}

// Settings are the user's choices, from git configuration.
type Settings struct {
	Session string // handoff.session: announce, peek, take or off
	Stop    string // handoff.stop: remind or off
	End     string // handoff.end: keep or release
}

// SettingsOf reads the user's choices.
func SettingsOf(config refs.Config) Settings {
	return Settings{Session: config.Get("handoff.session"), Stop: config.Get("handoff.stop"), End: config.Get("handoff.end")}
}

// The budgets for text added to a session, in bytes.
const (
	maxPeek    = 2000 // at the start of a session, if handoff.session is peek
	maxCompact = 4000 // after a compaction, when held handoffs are printed again
)

// maxRead bounds the offers read by one call. Of an inbox with more, only the number is told.
const maxRead = 32

// Handler answers one call.
type Handler struct {
	Worktree Worktree
	Settings Settings
	Stamp    *Stamp
	Warn     func(error) // called with errors which do not prevent an answer
	View     *View       // the ground before the worktree was asked; nil if it is unknown
}

// Handle returns the answer to a call; nil for none. A fact which could not be recorded in the
// stamp is not printed: it would be printed again and again.
func (h *Handler) Handle(ctx context.Context, call *agents.Call) ([]byte, error) {
	out, err := h.answer(ctx, call)
	if err == nil {
		err = h.Stamp.Save()
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (h *Handler) answer(ctx context.Context, call *agents.Call) ([]byte, error) {
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
		return nil, h.end(ctx, call)
	}
	return nil, nil
}

// start lists waiting and held handoffs. A resumed session is told only the news; a
// compacted one is shown its held handoffs again.
func (h *Handler) start(ctx context.Context, call *agents.Call) ([]byte, error) {
	held, err := h.Worktree.Held(ctx)
	if err != nil {
		return nil, err
	}
	for i := range held {
		held[i].Earlier = call.Source == "startup"
	}
	switch call.Source {
	case "compact":
		return h.afterCut(ctx, call, held)
	case "resume":
		return h.again(ctx, call, held)
	}
	if h.Settings.Session == "take" {
		return h.begin(ctx, call, held)
	}
	return h.startWith(ctx, call, held, nil)
}

// startWith is like start for a new session, with the text of its handoff.
func (h *Handler) startWith(ctx context.Context, call *agents.Call, held []agents.Handoff, given *Taken) ([]byte, error) {
	all, err := h.Worktree.Inbox(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := h.read(ctx, all)
	if err != nil {
		return nil, err
	}
	return h.announce(ctx, call, waiting, held, all, given)
}

// again is like start for a continued session.
func (h *Handler) again(ctx context.Context, call *agents.Call, held []agents.Handoff) ([]byte, error) {
	fresh, all, err := h.arrived(ctx)
	if err != nil {
		return nil, err
	}
	if len(fresh.Known) == 0 && fresh.Lie == 0 && !h.Stamp.changed(held) {
		return h.news(ctx, call, fresh, held, all)
	}
	return h.announce(ctx, call, fresh, held, all, nil)
}

// announce lists waiting handoffs of an inbox with these ids, held ones, and lost ones.
func (h *Handler) announce(ctx context.Context, call *agents.Call, w agents.Waiting, held []agents.Handoff, all []handoff.ID, given *Taken) ([]byte, error) {
	lost, err := h.lost(ctx)
	if err != nil {
		return nil, err
	}
	text := lost + agents.Announcement(h.Worktree.Agent(), w, held)
	if h.Settings.Session == "peek" && len(w.Known) > 0 {
		if shown, err := h.Worktree.Peek(ctx, w.Known[0].ID); err == nil {
			text += short(shown, maxPeek)
		}
	}
	h.noteTold(w, held, all)
	if given != nil {
		return call.Begin(text+given.after(len(text)), agents.First(given.Handoff)), nil
	}
	return call.Context(text), nil
}

// noteTold records what the session has been told.
func (h *Handler) noteTold(w agents.Waiting, held []agents.Handoff, all []handoff.ID) {
	h.Stamp.tell(w.Known, held)
	if w.Lie > 0 {
		h.Stamp.tellOfCrowd(all)
	}
	if h.View != nil {
		h.Stamp.know(h.View)
	}
}

// afterCut shows the held handoffs again: the model has only a summary of them.
func (h *Handler) afterCut(ctx context.Context, call *agents.Call, held []agents.Handoff) ([]byte, error) {
	if len(held) == 0 {
		return nil, nil
	}
	text := agents.Announcement(h.Worktree.Agent(), agents.Waiting{}, held)
	if shown, err := h.Worktree.Peek(ctx, held[0].ID); err == nil {
		text += short(shown, maxCompact-len(text))
	}
	return call.Context(text), nil
}

// short returns a fenced text if it fits. Half of a fence would let the rest of the session
// look like a sender's data.
func short(text string, limit int) string {
	if len(text) > limit {
		return ""
	}
	return text
}

// prompt lists the handoffs which arrived or were lost since the session was told.
func (h *Handler) prompt(ctx context.Context, call *agents.Call) ([]byte, error) {
	fresh, all, err := h.arrived(ctx)
	if err != nil {
		return nil, err
	}
	held, err := h.Worktree.Held(ctx)
	if err != nil {
		return nil, err
	}
	return h.news(ctx, call, fresh, held, all)
}

func (h *Handler) news(ctx context.Context, call *agents.Call, fresh agents.Waiting, held []agents.Handoff, all []handoff.ID) ([]byte, error) {
	lost, err := h.lost(ctx)
	if err != nil {
		return nil, err
	}
	h.noteTold(fresh, held, all)
	return call.Context(lost + agents.Arrival(h.Worktree.Agent(), fresh)), nil
}

// arrived lists the handoffs new in the inbox since the session was told, and all handoffs in it.
// If there are more than a stamp remembers, one more is no news.
func (h *Handler) arrived(ctx context.Context) (agents.Waiting, []handoff.ID, error) {
	all, err := h.Worktree.Inbox(ctx)
	if err != nil || len(all) > maxCrowd && h.Stamp.Crowd {
		return agents.Waiting{}, nil, err
	}
	fresh := h.Stamp.fresh(all)
	w, err := h.read(ctx, fresh)
	return w, all, err
}

// read reads waiting handoffs among some ids of the inbox, at most as many as can be named.
func (h *Handler) read(ctx context.Context, ids []handoff.ID) (agents.Waiting, error) {
	if len(ids) <= maxRead {
		known, err := h.Worktree.Waiting(ctx, ids)
		return agents.Waiting{Known: known}, err
	}
	w := agents.Waiting{Lie: len(ids)}
	for some := range slices.Chunk(ids[:maxRead], agents.MaxNamed+1) {
		known, err := h.Worktree.Waiting(ctx, some)
		if err != nil {
			return agents.Waiting{}, err
		}
		if w.Known = append(w.Known, known...); len(w.Known) >= agents.MaxNamed {
			break
		}
	}
	return w, nil
}

// lost reports once the end of a claim known to the session.
func (h *Handler) lost(ctx context.Context) (string, error) {
	all, err := h.Worktree.Lost(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, l := range all {
		if slices.Contains(h.Stamp.Held, l.ID) && h.Stamp.once(&h.Stamp.Lost, l.ID) {
			b.WriteString(agents.Ended(h.Worktree.Agent(), l.Handoff, l.How))
		}
	}
	return b.String(), nil
}

// gate refuses a tool call outside the scope of the held token, and one that cannot be read if the
// token does not allow everything. It never allows one.
func (h *Handler) gate(ctx context.Context, call *agents.Call) ([]byte, error) {
	scopes := call.Scopes(h.Worktree.Top())
	if call.Unread != nil {
		scopes = []string{"repo.write:*", "repo.push:*"} // an unreadable call may write or push anything
	}
	if len(scopes) == 0 {
		return nil, nil
	}
	err := h.Worktree.Check(ctx, scopes)
	if err == nil {
		return nil, nil
	}
	f := fault.As(err)
	if f == nil || f.Code != fault.Policy {
		return nil, err
	}
	why := f.Message
	if call.Unread != nil {
		why = fmt.Sprintf("this tool call cannot be read (%v), and %s", call.Unread, why)
	}
	return call.Deny("githandoff: " + why + ". `githandoff obo show` says what is allowed."), nil
}

func (h *Handler) facts(ctx context.Context) error {
	held, err := h.Worktree.Held(ctx)
	if err != nil || len(held) == 0 {
		return err
	}
	return h.Worktree.Facts(ctx, held)
}

// stop reminds of a held handoff, once a session, if nobody would notice it otherwise. A client
// already made to go on says so, and is not asked again.
func (h *Handler) stop(ctx context.Context, call *agents.Call) ([]byte, error) {
	if call.Again || call.Subagent || h.Settings.Stop == "off" {
		return nil, nil
	}
	held, err := h.Worktree.Held(ctx)
	if err != nil {
		return nil, err
	}
	h.Stamp.tell(nil, held)
	for _, one := range held {
		if !h.Stamp.once(&h.Stamp.Reminded, one.ID) {
			continue
		}
		text := agents.Reminder(h.Worktree.Agent(), one)
		if call.Attended != nil && *call.Attended {
			return call.Note(text), nil
		}
		return call.Block(text), nil
	}
	return nil, nil
}

func ids(list []agents.Handoff) []handoff.ID {
	all := make([]handoff.ID, 0, len(list))
	for _, h := range list {
		all = append(all, h.ID)
	}
	slices.Sort(all)
	return all
}
