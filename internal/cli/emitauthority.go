package cli

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"githandoff/internal/app/emit"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/obo"
	"githandoff/internal/workspace"
)

// authorityFlags say what the receiver shall be allowed to do.
type authorityFlags struct {
	onBehalfOf      string
	scope, audience []string
	none            bool // whatever is held: a commit message gives no authority
}

func (f *authorityFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.onBehalfOf, "on-behalf-of", "", "let the receiver act for a person, `MAIL`; signed by that person's key")
	flags.StringArrayVar(&f.scope, "scope", nil, "what it may do, `ACTION[:TARGET]`, such as repo.write:src/auth/*; repeatable")
	flags.StringArrayVar(&f.audience, "audience", nil, "another repository where that holds, `ALIAS`; repeatable")
}

// asked: without that authority nothing is to be sent.
func (f *authorityFlags) asked() bool {
	return f.onBehalfOf != "" || len(f.scope) > 0 || len(f.audience) > 0
}

// authority works out what a handoff shall carry, and at whose desk it is
// signed: a token that follows from the parent's, where this worktree holds it,
// or else a first one, by a root key of the principal.
func (s *sender) authority(ctx context.Context, d *workspace.Workspace, parent handoff.ID, f *authorityFlags) (*workspace.Workspace, *lifecycle.Authority, error) {
	if f.none {
		return d, nil, nil
	}
	want := &lifecycle.Authority{Principal: principal(f.onBehalfOf), Scope: f.scope}
	for _, s := range f.scope {
		if _, err := obo.ParseScope(s); err != nil {
			return nil, nil, err
		}
	}
	for _, alias := range f.audience {
		hub, err := d.Hub(ctx, alias)
		if err != nil {
			return nil, nil, err
		}
		want.Audience = append(want.Audience, hub.ID())
	}
	var err error
	want.Above, err = emit.New(d).HeldToken(ctx, parent)
	switch {
	case err != nil && f.asked():
		return nil, nil, err
	case err != nil:
		s.Warn(err)
		return d, nil, nil
	case want.Above != nil:
		return d, want, nil
	case !f.asked():
		return d, nil, nil
	case f.onBehalfOf == "":
		return nil, nil, noneHeld(d, parent)
	case len(f.scope) == 0:
		return nil, nil, usage("--on-behalf-of goes with --scope: say what may be done").
			WithHints(fault.SeeAll("emit").Because("--scope takes an action and its target, such as repo.write:src/auth/*"))
	}
	d, err = s.deskOf(d, want.Principal)
	return d, want, err
}

// noneHeld refuses a part of an authority that is not there.
func noneHeld(d *workspace.Workspace, parent handoff.ID) error {
	if _, err := d.Work().Current(); parent == "" && fault.Is(err, fault.AmbiguousID) {
		return fault.As(err).WithHints(fault.SeeAll("emit").Because("--parent says whose authority is passed on"))
	}
	return usage("--scope and --audience pass authority on, and nothing is held that carries any").
		WithHints(fault.SeeAll("emit").Because("--on-behalf-of names the person who lends authority"))
}

// principal takes a bare mail address for that of a person.
func principal(s string) string {
	if s == "" || strings.Contains(s, ":") {
		return s
	}
	return "user:" + s
}

// deskOf lets a root key of the principal sign: the one that signs anyway, which --as, --key
// or this worktree names. One that nobody named is used only where a person types its
// passphrase: an agent does not lend itself the authority of whoever runs it.
func (s *sender) deskOf(d *workspace.Workspace, principal string) (*workspace.Workspace, error) {
	if d.Engine.SpeaksFor(principal) {
		return d, nil
	}
	refusal := fault.New(fault.Denied, fault.UntrustedRoot, "no root key of %s is at hand", printable(principal))
	for _, e := range d.Engine.Trust.Entries() {
		key, ok := d.Engine.Trust.Lookup(e.KID)
		if !ok || !key.SpeaksFor(principal) || key.ValidAt(s.Now()) != nil {
			continue
		}
		locked, err := s.keystore().Locked(e.KID)
		switch {
		case fault.Is(err, fault.NoKey):
		case err != nil:
			return nil, err
		case locked:
			signer, err := s.keystore().Load(e.KID)
			if err != nil {
				return nil, err
			}
			return d.As(signer, actorOf(principal, d.Engine.Actor)), nil
		default:
			refusal = fault.New(fault.Denied, fault.UntrustedRoot, "the root key of %s is not used unasked: it was not named", printable(principal))
		}
	}
	return nil, refusal.WithHints(fault.Fact("ask %s: a person lends authority in a worktree of their own, by --as or with --key", strings.TrimPrefix(principal, "user:")))
}

// actorOf is who acts with a root key, the author of its commits: the person, if
// the principal is a name that can stand there.
func actorOf(principal, agent string) string {
	if name := strings.TrimPrefix(principal, "user:"); strings.Contains(name, "@") || handoff.CheckAgent(name) == nil {
		return name
	}
	return agent
}
