package cli

import (
	"encoding/json"

	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
)

// fail prints the error of a command.
func (a *app) fail(err error) {
	a.Fail(err, func(f *fault.Error) any {
		return errorRow{errorBody{int(f.Code), f.Reason, f.Message, output.First(f.Hints), f.Hints}}
	})
}

// row is the JSON object of a handoff. Its members are stable.
type row struct {
	ID        handoff.ID        `json:"id"`                  // handoff
	State     string            `json:"state"`               // phase, or event of the receipt; in lists: offered, claimed, overdue, undecided, expired, early, queued, sent, refused; in sync also delivered, or a step that was kept; in gc what is gone: swept, expired, checkpoint, snapshot, copy
	Task      string            `json:"task,omitempty"`      // the sender's own key for the work
	From      string            `json:"from"`                // sender; empty for a refused handoff, and in gc
	To        string            `json:"to"`                  // agent whose inbox has it, _ for nobody; empty in gc
	Home      string            `json:"home,omitempty"`      // repo id
	Ref       string            `json:"ref,omitempty"`       // its ref in this repository
	Commit    string            `json:"commit,omitempty"`    // object id of the tip, or of the entry of the log
	Digest    string            `json:"digest,omitempty"`    // digest of the stored envelope
	At        string            `json:"at"`                  // time of the event, RFC 3339 in UTC; empty whenever "from" is
	Actor     string            `json:"actor,omitempty"`     // who took the step
	Expires   string            `json:"expires,omitempty"`   // end of the handoff
	Lease     string            `json:"lease,omitempty"`     // end of the claim
	Parent    handoff.ID        `json:"parent,omitempty"`    // handoff from which it follows
	Next      handoff.ID        `json:"next,omitempty"`      // handoff in which the work goes on
	Principal string            `json:"principal,omitempty"` // "user:alice@example.com (token)" or "(declared)"
	Token     string            `json:"token,omitempty"`     // id of the token
	Scope     []string          `json:"scope,omitempty"`     // what the token allows, and until when
	Until     string            `json:"until,omitempty"`     // end of the token
	Lapsed    string            `json:"lapsed,omitempty"`    // reason for which the token allows nothing any more
	Worktree  string            `json:"worktree,omitempty"`  // worktree with the snapshot
	Branch    string            `json:"branch,omitempty"`    // branch of the worktree
	Results   map[string]string `json:"results,omitempty"`   // results of the receipt
	Envelope  json.RawMessage   `json:"envelope,omitempty"`  // content; docs/format.md describes it
}

func rowOf(r *record.Record, state string) row {
	out := row{
		ID: r.ID, State: state, Task: r.Task, From: r.From, To: r.To, Home: r.Home, Digest: r.Digest,
		At: handoff.FormatTime(r.At), Actor: r.Actor, Parent: r.Parent, Next: r.Next,
		Principal: r.Principal, Token: r.Token,
	}
	if !r.Expires.IsZero() {
		out.Expires = handoff.FormatTime(r.Expires)
	}
	if !r.Lease.IsZero() {
		out.Lease = handoff.FormatTime(r.Lease)
	}
	return out
}
