package decide

import (
	"context"
	"fmt"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/receipt"
	"githandoff/internal/record"
	"githandoff/internal/screen"
	"githandoff/internal/successor"
	"githandoff/internal/workspace"
)

// Case is a handoff waiting, or once waiting, for a decision.
type Case struct {
	Home     lifecycle.Home
	State    *lifecycle.State
	Verified *lifecycle.Verified // nil if the handoff has ended
}

// Case finds the handoff of a decision, freshly: by id or last characters, or without one the
// only waiting handoff.
func (h *Handler) Case(ctx context.Context, arg string) (*Case, error) {
	var f *workspace.View
	var err error
	if arg != "" {
		f, err = h.Workspace.Find(ctx, arg, workspace.Never)
	}
	if arg == "" || fault.CodeOf(err) == fault.NotFound {
		failed := h.Workspace.RefreshInboxes(ctx, false)
		f, err = h.undecided(ctx, arg)
		if fault.CodeOf(err) == fault.NotFound && len(failed) > 0 {
			return nil, failed[0] // the handoff may wait at a hub that did not answer
		}
		for _, why := range failed {
			h.Workspace.Warn(why)
		}
	}
	if err != nil {
		return nil, err
	}
	p := lifecycle.Place{Agent: handoff.Nobody, ID: f.State.ID}
	if err := f.Home.Refresh(ctx, lifecycle.WholeHandoffs(p)); err != nil {
		return nil, err
	}
	c := &Case{Home: f.Home}
	if c.State, err = h.Engine.Reader.LoadOrFetch(ctx, f.Home, p); err != nil || c.State.Receipt != nil {
		return c, err
	}
	if c.State.Phase() == lifecycle.Absent && f.Queued() {
		return c, f.ErrQueued()
	}
	c.Verified, err = h.Engine.Verifier.Verify(ctx, f.Home, c.State, lifecycle.Options{AllowExpired: true, Lapsed: true})
	return c, err
}

func (h *Handler) undecided(ctx context.Context, arg string) (*workspace.View, error) {
	if arg != "" {
		return h.Workspace.Find(ctx, arg, workspace.Never)
	}
	var ids []string
	err := h.Workspace.List(ctx, false, func(it *workspace.Item) error {
		if it.Place.Agent == handoff.Nobody {
			ids = append(ids, string(it.Place.ID))
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(ids) == 0:
		return nil, fault.New(fault.NotFound, fault.NothingPending, "nothing waits for a decision").
			WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists all open handoffs"))
	case len(ids) > 1:
		return nil, fault.New(fault.Usage, fault.AmbiguousID, "%d handoffs wait for a decision: %s", len(ids), strings.Join(ids[:min(len(ids), 5)], ", ")).
			WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists them"))
	}
	return h.Workspace.Find(ctx, ids[0], workspace.Never)
}

// Route moves a case into the inbox of an agent. With clarify the agent is asked to explain, not
// to take over; the record has this too.
//
// An agent gets only work of its kinds. A request for help or for an explanation is no such work.
func (h *Handler) Route(ctx context.Context, c *Case, to string, clarify bool) error {
	if env := c.Verified.Envelope(); env.Status != handoff.StatusBlocked && !clarify {
		if err := h.Policy.CheckRequest(ctx, "", to, env.Target.Request); err != nil {
			return err
		}
	}
	data := ""
	if clarify {
		var err error
		if data, err = (receipt.Results{Clarify: "true"}).Encode(); err != nil {
			return err
		}
	}
	s, err := h.Engine.Route(ctx, c.Home, lifecycle.Place{Agent: handoff.Nobody, ID: c.State.ID}, to, data)
	if err != nil {
		return err
	}
	c.State = s
	if h.Engine.Now().After(s.Offer.Expires) {
		h.Workspace.Warn(fmt.Errorf("handoff %s expired at %s: %s takes it only with --allow-expired", s.ID, handoff.FormatTime(s.Offer.Expires), to))
	}
	if h.Advise != nil {
		h.Advise(ctx, to, c.Home)
	}
	h.Receipts.Notes.Add(c.Verified.Envelope(), c.Verified.Sealed(), c.Home, s.Entries[len(s.Entries)-1].Record())
	h.Receipts.Notes.Try(ctx)
	return nil
}

// Clarify is the key, in the data of a routed record, for a request to explain.
const Clarify = "clarify"

// Reply is the answer of a person to the asking agent.
type Reply struct {
	Goal   string // what the agent is to do with Text
	Text   string // the answers, or the feedback
	Reason string
}

// SendBack ends a case with a child to its own source: the same work, with the reply as its
// summary. Its former summary is in the lineage. At one home this is one transaction.
func (h *Handler) SendBack(ctx context.Context, c *Case, r Reply) (*receipt.Result, error) {
	if err := screen.Text("reply", r.Text); err != nil {
		return nil, err
	}
	if err := h.Engine.Author.MayDecide(); err != nil {
		return nil, err
	}
	child, err := h.replyTo(c, r)
	if err != nil {
		return nil, err
	}
	a, err := h.Successors.Authority(c.Verified, false)
	if err != nil && !h.Successors.WarnUnauthorized(child.ID, err) {
		return nil, err
	}
	payload, err := h.Successors.Payload(ctx, c.Home, child, a, false, c.Verified.Sealed())
	if err != nil {
		return nil, err
	}
	p := lifecycle.Place{Agent: handoff.Nobody, ID: c.State.ID}
	done := &receipt.Result{Next: child.ID}
	done.State, err = h.Receipts.Withdraw(ctx, c.Home, p, record.Rerouted, lifecycle.Outcome{
		Next: child.ID, Child: payload, LocalEdits: h.Receipts.OutgoingRefs(ctx, p),
	})
	return done, err
}

func (h *Handler) replyTo(c *Case, r Reply) (*handoff.Envelope, error) {
	env := c.Verified.Envelope()
	child, err := h.Successors.Child(c.Verified, &env.Source.Agent, c.Home, r.Reason)
	if err != nil {
		return nil, err
	}
	// A person signs, and the agent goes on under its own name: its earlier skills are no
	// account of the work to come.
	child.Source.Agent = env.Source.Agent
	child.Target.Request = ""
	child.Skills, child.FilesVerified, child.Origin = nil, nil, nil
	child.Goal, child.Summary = r.Goal+": "+successor.FirstLine(env.Goal, env.Summary), r.Text
	return child, nil
}
