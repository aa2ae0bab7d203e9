// Package inspect finds handoffs and proves their content, for commands without changes: show,
// verify, obo show, work and skills check.
package inspect

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
	"githandoff/internal/policy"
	"githandoff/internal/refs"
	"githandoff/internal/sign"
	"githandoff/internal/teampolicy"
	"githandoff/internal/untrusted"
	"githandoff/internal/workspace"
)

// Workspace has the methods of the workspace needed to inspect.
type Workspace interface {
	Find(ctx context.Context, arg string, ask workspace.Asking) (*workspace.View, error)
	List(ctx context.Context, all bool, visit func(*workspace.Item) error) error
}

// Handler proves handoffs.
type Handler struct {
	Policy    *teampolicy.Reader
	Verifier  *lifecycle.Verifier
	Workspace Workspace
}

// New makes the handler of a workspace.
func New(w *workspace.Workspace) *Handler {
	return &Handler{Policy: teampolicy.New(w), Verifier: w.Engine.Verifier, Workspace: w}
}

// Show finds a handoff and proves it. The content is nil if the handoff has ended, or is only
// known as sent here. The view is returned even if the content cannot be proven.
func (h *Handler) Show(ctx context.Context, arg string) (*workspace.View, *lifecycle.Verified, error) {
	f, err := h.find(ctx, arg)
	if err != nil {
		return nil, nil, err
	}
	s, absent := f.State, f.State.Phase() == lifecycle.Absent
	switch {
	case absent && s.Early != nil:
		return f, nil, s.Err()
	case isProvenHere(f):
	case absent && s.Unlogged(), s.Phase() == lifecycle.Disputed:
		return f, nil, s.Err()
	case s.Phase() == lifecycle.Ended, s.Tip == "":
		return f, nil, nil
	}
	v, err := h.prove(ctx, f, lifecycle.Options{AllowExpired: true, AsKnown: true, Lapsed: true})
	return f, v, err
}

// isProvenHere reports whether a handoff waits in the outbox: its hub need not answer to prove it.
func isProvenHere(f *workspace.View) bool { return f.Queued() && f.Home != nil }

// prove proves the content of a handoff.
func (h *Handler) prove(ctx context.Context, f *workspace.View, o lifecycle.Options) (*lifecycle.Verified, error) {
	if isProvenHere(f) {
		return h.Verifier.VerifyQueued(ctx, f.Home, f.Item.Ref)
	}
	return h.Verifier.Verify(ctx, f.Home, f.State, o)
}

// Check is the outcome for one handoff.
type Check struct {
	ID     handoff.ID
	State  string // word of [workspace.View], or "undecided"
	Sealed error  // why the content cannot be read here; everything else was checked
	Err    error
}

// Verify checks one handoff, or every open one if arg is empty.
func (h *Handler) Verify(ctx context.Context, arg string, report func(Check) error) error {
	if arg != "" {
		f, err := h.find(ctx, arg)
		if err != nil {
			return err
		}
		return report(h.check(ctx, f))
	}
	var hubs []lifecycle.Home
	behind := map[lifecycle.Home][]lifecycle.Place{}
	err := h.Workspace.List(ctx, true, func(it *workspace.Item) error {
		if it.Kind != refs.KindInbox {
			return nil
		}
		s, err := h.Verifier.Reader.Load(ctx, it.Home, it.Place)
		switch {
		case err != nil:
			return report(Check{ID: it.Place.ID, Err: err})
		case it.Behind(s):
			if behind[it.Home] == nil {
				hubs = append(hubs, it.Home)
			}
			behind[it.Home] = append(behind[it.Home], it.Place)
			return nil
		}
		return report(h.check(ctx, &workspace.View{Home: it.Home, State: s}))
	})
	for _, hub := range hubs {
		err = cmp.Or(err, h.verifyBehind(ctx, hub, behind[hub], report))
	}
	return err
}

// find fails if only a hub that was not read can tell whether the handoff was logged.
func (h *Handler) find(ctx context.Context, arg string) (*workspace.View, error) {
	f, err := h.Workspace.Find(ctx, arg, workspace.IfUnknown)
	if err == nil && f.Unread != nil {
		return nil, f.Unread
	}
	return f, err
}

// verifyBehind checks handoffs of a hub whose lanes were copied before its inboxes: a fetch of an
// inbox need not bring the lanes.
func (h *Handler) verifyBehind(ctx context.Context, home lifecycle.Home, places []lifecycle.Place, report func(Check) error) error {
	down := home.Refresh(ctx, lifecycle.WholeHandoffs(places...))
	for _, p := range places {
		c := Check{ID: p.ID}
		s, err := h.Verifier.Reader.Load(ctx, home, p)
		switch {
		case err != nil:
			c.Err = err
		case down != nil && fault.Is(s.Err(), fault.Unfinished):
			c.Err = down // only the hub can tell whether the offer was logged
		case s.Tip == "" && s.Receipt == nil: // the offer was withdrawn before it was logged
			continue
		default:
			c = h.check(ctx, &workspace.View{Home: home, State: s})
		}
		if err := report(c); err != nil {
			return err
		}
	}
	return nil
}

func (h *Handler) check(ctx context.Context, f *workspace.View) Check {
	c := Check{ID: f.State.ID, State: f.Word()}
	switch {
	case f.State.Receipt != nil:
		return c
	case workspace.Undecided(f.State):
		c.State = "undecided"
	}
	_, err := h.prove(ctx, f, lifecycle.Options{AllowExpired: true})
	if errors.Is(err, sign.ErrSealed) {
		c.Sealed = err
	} else {
		c.Err = err
	}
	return c
}

// Tokens proves a handoff, by default the held one, and reads its tokens from the person's to
// the last.
func (h *Handler) Tokens(ctx context.Context, arg string) (*lifecycle.Verified, []*obo.Claims, error) {
	f, err := h.Workspace.Find(ctx, arg, workspace.Never)
	if err != nil {
		return nil, nil, err
	}
	v, err := h.prove(ctx, f, lifecycle.Options{AllowExpired: true, Lapsed: true})
	if err != nil {
		return nil, nil, err
	}
	if len(v.Links()) == 0 {
		return nil, nil, fault.New(fault.NotFound, fault.NoToken, "handoff %s carries no token", f.State.ID).
			WithHints(fault.See("obo issue").Because("a person lends authority to a waiting handoff"))
	}
	var chain []*obo.Claims
	for _, l := range v.Links() {
		c, err := obo.Decode(l.Token)
		if err != nil {
			return nil, nil, err
		}
		chain = append(chain, c)
	}
	return v, chain, nil
}

// SkillReport compares the skills invoked by the source of a handoff with the mandatory ones.
type SkillReport struct {
	policy.SkillReport
	ID    handoff.ID
	Agent string // agent that did the work
}

// Skills makes the report of a handoff. If the handoff has ended, its receipt names the missing
// skills, and nothing else is known. A missing skill is an error beside the report.
func (h *Handler) Skills(ctx context.Context, arg string) (*SkillReport, error) {
	f, err := h.Workspace.Find(ctx, arg, workspace.Never)
	if err != nil {
		return nil, err
	}
	var found *SkillReport
	if r := f.State.Receipt; r != nil {
		found = &SkillReport{ID: r.ID, Agent: r.From}
		if r.SkillsMissing != "" {
			found.Missing = strings.Split(r.SkillsMissing, ", ")
		}
	} else {
		v, err := h.prove(ctx, f, lifecycle.Options{AllowExpired: true, AsKnown: true, Lapsed: true})
		if err != nil {
			return nil, err
		}
		found = &SkillReport{ID: v.Offer().ID, Agent: v.Offer().From}
		if found.SkillReport, err = h.Policy.Skills(ctx, v.Envelope()); err != nil {
			return nil, err
		}
		found.Mandatory, found.Invoked = append([]string{}, found.Mandatory...), append([]string{}, found.Invoked...)
	}
	if len(found.Missing) > 0 {
		err = fault.New(fault.Policy, fault.SkillMissing, "%s does not report that it invoked %s", found.Agent, untrusted.Words(found.Missing))
	}
	return found, err
}
