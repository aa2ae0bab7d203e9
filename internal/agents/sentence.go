package agents

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
)

// The sentences' limits, in bytes. An announcement is part of every session.
const (
	maxAnnouncement = 400
	maxArrival      = 200
	maxReminder     = 300
)

// MaxNamed is the number of handoffs a sentence names one by one.
const MaxNamed = 3

// Handoff has the facts of a handoff for a sentence, and none of its content.
type Handoff struct {
	ID    handoff.ID
	From  string    // sender; empty unless this clone trusts the name
	Task  string    // the sender's key of the work
	Lease time.Time // end of the lease; zero if nobody holds the handoff
	// Overdue is set if the lease has run out.
	Overdue bool
	// Earlier is set if it was held when the session began.
	Earlier bool
}

// trackerKey is the form of the task keys of issue trackers. Any other key stays out of the
// sentences, because 128 printable characters can be an order to the model.
var trackerKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]{0,12}[-_#]?[0-9]{1,10}$`) })

// Said returns the sender and the task as far as an agent may read them outside of a fence.
func (h Handoff) Said() (from, task string) {
	if h.From != "" && handoff.CheckAgent(h.From) == nil && len(h.From) <= 32 {
		from = h.From
	}
	if trackerKey().MatchString(h.Task) {
		task = h.Task
	}
	return from, task
}

// name returns the handoff as a sentence names it.
func (h Handoff) name(ends handoff.Ends, withFrom bool) string {
	s := ends.Of(h.ID)
	from, task := h.Said()
	if withFrom && from != "" {
		s += " from " + from
	}
	if task != "" {
		s += " (" + task + ")"
	}
	return s
}

// Waiting counts the handoffs an agent may take.
type Waiting struct {
	Known []Handoff // offers that were read, oldest first
	// Lie is the number of handoffs in an inbox that is too crowded to be read, including claimed
	// ones. It is 0 if Known is complete.
	Lie int
}

func (w Waiting) empty() bool { return len(w.Known) == 0 && w.Lie == 0 }

// Announcement lists, at the start of a session, the handoffs waiting for agent and those held
// by this worktree. It is empty if there are none.
func Announcement(agent string, w Waiting, held []Handoff) string {
	end := holding(held)
	switch {
	case w.empty() && len(held) == 0:
		return ""
	case w.empty():
		return "githandoff: " + strings.TrimSuffix(end, "\n") + " `githandoff resume` prints it again.\n"
	}
	tail := ". `githandoff resume ID` claims one and prints it, `--peek` only shows it. " + end
	switch n := len(w.Known); {
	case w.Lie > 0:
		return crowded(fmt.Sprintf("githandoff: the inbox of %s has %d handoffs", agent, w.Lie), tail, w, maxAnnouncement)
	case n == 1:
		return named(fmt.Sprintf("githandoff: 1 handoff waits for agent %s: ", agent), tail, w.Known, maxAnnouncement)
	default:
		return named(fmt.Sprintf("githandoff: %d handoffs wait for agent %s: ", n, agent), tail, w.Known, maxAnnouncement)
	}
}

// named puts the names of handoffs between head and tail, as many as fit.
func named(head, tail string, all []Handoff, limit int) string {
	return head + list(all, limit-len(head)-len(tail)) + tail
}

// crowded names some of the handoffs that wait in an inbox that is too crowded to be read.
func crowded(head, tail string, w Waiting, limit int) string {
	if len(w.Known) == 0 {
		return head + tail
	}
	return named(head+"; these wait: ", tail, w.Known[:min(len(w.Known), MaxNamed)], limit)
}

// holding says what is held, and until when.
func holding(held []Handoff) string {
	if len(held) == 0 {
		return "Held: none.\n"
	}
	since := ""
	if held[0].Earlier {
		since = " since an earlier session"
	}
	var parts []string
	for _, h := range held[:min(len(held), 2)] {
		s := h.name(nil, false)
		switch {
		case h.Overdue:
			s += ", whose lease ran out at " + h.Lease.UTC().Format("15:04Z") + " (`githandoff progress` renews it)"
		case !h.Lease.IsZero():
			s += " until " + h.Lease.UTC().Format("15:04Z")
		}
		parts = append(parts, s)
	}
	return "Held" + since + ": " + joined(parts, len(held)) + ".\n"
}

// Taken announces a handoff taken for the session. Its text follows, or is too long for a
// hook.
func Taken(h Handoff, follows bool) string {
	if follows {
		return fmt.Sprintf("githandoff: this hook took %s for the session; it follows.\n", h.ID.Short())
	}
	return fmt.Sprintf("githandoff: this hook took %s for the session; `githandoff resume` prints it.\n", h.ID.Short())
}

// First returns the first turn of a session with a handoff and no other task.
func First(h Handoff) string { return "Work on handoff " + h.name(nil, false) + "." }

// Arrival says which handoffs came in since the session was told.
func Arrival(agent string, fresh Waiting) string {
	if fresh.empty() {
		return ""
	}
	const tail = ". `githandoff resume ID` claims one.\n"
	if fresh.Lie > 0 {
		return crowded(fmt.Sprintf("githandoff: %d handoffs came into the inbox of %s", fresh.Lie, agent), tail, fresh, maxArrival)
	}
	return named(fmt.Sprintf("githandoff: %s arrived for %s: ", fault.Count(len(fresh.Known), "handoff"), agent), tail, fresh.Known, maxArrival)
}

// list names as many handoffs as fit into limit bytes, at most MaxNamed, and counts
// the others.
func list(all []Handoff, limit int) string {
	var ids []handoff.ID
	for _, h := range all {
		ids = append(ids, h.ID)
	}
	ends := handoff.EndsOf(ids)
	for n := min(len(all), MaxNamed); n > 0; n-- {
		var parts []string
		for _, h := range all[:n] {
			parts = append(parts, h.name(ends, true))
		}
		if s := joined(parts, len(all)); len(s) <= limit {
			return s
		}
	}
	return joined([]string{ends.Of(all[0].ID)}, len(all))
}

// joined lists names, and says how many of all handoffs are not among them.
func joined(names []string, all int) string {
	if rest := all - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(names, ", ")
}

// Reminder names, at the end of a turn, a handoff still held, and the ways to end it.
func Reminder(agent string, h Handoff) string {
	id := h.ID.Short()
	late := ""
	if h.Overdue {
		late = ", but its lease has run out: others may take it"
	}
	s := fmt.Sprintf("githandoff: %s still holds %s%s. Done: githandoff ack %s. Not possible: githandoff fail %s --reason TEXT. "+
		"For others: githandoff release %s.", agent, h.name(nil, false), late, id, id, id)
	if len(s) > maxReminder {
		s = fmt.Sprintf("githandoff: %s is still held. Done: githandoff ack %s. Not possible: githandoff fail %s --reason TEXT. "+
			"For others: githandoff release %s.", id, id, id, id)
	}
	return s
}

// Ended says why a claim of this worktree is over: the work stops.
func Ended(agent string, h Handoff, how string) string {
	return fmt.Sprintf("githandoff: %s no longer holds %s: it was %s. Stop working on it.\n", agent, h.name(nil, false), how)
}
