package emit

import (
	"context"
	"fmt"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
	"githandoff/internal/sign"
	"githandoff/internal/untrusted"
)

// Wanted says what the receiver shall be allowed to do.
type Wanted struct {
	OnBehalfOf      string // mail address or principal of a person
	Scope, Audience []string
	None            bool // no authority, even under a held token: a commit message gives none
}

// Asked reports whether the authority is required: without it nothing is sent.
func (f *Wanted) Asked() bool {
	return f.OnBehalfOf != "" || len(f.Scope) > 0 || len(f.Audience) > 0
}

// Authority finds the authority of a handoff: a token derived from the parent's, if this worktree
// holds the parent, or else a first token by a root key of the principal. The root key is
// returned unless it is the signing key anyway.
func (s *Handler) Authority(ctx context.Context, parent handoff.ID, f *Wanted) (*RootSigner, *lifecycle.Authority, error) {
	if f.None {
		return nil, nil, nil
	}
	want := &lifecycle.Authority{Principal: handoff.Principal(f.OnBehalfOf), Scope: f.Scope}
	for _, scope := range f.Scope {
		if _, err := obo.ParseScope(scope); err != nil {
			return nil, nil, err
		}
		if err := obo.Doubt(scope); err != nil {
			s.Workspace.Warn(fmt.Errorf("--scope %w", err))
		}
	}
	for _, alias := range f.Audience {
		hub, err := s.Workspace.Hub(ctx, alias)
		if err != nil {
			return nil, nil, err
		}
		want.Audience = append(want.Audience, hub.ID())
	}
	var err error
	want.Above, err = s.heldToken(ctx, parent)
	switch {
	case err != nil && f.Asked():
		return nil, nil, err
	case err != nil:
		s.Workspace.Warn(err)
		return nil, nil, nil
	case want.Above != nil:
		return nil, want, nil
	case !f.Asked():
		return nil, nil, nil
	case f.OnBehalfOf == "":
		return nil, nil, s.noneHeldError(parent)
	case len(f.Scope) == 0:
		return nil, nil, fault.New(fault.Usage, fault.BadUsage, "--on-behalf-of needs --scope: name the actions that are allowed").
			WithHints(fault.SeeAll("emit").Because("--scope takes an action and its target, such as repo.write:src/auth/*"))
	}
	root, err := s.asRoot(want.Principal)
	return root, want, err
}

// noneHeldError refuses to pass on authority that is not held.
func (s *Handler) noneHeldError(parent handoff.ID) error {
	if _, err := s.Work.Current(); parent == "" && fault.Is(err, fault.AmbiguousID) {
		return fault.As(err).WithHints(fault.SeeAll("emit").Because("--parent names the handoff whose authority is passed on"))
	}
	return fault.New(fault.Usage, fault.BadUsage, "a scope or an audience passes on authority, and no held handoff carries any").
		WithHints(fault.SeeAll("emit").Because("--on-behalf-of names the person who lends authority"))
}

// asRoot lets a root key of the principal sign: the signing key named by --as, --key or this
// worktree. Any other is used only if a person types its passphrase, so an agent cannot lend
// itself the authority of its user.
func (s *Handler) asRoot(principal string) (*RootSigner, error) {
	if s.Engine.Author.SpeaksFor(principal) {
		return nil, nil
	}
	refusal := fault.New(fault.Denied, fault.UntrustedRoot, "no root key of %s is available here", untrusted.Line(principal))
	for _, key := range sign.KeysOf(s.Engine.Keys.Trust) {
		if !key.SpeaksFor(principal) || key.ValidAt(s.Engine.Now()) != nil {
			continue
		}
		locked, err := s.Keystore.Locked(key.KID())
		switch {
		case fault.Is(err, fault.NoKey):
		case err != nil:
			return nil, err
		case locked:
			signer, err := s.Keystore.Load(key.KID())
			if err != nil {
				return nil, err
			}
			return &RootSigner{signer, actorOf(principal, s.Engine.Author.Actor)}, nil
		default:
			refusal = fault.New(fault.Denied, fault.UntrustedRoot, "the root key of %s is used only if it is named", untrusted.Line(principal))
		}
	}
	return nil, refusal.WithHints(fault.Fact("ask %s: people lend authority from a worktree of their own, with --as or --key", strings.TrimPrefix(principal, "user:")))
}

// actorOf returns the author of a root key's commits: the person, if the principal is a valid
// author name.
func actorOf(principal, agent string) string {
	if name := strings.TrimPrefix(principal, "user:"); strings.Contains(name, "@") || handoff.CheckAgent(name) == nil {
		return name
	}
	return agent
}

// issueHint returns the command that gives a handoff the requested authority.
func issueHint(id handoff.ID, f *Wanted) fault.Hint {
	if f.OnBehalfOf == "" || len(f.Scope) == 0 {
		return fault.See("obo issue").Because("gives %s authority", id)
	}
	argv := []string{"githandoff", "obo", "issue", string(id), "--on-behalf-of", f.OnBehalfOf}
	for _, s := range f.Scope {
		argv = append(argv, "--scope", s)
	}
	for _, alias := range f.Audience {
		argv = append(argv, "--audience", alias)
	}
	return fault.Run(argv...).Because("gives that handoff the authority")
}

// heldToken returns a handoff whose authority this worktree can pass on: it holds the handoff,
// the lease has not ended, and the token is valid now. Nil if it does not hold the id, or if the
// handoff carries no authority. The home is asked; if it is down, its last known state counts.
func (s *Handler) heldToken(ctx context.Context, id handoff.ID) (*lifecycle.Verified, error) {
	if id == "" {
		return nil, nil
	}
	h, err := s.Claims.Get(id)
	if err != nil || h == nil || h.Ended || h.Token == "" {
		return nil, err
	}
	home, err := s.Workspace.Home(ctx, h.Home)
	if err != nil {
		return nil, err
	}
	opt := lifecycle.Options{AllowExpired: true}
	switch err := home.Refresh(ctx, lifecycle.WholeHandoffs(h.Place())); {
	case fault.CodeOf(err) == fault.Unavailable:
		opt.AsKnown = true
	case err != nil:
		return nil, err
	}
	state, err := s.Engine.Reader.Load(ctx, home, h.Place())
	if err != nil {
		return nil, err
	}
	switch {
	case state.Receipt != nil:
		return nil, state.Err()
	case !h.Is(state.Claim) || state.Overdue(s.Engine.Now()):
		return nil, fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s has ended, and its authority cannot be passed on", id).
			WithHints(fault.Run("githandoff", "resume", string(id)).Because("takes it again"))
	}
	return s.Engine.Verifier.Verify(ctx, home, state, opt)
}

// passedOn prepares a payload. If it carries on the authority of a held handoff, the log of that
// handoff gets an entry first, before anything of the new one is written.
func (s *Handler) passedOn(ctx context.Context, em Request) (*lifecycle.Payload, error) {
	p, err := s.Successors.Payload(ctx, em.Home, em.Envelope, em.Authority, em.Asked, em.Seal)
	if err != nil || p.Record.Token == "" || em.Authority.Above == nil {
		return p, err
	}
	err = s.delegate(ctx, em.Authority.Above.State().ID, p.Record.ID)
	if err != nil && !em.Asked && s.Successors.WarnUnauthorized(p.Record.ID, err) {
		return s.Successors.Payload(ctx, em.Home, em.Envelope, nil, false, em.Seal)
	}
	return p, err
}

func (s *Handler) delegate(ctx context.Context, parent, child handoff.ID) error {
	h, err := s.Claims.Get(parent)
	if err != nil {
		return err
	}
	if h == nil {
		return fault.New(fault.Conflict, fault.NotHolder, "the claim on handoff %s was lost", parent)
	}
	home, err := s.Workspace.Home(ctx, h.Home)
	if err != nil {
		return err
	}
	_, err = s.Engine.Delegate(ctx, home, h.Proof(), child)
	return err
}
