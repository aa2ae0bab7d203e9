package annotate

import (
	"context"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
	"githandoff/internal/notes"
	"githandoff/internal/record"
	"githandoff/internal/workspace"
)

// confirmer compares lines of notes with the lanes known here. It reads each lane's ref once: a
// hub may have notes of many handoffs whose lanes are not here.
type confirmer struct {
	notes   *Notes
	homes   workspace.HomeList // nil until the first line is compared
	lanes   map[string]bool    // whether this repository has a lane, by ref name
	known   map[handoff.ID]*lifecycle.State
	unknown map[handoff.ID]bool
}

func newConfirmer(n *Notes) *confirmer {
	return &confirmer{notes: n, lanes: map[string]bool{}, known: map[handoff.ID]*lifecycle.State{}, unknown: map[handoff.ID]bool{}}
}

// confirmed leaves out the lines not confirmed by a lane.
func (c *confirmer) confirmed(ctx context.Context, lines []string) ([]string, error) {
	var sure []string
	for _, l := range lines {
		ok, err := c.confirms(ctx, l)
		if err != nil {
			return nil, err
		}
		if ok {
			sure = append(sure, l)
		}
	}
	return sure, nil
}

// confirms reports whether a known lane confirms a line: it has a valid offer with the same digest
// from the same agent, and the same end, if the line has one. A state of "not known" is
// remembered by its id.
func (c *confirmer) confirms(ctx context.Context, line string) (bool, error) {
	e, err := notes.ParseLine(line)
	if err != nil {
		return false, nil //nolint:nilerr // no lane confirms a malformed line
	}
	state, ok := c.known[e.ID]
	if !ok {
		if state, err = c.state(ctx, e.ID); err != nil {
			return false, err
		}
		c.known[e.ID] = state
	}
	if state == nil {
		c.unknown[e.ID] = true
		return false, nil
	}
	if state.Offer.Digest != e.Digest || state.Offer.From != e.From {
		return false, nil
	}
	to, _, _ := strings.Cut(e.To, "@")
	if to != "" && to != handoff.Nobody && to != state.Offer.To && to != state.To && (state.Receipt == nil || to != state.Receipt.To) {
		return false, nil
	}
	if record.Event(e.Event).Receipt() {
		return state.Receipt != nil && string(state.Receipt.Event) == e.Event, nil
	}
	return true, nil
}

// state returns the state of a handoff in the known lanes; nil if none has a valid offer.
func (c *confirmer) state(ctx context.Context, id handoff.ID) (*lifecycle.State, error) {
	if c.homes == nil {
		c.homes = c.notes.Workspace.All(ctx)
	}
	for _, home := range c.homes {
		lane := home.Namespace().Lane(id)
		known, asked := c.lanes[lane]
		if !asked {
			tip, err := c.notes.Engine.Repo.Resolve(ctx, lane)
			known = err == nil && tip != ""
			c.lanes[lane] = known
		}
		if !known {
			continue
		}
		state, err := c.notes.Engine.Reader.Load(ctx, home, lifecycle.Place{ID: id})
		if err != nil && fault.As(err) == nil {
			return nil, err
		}
		if err == nil && state.Offer != nil {
			return state, nil
		}
	}
	return nil, nil
}
