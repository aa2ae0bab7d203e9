package decide

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/policy"
	"githandoff/internal/receipt"
)

// Request is a decision about a waiting handoff. At most one of To, Approve, Answers and Reject
// is given. Without any, the policy of the team decides, or nobody.
type Request struct {
	ID       string // "" for the only waiting handoff
	To       string // agent that is to go on
	Approve  bool   // the agent named in the handoff is to go on
	Answers  []string
	Reject   bool
	Feedback string // feedback with a rejection
	By       string // agent or person who decides
}

// Outcome is the result of a request. Without any of its members set, the handoff was routed.
type Outcome struct {
	*Case
	Asks    bool            // a person has to decide
	Already bool            // an agent has the handoff already
	Reply   *receipt.Result // reply to the source, with the answers or the feedback; nil for none
}

// Decide carries out a request.
func (h *Handler) Decide(ctx context.Context, r *Request) (*Outcome, error) {
	c, err := h.Case(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	out := &Outcome{Case: c}
	switch {
	case c.State.Receipt != nil:
		return nil, errEnded(c.State)
	case c.State.To != handoff.Nobody:
		out.Already = true
		return out, routedAlready(c, r)
	case r.To != "":
		return out, h.Route(ctx, c, r.To, false)
	case r.Approve:
		return out, h.approve(ctx, c)
	case len(r.Answers) > 0:
		out.Reply, err = h.answer(ctx, c, r)
		return out, err
	case r.Reject:
		out.Reply, err = h.reject(ctx, c, r)
		return out, err
	}
	out.Asks, err = h.byPolicy(ctx, c)
	return out, err
}

// errEnded refuses a decision about an ended handoff. It names the handoff in which the work goes
// on.
func errEnded(s *lifecycle.State) error {
	err := fault.As(s.Err())
	if s.Receipt.Next != "" {
		err = err.WithHints(fault.Run("githandoff", "show", string(s.Receipt.Next)).Because("the work goes on in %s", s.Receipt.Next))
	}
	return err
}

// routedAlready refuses another decision about a handoff routed to an agent.
func routedAlready(c *Case, r *Request) error {
	named := c.Verified.Envelope().Target.Agent
	same := r.To == c.State.To || r.Approve && named != nil && *named == c.State.To
	decides := r.To != "" || r.Approve || len(r.Answers) > 0 || r.Reject
	if decides && !same {
		return c.State.ErrRouted()
	}
	return nil
}

// byPolicy lets the policy route a blocked handoff. It reports whether a person has to decide.
func (h *Handler) byPolicy(ctx context.Context, c *Case) (asks bool, err error) {
	env := c.Verified.Envelope()
	if env.Status != handoff.StatusBlocked {
		return true, nil
	}
	p, err := h.Policy.Read(ctx)
	if err != nil {
		return false, err
	}
	r := p.Route(env.Source.Agent, env.BlockedReason)
	if r.To == policy.Human {
		return true, nil
	}
	return false, h.Route(ctx, c, r.To, r.Clarify)
}

func (h *Handler) approve(ctx context.Context, c *Case) error {
	env := c.Verified.Envelope()
	switch {
	case env.Status != handoff.StatusNeedsReview:
		return errNotApplicable(c, "approved")
	case env.Target.Agent == nil:
		return fault.New(fault.Usage, fault.BadUsage, "%s names no agent", c.State.ID).
			WithHints(fault.See("route").Because("--to names the agent that goes on"))
	}
	return h.Route(ctx, c, *env.Target.Agent, false)
}

func (h *Handler) answer(ctx context.Context, c *Case, r *Request) (*receipt.Result, error) {
	env := c.Verified.Envelope()
	if !mayAnswer(env) {
		return nil, errNotApplicable(c, "answered")
	}
	text, err := answered(Questions(env), r.Answers)
	if err != nil {
		return nil, err
	}
	return h.SendBack(ctx, c, Reply{Goal: "Go on with the answers below", Text: text, Reason: "answered by " + r.By})
}

func (h *Handler) reject(ctx context.Context, c *Case, r *Request) (*receipt.Result, error) {
	if !mayReject(c.Verified.Envelope()) {
		return nil, errNotApplicable(c, "rejected")
	}
	if strings.TrimSpace(r.Feedback) == "" {
		return nil, fault.New(fault.Usage, fault.BadUsage, "--feedback is empty")
	}
	return h.SendBack(ctx, c, Reply{Goal: "Change it as the feedback below asks", Text: r.Feedback, Reason: "rejected by " + r.By})
}

// errNotApplicable refuses a decision which does not fit the status of the handoff.
func errNotApplicable(c *Case, what string) error {
	return fault.New(fault.Usage, fault.BadUsage, "%s is %s: it cannot be %s", c.State.ID, c.Verified.Envelope().Status, what).
		WithHints(fault.Run("githandoff", "route", string(c.State.ID)).Because("shows how to decide it"))
}

// Questions returns the questions to a person. A blocked handoff without questions asks with its
// reason.
func Questions(env *handoff.Envelope) []handoff.Question {
	if len(env.Questions) == 0 && env.Status == handoff.StatusBlocked {
		return []handoff.Question{{Question: env.BlockedReason, Options: []string{}}}
	}
	return env.Questions
}

// Way is a possible decision.
type Way struct {
	What  string // what the decision does
	Flags string // flags of route that take the decision
}

// Ways lists the decisions permitted by the status of a handoff.
func Ways(env *handoff.Envelope) []Way {
	var ways []Way
	if env.Status == handoff.StatusNeedsReview && env.Target.Agent != nil {
		ways = append(ways, Way{"Approve, and let " + *env.Target.Agent + " go on", "--approve"})
	}
	if mayAnswer(env) {
		ways = append(ways, Way{"Answer", strings.TrimSpace(strings.Repeat("--answer TEXT ", len(Questions(env))))})
	}
	if mayReject(env) {
		ways = append(ways, Way{"Reject", "--reject --feedback TEXT"})
	}
	return append(ways, Way{"Let somebody else go on", "--to AGENT"})
}

func mayAnswer(env *handoff.Envelope) bool {
	return env.Status == handoff.StatusBlocked || env.Status == handoff.StatusNeedsClarification
}

func mayReject(env *handoff.Envelope) bool {
	return env.Status == handoff.StatusNeedsReview || env.Status == handoff.StatusComplete
}

// answered writes each answer below its question. A number chooses an option.
func answered(questions []handoff.Question, answers []string) (string, error) {
	if len(answers) != len(questions) {
		return "", fault.New(fault.Usage, fault.BadUsage, "it asks %s, but --answer is given %s", fault.Count(len(questions), "question"), fault.Count(len(answers), "time")).
			WithHints(fault.Fact("each question takes one --answer, in their order"))
	}
	var b strings.Builder
	for i, q := range questions {
		text := answers[i]
		if n, err := strconv.Atoi(text); err == nil && len(q.Options) > 0 {
			if n < 1 || n > len(q.Options) {
				return "", fault.New(fault.Usage, fault.BadUsage, "--answer %d: question %d has the options 1 to %d", n, i+1, len(q.Options))
			}
			text = q.Options[n-1]
		}
		if strings.TrimSpace(text) == "" {
			return "", fault.New(fault.Usage, fault.BadUsage, "--answer: the answer to question %d is empty", i+1)
		}
		fmt.Fprintf(&b, "Question: %s\nAnswer: %s\n", clipped(q.Question), text)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// clipped returns a question as the reply repeats it: there must be room for the answer.
func clipped(s string) string {
	const most = 256 // bytes
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
