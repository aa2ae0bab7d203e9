package agents

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"githandoff/internal/handoff"
)

// The sentences' limits, in bytes. An announcement is part of every session.
const (
	maxAnnouncement = 400
	maxArrival      = 200
	maxReminder     = 300
	maxNamed        = 3 // handoffs that a sentence names one by one
)

// Handoff is what a sentence says of one: nothing of its content.
type Handoff struct {
	ID    handoff.ID
	From  string    // its sender; empty unless that is a name that this clone trusts
	Task  string    // the sender's key of the work
	Lease time.Time // of one that is held
}

// trackerKey is the form of task keys that trackers give. Any other key stays out of
// the sentences: 128 printable characters can be an order to the model.
var trackerKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]{0,12}[-_#]?[0-9]{1,10}$`) })

// Said is the sender and the task as far as an agent may read them outside of a fence.
func (h Handoff) Said() (from, task string) {
	if h.From != "" && handoff.CheckAgent(h.From) == nil && len(h.From) <= 32 {
		from = h.From
	}
	if trackerKey().MatchString(h.Task) {
		task = h.Task
	}
	return from, task
}

// name is the handoff as a sentence names it.
func (h Handoff) name(withFrom bool) string {
	s := h.ID.Short()
	from, task := h.Said()
	if withFrom && from != "" {
		s += " from " + from
	}
	if task != "" {
		s += " (" + task + ")"
	}
	return s
}

// Announcement says at the start of a session what waits for agent and what this
// worktree holds. It is empty if there is nothing to say.
func Announcement(agent string, waiting, held []Handoff) string {
	if len(waiting) == 0 && len(held) == 0 {
		return ""
	}
	end := holding(held)
	if len(waiting) == 0 {
		return "githandoff: " + end
	}
	n := len(waiting)
	head := fmt.Sprintf("githandoff: %d handoffs wait for agent %s: ", n, agent)
	if n == 1 {
		head = fmt.Sprintf("githandoff: 1 handoff waits for agent %s: ", agent)
	}
	tail := ". `githandoff resume ID` claims one and prints it, `--peek` only shows it. " + end
	return head + list(waiting, maxAnnouncement-len(head)-len(tail), true) + tail
}

// holding says what is held, and until when.
func holding(held []Handoff) string {
	if len(held) == 0 {
		return "Held: none.\n"
	}
	var parts []string
	for _, h := range held[:min(len(held), 2)] {
		s := h.name(false)
		if !h.Lease.IsZero() {
			s += " until " + h.Lease.UTC().Format("15:04Z")
		}
		parts = append(parts, s)
	}
	if n := len(held) - len(parts); n > 0 {
		parts = append(parts, fmt.Sprintf("%d more", n))
	}
	return "Held: " + strings.Join(parts, ", ") + ".\n"
}

// Arrival says what came in since the session was told.
func Arrival(agent string, arrived []Handoff) string {
	if len(arrived) == 0 {
		return ""
	}
	head := fmt.Sprintf("githandoff: %d handoffs arrived for %s: ", len(arrived), agent)
	if len(arrived) == 1 {
		head = fmt.Sprintf("githandoff: 1 handoff arrived for %s: ", agent)
	}
	return head + list(arrived, maxArrival-len(head)-2, true) + ".\n"
}

// list names as many handoffs as fit into limit bytes, at most maxNamed, and counts
// the others.
func list(all []Handoff, limit int, from bool) string {
	for n := min(len(all), maxNamed); n > 0; n-- {
		var parts []string
		for _, h := range all[:n] {
			parts = append(parts, h.name(from))
		}
		if rest := len(all) - n; rest > 0 {
			parts = append(parts, fmt.Sprintf("%d more", rest))
		}
		if s := strings.Join(parts, ", "); len(s) <= limit {
			return s
		}
	}
	return all[0].ID.Short() + more(len(all)-1)
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d more", n)
}

// Reminder says at the end of a turn that a handoff is still held, and how to end it.
func Reminder(agent string, h Handoff) string {
	id := h.ID.Short()
	s := fmt.Sprintf("githandoff: %s still holds %s. Done: githandoff ack %s. Not possible: githandoff fail %s --reason TEXT. "+
		"For others: githandoff release %s.", agent, h.name(false), id, id, id)
	if len(s) > maxReminder {
		s = fmt.Sprintf("githandoff: %s is still held. Done: githandoff ack %s. Not possible: githandoff fail %s --reason TEXT. "+
			"For others: githandoff release %s.", id, id, id, id)
	}
	return s
}

// Ended says that a claim of this worktree is over, and why: the work stops.
func Ended(agent string, h Handoff, how string) string {
	return fmt.Sprintf("githandoff: %s no longer holds %s: it was %s. Its authority is over.\n", agent, h.name(false), how)
}
