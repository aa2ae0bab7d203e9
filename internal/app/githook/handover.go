package githook

import (
	"context"
	"slices"
	"strings"
	"time"

	"githandoff/internal/fault"
	"githandoff/internal/gitexec"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/refs"
	"githandoff/internal/untrusted"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// Order is a handoff to send, in the name of this worktree's agent and without authority:
// neither the text of a commit nor a file carries any. It is left in the outbox, since a commit
// waits for no network.
type Order struct {
	ID       handoff.ID
	To       string // target; "" for the agent that the draft names
	Snapshot string // value of Handoff-Snapshot: yes, no, or ""
}

// Sender sends handoffs and renews claims.
type Sender interface {
	Agent() string
	IsHere(repoID string) bool // whether this repository has that id
	Exists(ctx context.Context, id handoff.ID) (bool, error)

	// Send reports whether the handoff is durable, also beside an error.
	Send(ctx context.Context, env *handoff.Envelope, o Order) (durable bool, err error)
	Renew(ctx context.Context, claim *work.Claim) error
}

// Handover does the work of post-commit: it hands over what a commit and the draft of the
// worktree say, and renews leases.
type Handover struct {
	Repo     *refs.Repo
	Identity []string // variables of the process that name the committer
	Now      func() time.Time
	Open     func(ctx context.Context) (Sender, error) // called only if there is work
	Draft    func(document []byte) (*handoff.Envelope, error)

	// Briefly runs a function for a short time only: git waits for hubs.
	Briefly func(ctx context.Context, do func(context.Context) error) error

	Say  func(format string, args ...any)
	Hint func(...fault.Hint)
	Warn func(error)
}

// Again is the hint for a PostCommit that could not read the commit, because git was ended.
func Again() fault.Hint {
	return fault.Run("githandoff", "hook", "run", "post-commit").Because("hands over what the commit asks, if this did not")
}

// PostCommit runs after each commit. An error in one part does not stop the others.
func (h *Handover) PostCommit(ctx context.Context) error {
	c, amended, err := own(ctx, h.Repo, h.Identity)
	if err != nil {
		h.Warn(err)
	}
	if gitexec.Unexplained(err) {
		h.Hint(Again())
	}
	if amended != nil {
		h.sayAmended(amended)
	}
	draft := h.draftPath(ctx)
	due, err := h.dueClaims()
	if err != nil {
		h.Warn(err)
	}
	if c == nil && draft == "" && len(due) == 0 {
		return nil
	}
	s, err := h.Open(ctx)
	if err != nil {
		return err
	}
	if draft != "" {
		if err := h.sendDraft(ctx, s, draft, c); err != nil {
			h.refused(err)
		}
	}
	if c != nil {
		for _, to := range c.To {
			id := c.ID(to)
			err := h.early(id, c.emit(to, h.Repo.Head).Because("hands it over with the current time"))
			if err == nil {
				_, err = h.once(ctx, s, c.Envelope(), Order{ID: id, To: to, Snapshot: c.Snapshot})
			}
			if f := fault.As(err); f != nil && f.Code == fault.Invalid && len(f.Hints) == 0 {
				err = f.WithHints(fault.See("emit").Because("has flags for what trailers cannot say"))
			}
			if err != nil {
				h.refused(fault.About("Handoff-To: "+to, err))
			}
		}
	}
	return h.renew(ctx, s, due)
}

// refused warns of an error and prints its hints.
func (h *Handover) refused(err error) {
	h.Warn(err)
	if f := fault.As(err); f != nil {
		h.Hint(f.Hints...)
	}
}

// early refuses an id whose time, that of a commit or a file, is ahead of the clock here: no reader
// counts an offer that is older than its id.
func (h *Handover) early(id handoff.ID, hint fault.Hint) error {
	at := id.Time()
	if !at.After(h.Now().Add(lifecycle.ClockSkew)) {
		return nil
	}
	return fault.New(fault.Invalid, fault.Malformed, "it is dated %s, ahead of the clock here", handoff.FormatTime(at)).WithHints(hint)
}

// once sends a draft unless a handoff of its id exists or existed.
func (h *Handover) once(ctx context.Context, s Sender, env *handoff.Envelope, o Order) (durable bool, err error) {
	switch strings.ToLower(o.Snapshot) {
	case "", "yes", "no":
	default:
		return false, fault.New(fault.Usage, fault.BadUsage, "Handoff-Snapshot: %s: want yes or no", untrusted.Line(o.Snapshot))
	}
	switch there, err := s.Exists(ctx, o.ID); {
	case err != nil:
		return false, err
	case there:
		h.Say("githandoff: %s was already handed over", o.ID)
		return true, nil
	}
	return s.Send(ctx, env, o)
}

// sayAmended says that an amended commit hands nothing over, and names the commands that do.
func (h *Handover) sayAmended(c *Commit) {
	h.Say("githandoff: an amended commit hands nothing over, but the text of this one changed")
	for _, to := range c.To[:min(len(c.To), fault.MaxHints)] {
		h.Hint(c.emit(to, h.Repo.Head).Because("hands over what the amended commit says"))
	}
}

// emit returns the command that sends the commit head in its amended form. A hint is one line, so it leaves out texts
// of several lines: the receiver is shown the commit.
func (c *Commit) emit(to, head string) fault.Hint {
	const most = 200 // bytes of one text
	literal := func(s string) string {
		if strings.HasPrefix(s, "@") {
			return "@" + s // for emit, @@ begins a text that begins with @
		}
		return s
	}
	env := c.Envelope()
	argv := []string{"githandoff", "emit", "--to", to, "--commit", head}
	for _, part := range []struct{ flag, text string }{
		{"--task", env.Task}, {"--goal", literal(env.Goal)}, {"--summary", literal(env.Summary)}, {"--status", c.Status},
	} {
		if part.text != "" && part.text == untrusted.Line(part.text) && len(part.text) <= most {
			argv = append(argv, part.flag, part.text)
		}
	}
	if strings.EqualFold(c.Snapshot, "yes") {
		argv = append(argv, "--snapshot")
	}
	return fault.Run(argv...)
}

// dueClaims lists the claims whose lease is half over.
func (h *Handover) dueClaims() ([]*work.Claim, error) {
	held, err := work.ClaimsOf(h.Repo).Held()
	return slices.DeleteFunc(held, func(claim *work.Claim) bool {
		return !claim.Printed || !h.Now().After(claim.At.Add(claim.Lease.Sub(claim.At)/2))
	}), err
}

// renew renews the leases of this agent: first those at this repository, then those at hubs.
func (h *Handover) renew(ctx context.Context, s Sender, due []*work.Claim) error {
	renew := func(ctx context.Context, claim *work.Claim) {
		if err := s.Renew(ctx, claim); err != nil {
			h.Warn(fault.About("renew the lease of "+string(claim.ID), err))
		}
	}
	var afar []*work.Claim
	for _, claim := range due {
		switch {
		case claim.Actor != s.Agent():
		case s.IsHere(claim.Home):
			renew(ctx, claim)
		default:
			afar = append(afar, claim)
		}
	}
	if len(afar) == 0 {
		return nil
	}
	return h.Briefly(ctx, func(ctx context.Context) error {
		for _, claim := range afar {
			renew(ctx, claim)
		}
		return nil
	})
}

// Waiting lists the open handoffs in the inboxes of this agent, each once. It asks no hub.
func Waiting(ctx context.Context, ws *workspace.Workspace, now time.Time) ([]*workspace.Item, error) {
	var waiting []*workspace.Item
	seen := map[handoff.ID]bool{}
	err := ws.List(ctx, false, func(it *workspace.Item) error {
		if it.Waits(now) && !seen[it.Place.ID] {
			seen[it.Place.ID] = true
			waiting = append(waiting, it)
		}
		return nil
	})
	return waiting, err
}
