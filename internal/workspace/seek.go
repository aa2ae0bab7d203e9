package workspace

import (
	"context"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
)

// Seek is Find that goes on where nothing here leads to what is meant: each hub
// that resume would ask is asked for the lane that the id's last two characters
// name, so that what others ended, or hold, can be told from what never was. A
// hub that is down is the error where the others know nothing either.
func (d *Workspace) Seek(ctx context.Context, arg string) (*View, error) {
	f, unknown := d.Find(ctx, arg)
	if !fault.Is(unknown, fault.UnknownHandoff) {
		return f, unknown
	}
	var down error
	for _, home := range d.Sources(ctx, &down) {
		found, err := d.Fetched(ctx, home, arg)
		switch {
		case fault.CodeOf(err) == fault.Unavailable:
			down = err
		case err != nil:
			return nil, err
		case found:
			return d.Find(ctx, arg)
		}
	}
	if down != nil {
		return nil, down
	}
	return nil, unknown
}

// Fetched brings in the lane that speaks of an id, or of one with these last
// characters, and the handoff itself while it is open; it reports whether the
// lane knows it.
func (d *Workspace) Fetched(ctx context.Context, home lifecycle.Home, arg string) (bool, error) {
	if err := home.Refresh(ctx, lifecycle.Want{Lanes: []handoff.ID{handoff.ID(arg)}}); err != nil {
		return false, err
	}
	id, err := d.InLane(ctx, home.Space(), arg)
	if id == "" || err != nil {
		return false, err
	}
	s, err := d.Engine.Load(ctx, home, lifecycle.Place{ID: id})
	if err != nil || s.Receipt != nil || s.To == "" {
		return err == nil, err
	}
	return true, home.Refresh(ctx, lifecycle.Want{Places: []lifecycle.Place{{Agent: s.To, ID: id}}})
}

// Known is what can be told of a handoff that is not held here: found as by Seek,
// and read anew. A hub that is down leaves what was known of it.
func (d *Workspace) Known(ctx context.Context, arg string) (*View, error) {
	f, _, err := d.Fresh(ctx, arg)
	if f != nil && fault.CodeOf(err) == fault.Unavailable {
		d.Warn(err)
		return f, nil
	}
	return f, err
}

// Place is where a handoff stands, or stood last.
func (f *View) Place() lifecycle.Place {
	p := lifecycle.Place{ID: f.State.ID, Agent: f.State.To}
	if f.Item != nil {
		p.Agent = f.Item.Place.Agent
	}
	return p
}

// CheckArg refuses what can be no handoff's id, nor the end of one.
func CheckArg(arg string) error {
	if err := handoff.CheckSuffix(arg); err != nil {
		return fault.New(fault.Usage, fault.InvalidID, "%w", err).WithHints(fault.Run("githandoff", "inbox", "--all").Because("lists the ids"))
	}
	return nil
}

// Fresh finds a handoff and reads its state anew from its home. What was known of
// it comes along with the error of a home that cannot be read.
func (d *Workspace) Fresh(ctx context.Context, arg string) (*View, lifecycle.Place, error) {
	f, err := d.Seek(ctx, arg)
	if err != nil {
		return nil, lifecycle.Place{}, err
	}
	p := f.Place()
	if err := f.Home.Refresh(ctx, crossrepo.WantAll(p)); err != nil {
		return f, p, err
	}
	s, err := d.Engine.Locate(ctx, f.Home, p)
	if err == nil {
		f.State = s
	}
	return f, p, err
}
