package workspace

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
	"githandoff/internal/refs"
	"githandoff/internal/screen"
	"githandoff/internal/sign"
)

// Dependency is what can still be quoted of a handoff.
type Dependency struct {
	ID       handoff.ID
	Open     bool              // it lies in an inbox, where "show" finds it
	Envelope *handoff.Envelope // nil if only Ancestor is left
	Ancestor *handoff.Ancestor // what a later handoff quotes of it
	Receipt  *record.Record    // nil while it is under way, or where its log is not known
}

// Dependency finds a handoff for a prompt: among those that are under way, in
// the archive, and in the lineage of those that are under way. Whatever it
// returns is signed by a pinned key. One that is erased and that nobody quotes is
// refused with [fault.NotFound].
func (d *Workspace) Dependency(ctx context.Context, arg string) (*Dependency, error) {
	f, err := d.Find(ctx, arg)
	if fault.CodeOf(err) == fault.NotFound {
		dep, qerr := d.quoted(ctx, arg)
		if dep == nil && qerr == nil {
			return nil, err
		}
		return dep, qerr
	}
	if err != nil {
		return nil, err
	}
	dep := &Dependency{ID: f.State.ID, Receipt: f.State.Receipt, Open: isOpen(f.State)}
	if dep.Envelope, err = d.content(ctx, f); dep.Envelope != nil || err != nil {
		return dep, err
	}
	quote, err := d.quoted(ctx, string(dep.ID))
	if err != nil {
		return nil, err
	}
	if quote == nil {
		return nil, erased(f.State)
	}
	dep.Ancestor = quote.Ancestor
	return dep, nil
}

func erased(s *lifecycle.State) error {
	how := ""
	if r := s.Receipt; r != nil {
		how = " (" + string(r.Event) + " by " + r.Actor + " at " + handoff.FormatTime(r.At) + ")"
	}
	return fault.New(fault.NotFound, fault.Erased, "the content of handoff %s is gone%s, and no handoff that is under way quotes it", s.ID, how).
		WithHints(fault.See("render").Because("--dep with an empty value stands for none"),
			fault.Run("git", "config", "handoff.archive", "true").Because("lets this receiver keep what ends from now on"))
}

func isOpen(s *lifecycle.State) bool { return s.Receipt == nil && len(s.Chain) > 0 }

// content reads the envelope of what is open, sent, queued or archived; nil where
// it is gone.
func (d *Workspace) content(ctx context.Context, f *Found) (*handoff.Envelope, error) {
	if isOpen(f.State) {
		v, err := d.Engine.Verify(ctx, f.Home, f.State, lifecycle.Options{AllowExpired: true, AsKnown: true, Lapsed: true})
		if err != nil {
			return nil, err
		}
		return v.Envelope(), nil
	}
	places := []string{refs.Archive(f.State.ID)}
	if f.Item != nil && f.Item.Kind != "inbox" {
		places = append(places, f.Item.Ref)
	}
	for _, ref := range places {
		env, err := d.kept(ctx, ref, f.State)
		if env != nil || fault.CodeOf(err) != fault.NotFound {
			return env, err
		}
	}
	return nil, nil
}

// kept proves a payload that no inbox leads to: signed by a key that is trusted
// now, and the one that the log names, if it names one.
func (d *Workspace) kept(ctx context.Context, ref string, s *lifecycle.State) (*handoff.Envelope, error) {
	p, err := d.Engine.Reload(ctx, ref)
	if err != nil {
		return nil, err
	}
	c, err := record.ParseCommit(p.Commit.Body)
	if err != nil {
		return nil, fault.New(fault.Denied, fault.MalformedObject, "%s: %w", ref, err)
	}
	key, err := d.Engine.SignerOf(ref, c)
	if err != nil {
		return nil, err
	}
	r := &p.Record
	switch {
	case r.ID != s.ID, p.Envelope.ID != s.ID, s.Payload != "" && s.Payload != p.Commit.OID:
		return nil, fault.New(fault.Denied, fault.HandoffMismatch, "%s does not hold the payload of %s", ref, s.ID)
	case s.Payload == "": // never offered anywhere: nothing but its signature speaks for it
		if err := key.MayAct(sign.RoleSender, r.From, r.At); err != nil && key.MayAct(sign.RoleRoot, "", r.At) != nil {
			return nil, err
		}
	}
	if p.Unread != nil {
		return nil, p.Unread
	}
	return p.Envelope, screen.Envelope(p.Envelope)
}

// quoted looks for an ancestor in the lineage of what is under way; nil where
// nobody quotes it. Only who quotes it is verified; one who is refused does not
// hide another.
func (d *Workspace) quoted(ctx context.Context, arg string) (*Dependency, error) {
	var found *Dependency
	var refused error
	err := d.List(ctx, true, func(it *Item) error {
		if found != nil || it.Fault != nil || it.Home == nil {
			return nil
		}
		p, err := d.Engine.ReloadOffer(ctx, it.Commit)
		if err != nil || ancestor(p.Envelope, arg) == nil {
			return nil // what cannot be read quotes nothing
		}
		s, err := d.Engine.Load(ctx, it.Home, it.Place)
		if err != nil {
			return err
		}
		env, err := d.content(ctx, &Found{Home: it.Home, Item: it, State: s})
		if fault.As(err) != nil {
			refused = err
			return nil
		}
		if err != nil || env == nil {
			return err
		}
		if a := ancestor(env, arg); a != nil {
			found = &Dependency{ID: a.ID, Ancestor: a}
		}
		return nil
	})
	if err == nil && found == nil {
		err = refused
	}
	return found, err
}

func ancestor(env *handoff.Envelope, arg string) *handoff.Ancestor {
	for i := range env.Lineage {
		if env.Lineage[i].ID.Matches(arg) {
			return &env.Lineage[i]
		}
	}
	return nil
}
