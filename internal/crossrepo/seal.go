package crossrepo

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/record"
)

// subject is the commit that a note about a handoff stands at; none where that
// is sealed: what the work is about is inside.
func subject(env *handoff.Envelope, sealed bool) string {
	if sealed {
		return ""
	}
	return env.Source.Commit
}

// sealed reports whether a handoff that is about to end is. Its log stays
// readable, so its receipt carries no results: what was asked to be said there is
// refused, and a reason that had to be given is left out.
func (d *Desk) sealed(ctx context.Context, s *lifecycle.State, event record.Event, data string) (bool, error) {
	sealed, err := d.Engine.IsSealed(ctx, s)
	if !sealed || err != nil {
		return false, nil // of what is not in order nothing is said anyway: it cannot be held
	}
	switch {
	case data == "":
	case event == record.Acknowledged:
		return true, tellsAll(s.ID)
	default:
		d.Warn(fault.New(fault.Policy, "sealed", "handoff %s is sealed: its receipt does not say why", s.ID.Short()))
	}
	return true, nil
}

func tellsAll(id handoff.ID) error {
	return fault.New(fault.Policy, "sealed", "handoff %s is sealed, and its log is not: it takes no text and no results", id).
		WithHint("without them; hand the results on: githandoff emit --seal --parent %s", id.Short())
}

// silent refuses data for the log of a sealed handoff that goes on.
func (d *Desk) silent(ctx context.Context, home lifecycle.Home, p lifecycle.Place, data string) error {
	if data == "" {
		return nil
	}
	s, err := d.Engine.Load(ctx, home, p)
	if err != nil {
		return err
	}
	if sealed, err := d.Engine.IsSealed(ctx, s); err != nil || !sealed {
		return nil // the step itself says what is wrong
	}
	return tellsAll(p.ID)
}
