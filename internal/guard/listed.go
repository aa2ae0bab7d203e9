package guard

import (
	"context"

	"githandoff/internal/fault"
	"githandoff/internal/sign"
)

// TakeLists adds the keys listed at this hub by a root key of the hub's own trust, as each
// clone does that pinned this root. The list is the one from before the judged push: a push
// vouches for nobody in itself. A list that does not verify counts for nothing, since it may
// have come before the guard did.
func (g *Guard) TakeLists(ctx context.Context) error {
	trust := g.Verifier.Keys.Trust
	if !sign.HasRoot(trust) {
		return nil
	}
	commit, err := g.Verifier.Repo.Resolve(ctx, teamRef)
	if err != nil || commit == "" {
		return err
	}
	published := publishedJudge{g}
	lists, err := published.lists(ctx, commit)
	if fault.As(err) != nil {
		return published.readable(ctx, commit) // the ref does not hold a list of keys
	}
	if err != nil {
		return err
	}
	newest := map[sign.KID]*sign.Team{}
	for _, files := range lists {
		team, err := trust.OpenTeam(files[0], files[1], g.Verifier.Keys.Now())
		if err != nil || !g.Home.Is(team.Home) {
			continue
		}
		if before := newest[team.Signer]; before == nil || before.Serial < team.Serial {
			newest[team.Signer] = team
		}
	}
	for _, team := range newest {
		sign.TakeList(trust, team)
	}
	return nil
}
