package hubsync

import (
	"context"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/lifecycle"
	"githandoff/internal/work"
	"githandoff/internal/workspace"
)

// closeEnded closes the records of claims that are over, and tells of those that
// somebody else ended. The error is the one that such a holder has to see.
func (hd *Handler) closeEnded(ctx context.Context, only []*crossrepo.Hub) (done []Done, stop error) {
	held, err := hd.Work.Recorded()
	if err != nil {
		return nil, err
	}
	for _, h := range held {
		st, err := hd.Work.Standing(ctx, h)
		if err != nil {
			return done, err
		}
		if hub, ok := st.Home.(*crossrepo.Hub); st.Over == nil || ok && only != nil && !slices.Contains(only, hub) {
			continue
		}
		if err := hd.Work.Close(ctx, st); err != nil {
			return done, err
		}
		if st.Own() {
			continue
		}
		done = append(done, Done{What: work.OverWord(st.Over), ID: h.ID, Alias: hd.Workspace.AliasOf(st.Home), Record: st.Over, Lost: true})
		stop = work.LostClaim(st)
	}
	return done, stop
}

// EndedAt asks the hub behind an alias what became of this agent's claims there,
// closes those that somebody else ended, of this repository as well, and returns
// them. A hub that nothing is held at is asked nothing.
func (hd *Handler) EndedAt(ctx context.Context, alias string) ([]*work.Standing, error) {
	held, err := hd.Work.Recorded()
	if err != nil || len(held) == 0 {
		return nil, err
	}
	at, err := hd.Work.ByHome()
	if err != nil {
		return nil, err
	}
	var down error
	for _, name := range hd.Aliases.Names() {
		if a, _, err := hd.Aliases.Look(name); err == nil && name == alias {
			if ids := workspace.HeldBy(a, at); len(ids) > 0 {
				down = hd.Workspace.HubOf(a).Refresh(ctx, lifecycle.FetchSpec{Lanes: ids})
			}
		}
	}
	var ended []*work.Standing
	for _, h := range held {
		st, err := hd.Work.Standing(ctx, h)
		if err != nil {
			return nil, err
		}
		if st.Over == nil {
			continue
		}
		if err := hd.Work.Close(ctx, st); err != nil {
			return nil, err
		}
		if !st.Own() {
			ended = append(ended, st)
		}
	}
	if len(ended) > 0 {
		return ended, nil
	}
	return nil, down
}
