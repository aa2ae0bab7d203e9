package workspace

import "githandoff/internal/handoff"

// A checkpoint stands under the id of the handoff that named it, in the
// repository that sent it, and is kept until the work is over: through a
// failure until the receipt of the return handoff, through a reroute or an
// answer until that of the child.

// Parent is the handoff that one follows from, as its offer says.
func (f *View) Parent() handoff.ID {
	switch {
	case f.State.Offer != nil:
		return f.State.Offer.Parent
	case f.Item != nil && f.Item.Record != nil:
		return f.Item.Record.Parent
	}
	return ""
}
