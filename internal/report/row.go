package report

import (
	"cmp"
	"time"
)

// Row is one handoff as the log tells it. Unknown times are zero.
type Row struct {
	ID        string
	Short     string // last characters of the id that no other row has; empty to show the whole id
	Repo      string // short name of the home
	Task      string // the sender's own key for the work
	From, To  string // agents; To is "_" if a person has to decide
	By        string // the holder, or the agent that ended the handoff
	State     State
	Parent    string // id of the parent handoff
	Principal string // person on whose behalf the work is done
	Said      string // text of the receipt: why the handoff failed

	Offered, Claimed, Ended time.Time // Claimed is the first claim
	Lease, Expires          time.Time
	Held                    []Span // each time that an agent held the handoff
}

// Span is a time during which one agent held a handoff. To is zero while it does.
type Span struct {
	By       string
	From, To time.Time
}

// State is a handoff's progress.
type State string

// The states. Those up to Expired are open.
const (
	Waiting      State = "waiting"   // waits for its target agent
	Undecided    State = "undecided" // waits for a person's decision
	Held         State = "held"
	Overdue      State = "overdue" // held after the end of its lease
	Expired      State = "expired" // expired, and not ended yet
	Acknowledged State = "acknowledged"
	Failed       State = "failed"
	Rerouted     State = "rerouted"
	Revoked      State = "revoked"
	Collected    State = "collected" // ended because it had expired
)

// Open reports whether no receipt has ended the handoff.
func (s State) Open() bool {
	switch s {
	case Waiting, Undecided, Held, Overdue, Expired:
		return true
	}
	return false
}

func states() []State {
	return []State{Waiting, Undecided, Held, Overdue, Expired, Acknowledged, Failed, Rerouted, Revoked, Collected}
}

// Wrong is one thing that does not count, with the reason.
type Wrong struct {
	Reason string // reason word
	ID     string // id of the handoff; empty if none is concerned
	Short  string // last characters of the id that no other one on the page has; empty to show the whole id
	Repo   string
	Text   string // one line
}

// Name returns the text of the link to the handoff.
func (w *Wrong) Name() string { return cmp.Or(w.Short, w.ID) }

// Input is the content of the page.
type Input struct {
	Repo   string    // repo id of the clone that makes the page
	Since  time.Time // earlier steps are left out; zero for all steps
	Now    time.Time
	Rows   []Row
	Wrongs []Wrong
	Unread []string // hubs that could not be read, one line each
}

// ToClaim returns the time from the offer to the first claim; false if there was none.
func (r *Row) ToClaim() (time.Duration, bool) {
	if r.Claimed.IsZero() {
		return 0, false
	}
	return max(0, r.Claimed.Sub(r.Offered)), true
}

// ToFinish returns the time from the first claim to the receipt; false if one is missing.
func (r *Row) ToFinish() (time.Duration, bool) {
	if r.Claimed.IsZero() || r.Ended.IsZero() {
		return 0, false
	}
	return max(0, r.Ended.Sub(r.Claimed)), true
}

// Name returns the id as people are shown it.
func (r *Row) Name() string { return cmp.Or(r.Short, r.ID) }
