package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/pflag"

	"githandoff/internal/app/survey"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/record"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// statusCommand is "status".
type statusCommand struct {
	*app
}

func newStatus(a *app) command {
	c := &statusCommand{app: a}
	return command{
		use:     "status",
		suggest: []string{"whoami"},
		short:   "Show the agent, the handoffs it holds, and those waiting",
		long: `Shows the agent of this worktree, the handoffs that it holds, and those that wait, as
this clone knows them; it asks no hub. States are those of "githandoff inbox": claimed
(an agent works on it), overdue (the lease of its claim ran out), sent (delivered;
nothing more is known), queued (waits in the outbox), undecided (waits for a person),
early (dated ahead of the clock here: nobody can take it before that time). If somebody
else ended a claim, status names it with the step that ended it, until "githandoff sync"
closes it.

With --json it prints one object.`,
		example: []string{
			"githandoff status",
			"githandoff status --json",
		},
		flags: func(f *pflag.FlagSet) {
			f.Bool("local", true, "no effect: status never asks a hub")
		},
		run: c.run,
	}
}

func (c *statusCommand) run(ctx context.Context) error {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	if ws.Agent == "" {
		_, err := c.identity(ws.Repo)
		return err
	}
	h := survey.New(ws)
	look := func(most int) (*survey.Survey, *status, error) {
		s, err := h.Survey(ctx, c.Now(), most)
		if err != nil {
			return nil, nil, err
		}
		out := c.statusOf(ws, s)
		if len(out.Held)+len(out.Elsewhere)+len(out.Open)+len(out.Sent) == 0 {
			adviseNothingOf(c.app, ws, ws.Agent)
		}
		return s, out, nil
	}
	const most = max(mostSent, mostListed)
	return paged(ctx, c.app, ws.Repo, func() error {
		if !c.Terminal() {
			return c.Print(func() (any, error) {
				_, out, err := look(math.MaxInt)
				return out, err
			}, func(t *output.Lines) error {
				_, out, err := look(most)
				if err == nil {
					out.print(t)
				}
				return err
			})
		}
		s, out, err := look(most)
		if err != nil {
			return err
		}
		ends, err := ws.Ends(ctx)
		if err != nil {
			return err
		}
		c.screen(out, h.Goals(ctx, s), ends)
		return nil
	})
}

// status is the JSON object of "status". Its members are stable.
type status struct {
	Agent     string         `json:"agent"`     // agent of this worktree
	Repo      string         `json:"repo"`      // repo id
	Held      []heldRow      `json:"held"`      // claims that this worktree recorded
	Elsewhere []elsewhereRow `json:"elsewhere"` // claims of the agent in other worktrees of the clone
	Kept      []keptRow      `json:"kept"`      // steps waiting for their hub
	Waiting   int            `json:"waiting"`   // handoffs waiting for the agent
	Undecided int            `json:"undecided"` // handoffs waiting for a decision
	Stale     int            `json:"stale"`     // handoffs in the agent's inboxes, held elsewhere with an expired lease
	Expired   int            `json:"expired"`   // expired handoffs in the agent's inboxes
	Early     int            `json:"early"`     // handoffs in the agent's inboxes or for nobody, and dated ahead of the clock here
	Refused   int            `json:"refused"`   // handoffs in the agent's inboxes that cannot be read
	Queued    int            `json:"queued"`    // handoffs in the outbox of this clone
	Sent      []statusRow    `json:"sent"`      // handoffs sent by the agent, without a known receipt
	Hubs      []hubRow       `json:"hubs"`      // other repositories
	Open      []statusRow    `json:"open"`      // handoffs counted above

	allSent int // number of sent handoffs, of which the text shows the first
}

// statusRow is a handoff, with the alias of its home.
type statusRow struct {
	row
	Alias string `json:"alias,omitempty"` // alias of its home, empty for this repository

	at string // the alias, or the id of a home to which none leads
}

func (c *statusCommand) row(ws *workspace.Workspace, r row, alias string) statusRow {
	return statusRow{r, alias, nameOfHome(ws, alias, r.Home)}
}

// heldRow is a claim recorded by this worktree.
type heldRow struct {
	statusRow
	Shown   bool   `json:"shown"`              // its content was printed
	EndedBy string `json:"ended_by,omitempty"` // who ended it meanwhile
	EndedAt string `json:"ended_at,omitempty"` // when it was ended meanwhile

	Snapshot string `json:"snapshot,omitempty"` // commit of its snapshot

	Unconfirmed bool `json:"unconfirmed,omitempty"` // this clone has not seen the claim at its home

	work *handoff.Work
}

// elsewhereRow is a claim recorded by another worktree.
type elsewhereRow struct {
	ID       handoff.ID `json:"id"`                 // handoff
	State    string     `json:"state"`              // "claimed", or "overdue" after the lease
	Worktree string     `json:"worktree,omitempty"` // directory of the worktree; left out if it was removed
	Missing  bool       `json:"missing,omitempty"`  // its files are missing, and git has neither forgotten nor locked it
	Lease    string     `json:"lease"`              // when the claim runs out
}

// keptRow is a step waiting for its hub.
type keptRow struct {
	ID    handoff.ID   `json:"id"`    // handoff
	Event record.Event `json:"event"` // kept step
	At    string       `json:"at"`    // when it was taken
}

// hubRow is another repository, and when this clone read it last.
type hubRow struct {
	Alias string `json:"alias"`           // short name
	Repo  string `json:"repo"`            // repo id
	AsOf  string `json:"as_of,omitempty"` // when this clone read it last
}

func (c *statusCommand) statusOf(ws *workspace.Workspace, s *survey.Survey) *status {
	out := &status{
		Agent: ws.Agent, Repo: ws.Local.RepoID, Held: []heldRow{}, Elsewhere: []elsewhereRow{}, Kept: []keptRow{}, Sent: []statusRow{}, Hubs: []hubRow{}, Open: []statusRow{},
		Waiting: s.Waiting, Undecided: s.Undecided, Stale: s.Stale, Expired: s.Expired, Early: s.Early, Refused: s.Refused, Queued: s.Queued, allSent: s.AllSent,
	}
	for _, one := range s.Held {
		out.Held = append(out.Held, c.held(ws, one))
	}
	for _, one := range s.Elsewhere {
		h := one.Claim
		out.Elsewhere = append(out.Elsewhere, elsewhereRow{h.ID, one.WordAt(c.Now()), one.Worktree, one.Missing, handoff.FormatTime(h.Lease)})
	}
	for _, h := range s.Kept {
		out.Kept = append(out.Kept, keptRow{h.ID, h.Pending.Event, handoff.FormatTime(h.Pending.At)})
	}
	for _, one := range s.Sent {
		out.Sent = append(out.Sent, c.sent(ws, one))
	}
	for _, it := range s.Items {
		out.Open = append(out.Open, c.row(ws, itemRow(it, c.Now()), goesTo(ws, it)))
	}
	for _, seen := range s.Hubs {
		r := hubRow{Alias: seen.Alias.Name, Repo: seen.Alias.RepoID}
		if !seen.Latest.IsZero() {
			r.AsOf = handoff.FormatTime(seen.Latest.UTC())
		}
		out.Hubs = append(out.Hubs, r)
	}
	return out
}

func (c *statusCommand) held(ws *workspace.Workspace, one *survey.Recorded) heldRow {
	h := one.Claim
	r := heldRow{statusRow: c.row(ws, row{
		ID: h.ID, State: one.WordAt(c.Now()), To: h.Agent, Home: h.Home, At: handoff.FormatTime(h.At), Actor: h.Actor,
		Lease: handoff.FormatTime(h.Lease), Principal: h.Principal, Token: h.Token,
	}, ws.AliasOf(one.Home)), Shown: h.Printed, work: one.Work}
	if one.State != nil && one.State.Offer != nil {
		offer := one.State.Offer
		r.From, r.Task, r.Parent, r.Digest, r.Expires = offer.From, offer.Task, offer.Parent, offer.Digest, handoff.FormatTime(offer.Expires)
		r.Commit = one.State.Tip
	}
	r.Unconfirmed = one.Unconfirmed()
	if one.Over != nil {
		r.EndedBy, r.EndedAt = one.Over.Actor, handoff.FormatTime(one.Over.At)
	}
	if one.Work != nil {
		r.Snapshot = one.Work.Commit
	}
	if one.Live != nil {
		r.Scope, r.Until = one.Live.Token.Scope(), handoff.FormatTime(one.Live.Token.Expires())
	} else if f := fault.As(one.Lapsed); f != nil {
		r.Lapsed = string(f.Reason)
	}
	return r
}

func (c *statusCommand) sent(ws *workspace.Workspace, one *survey.Sent) statusRow {
	rec, state := one.Offer, "sent"
	if one.Tip != nil {
		rec, state = one.Tip.Record, one.Tip.WordAt(c.Now())
	}
	r := c.row(ws, rowOf(rec, state), ws.AliasOf(one.Home))
	r.To = one.Agent
	if one.Tip != nil {
		r.Ref, r.Commit = one.Tip.Ref, one.Tip.Commit
	}
	return r
}

// revoked reports whether the token of the claim was revoked. One that ran out ends the lease as well.
func (h *heldRow) revoked() bool { return h.Lapsed == string(fault.Revoked) }

func (h *heldRow) line() string {
	if h.EndedBy != "" {
		return fmt.Sprintf("%s %s by %s at %s: stop working on it", h.State, h.ID, untrusted.Name(h.EndedBy), h.EndedAt)
	}
	text := h.State
	switch {
	case h.Unconfirmed:
		text = "claim not confirmed by its home yet (githandoff resume " + h.ID.Short() + "):"
	case !h.Shown:
		text = "claimed, not shown yet"
	}
	text += " " + string(h.ID)
	if h.From != "" {
		text += " from " + untrusted.Name(h.From)
	}
	if untrusted.IsTask(h.Task) {
		text += ", task " + h.Task + ","
	}
	text += " " + untilOrSince(h.State) + " " + h.Lease + onBehalfOf(h.Principal)
	if h.revoked() {
		text += ", whose authority was revoked"
	}
	if h.work != nil {
		text += ", with a snapshot of " + workLine(h.work)
	}
	return text
}

func (r *elsewhereRow) line() string {
	if r.Worktree == "" {
		return fmt.Sprintf("%s in a removed worktree: %s %s %s (githandoff resume %s)", r.State, r.ID, untilOrSince(r.State), r.Lease, r.ID.Short())
	}
	return fmt.Sprintf("%s in %s: %s %s %s", r.State, r.where(), r.ID, untilOrSince(r.State), r.Lease)
}

// where names the worktree. If its files are missing, it names the command that forgets it.
func (r *elsewhereRow) where() string {
	if r.Missing {
		mend := "which is missing (git worktree remove, if it was deleted)"
		if work.OnlyGitMissing(r.Worktree) {
			mend = "whose file .git is missing (git worktree repair)"
		}
		return untrusted.Line(r.Worktree) + ", " + mend
	}
	return untrusted.Line(r.Worktree)
}

func (r *statusRow) line() string {
	text := fmt.Sprintf("sent %s to %s", r.ID, untrusted.Line(r.place()))
	switch {
	case r.State == "sent":
		return text + ": no receipt that counts here yet (githandoff sync)"
	case r.Lease != "":
		return fmt.Sprintf("%s: %s by %s %s %s", text, r.State, untrusted.Name(r.Actor), untilOrSince(r.State), r.Lease)
	}
	return text + ": " + r.State
}

// untilOrSince returns the word before the end of a lease.
func untilOrSince(state string) string {
	if state == "overdue" {
		return "since"
	}
	return "until"
}
