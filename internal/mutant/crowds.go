package main

// ofCrowds are the guards of agents that share an inbox: of their looks, and of their claims.
var ofCrowds = []mutant{
	without("a handoff of this repository is taken before a younger one that was seen at a hub", "internal/app/take/seen.go",
		`return t.crowded
`, `return true
`, inScript+"resume_oldest"),
	without("agents share the offers among them", "internal/app/take/spread.go",
		`if sp.weight(kid, id) > ours {`, `if sp.weight(kid, id) > ours && false {`,
		"./internal/app/take -run TestSharesAreApart|TestOrder"),
	without("the share of an agent that stands still goes to another", "internal/app/take/spread.go",
		`kid, id, turnOf(sp.now))`, `kid, id, 0)`,
		"./internal/app/take -run TestSharesChange"),
	without("agents with one key choose by chance", "internal/app/take/spread.go",
		`		sp.shuffle.Shuffle(len(offers), func(i, j int) { offers[i], offers[j] = offers[j], offers[i] })`, ``,
		"./internal/app/take -run TestOneKey"),
	without("an agent alone takes the oldest offer", "internal/app/take/spread.go",
		`strings.Compare(string(a.Place.ID), string(b.Place.ID))`, `strings.Compare(string(b.Place.ID), string(a.Place.ID))`,
		"./internal/app/take -run TestOneKey"),
	without("handoffs of others make the choice one of chance", "internal/app/take/offers.go",
		`others = mine == nil || !mine.Held()`, `others = mine != nil && !mine.Held()`,
		"./internal/app/take -run TestBeware"),
	without("only keys that may take have a share", "internal/lifecycle/keys.go",
		`key.MayAct(sign.RoleRecipient, agent, k.now()) == nil`, `key.KID() != ""`,
		"./internal/app/take -run TestRivals"),
	without("a claim that was lost is forgotten", "internal/app/take/forget.go",
		`!superseded(s, h) {
		return err
	}
	return t.forget(ctx, h)`, `!superseded(s, h) {
		return err
	}
	return nil`, "./internal/bench -run TestTripsAfterALostClaim"),
	without("a claim that may still come is not forgotten", "internal/app/take/forget.go",
		`	return s.Phase() != lifecycle.Open && !h.InForce(s)`, `	return !h.InForce(s)`,
		"./internal/app/take -run TestSuperseded"),
	without("an offer of another agent's share is not claimed without a look", "internal/app/take/seen.go",
		`sp.rank(it.Place.Agent, it.Place.ID) == 0, err`, `sp.rank(it.Place.Agent, it.Place.ID) >= 0, err`,
		"./internal/app/take -run TestInOwnShare"),
	without("in a crowd a look brings a part of the inbox", "internal/app/take/offers.go",
		`sp.keys() >= crowdKeys`, `sp.keys() < 0`, "./internal/stress -run TestCrowdFetchesAPart"),
	without("the first look of a crowd is one connection", "internal/app/take/crowd.go",
		`!l.hub.DueForWhole() {`, `true {`, "./internal/bench -run TestTripsInACrowd"),
	without("the whole inbox is not fetched at every look", "internal/crossrepo/seen.go",
		`k.Looked = time.Now().Unix()`, `_ = time.Now`, "./internal/bench -run TestTripsInACrowd"),
	without("a large crowd fetches parts only", "internal/app/take/crowd.go",
		`sp.keys() > smallCrowd || `, ``, "./internal/bench -run TestTripsInACrowd"),
	without("an offer that a list shows as it is known is not fetched", "internal/app/take/crowd.go",
		`len(known) > 0 && sp.leads(`, `len(known) < 0 && sp.leads(`, "./internal/bench -run TestTripsInACrowd"),
	without("a list shows only a lane that this clone has as it is", "internal/crossrepo/list.go",
		`case s.was != tip:`, `case false:`, inCrossrepo+"TestListShows"),
	without("a list shows only an offer that this clone has as it is", "internal/crossrepo/list.go",
		`|| !slices.Contains(l.Inboxes, inbox) {`, `{`, inCrossrepo+"TestListShows"),
	without("a lane that a list shows is checked", "internal/crossrepo/list.go",
		`h.advance(ctx, []handoff.ID{id}) != nil || h.Stuck(lane) != nil`, `false`, inCrossrepo+"TestListShows"),
	without("after a long piece of work a look is one connection", "internal/crossrepo/seen.go",
		` || time.Since(h.LastRead()) >= idle)`, `)`, "./internal/bench -run TestTripsInACrowd"),
	without("claims that nobody saw are looked up in one connection", "internal/app/take/resume.go",
		`	case !asked:`, `	case !asked || asked:`, "./internal/bench -run TestTripsAfterKilledClaims"),
	without("a crowd notices that a hub lost its log", "internal/crossrepo/list.go",
		`	h.laneless.Store(len(l.lanes) == 0)
`, ``, "./internal/bench -run TestTripsInACrowd"),
	without("copies of what others took go", "internal/app/take/crowd.go",
		`if now == "" || now != it.Commit`, `if now != "" && now != it.Commit`, "./internal/stress -run TestCrowdFetchesAPart"),
	without("what the first look of a crowd left out is looked at", "internal/app/take/crowd.go",
		`return len(looks) > 0`, `return false`, "./internal/stress -run TestCrowdFindsTheOneThatIsFree"),
	without("in a crowd a hub that went away is passed over", "internal/app/take/crowd.go",
		`t.homeFailed(l.hub, l.next(ctx))`, `if t.homeFailed(l.hub, l.next(ctx)); t.down != nil {
				return false
			}`, "./internal/stress -run TestCrowdGoesOnWithoutAHub"),
	without("the offers of a hub that is down are passed over", "internal/app/take/handler.go",
		`return slices.Contains(t.passedOver, home) })`, `return false })`, "./internal/cli -run TestScript/resume_hub_down"),
	without("a hub that refuses every claim is passed over", "internal/app/take/offers.go",
		`return fault.Is(err, fault.HubKeepsRefs) || errors.Is(err, refs.ErrRefused)`, `return false`, "./internal/cli -run TestScript/resume_hub_down"),
	without("an offer that was lost without a look is looked at", "internal/app/take/seen.go",
		`offline.skipped[it.Place.ID] = true //`, `offline.skipped[it.Place.ID], t.skipped[it.Place.ID] = true, true //`, "./internal/stress -run TestCrowdFindsWhatWasReleased"),
	without("the record of a claim stays where an earlier try may have left", "internal/app/take/forget.go",
		`!h.Printed && len(h.Earlier) == 0`, `!h.Printed`, "./internal/app/take -run TestIsOnlyTry"),
	without("a claim of what is known makes no look", "internal/app/take/seen.go",
		`return !hub.MayClaimSeen()`, `return true || !hub.MayClaimSeen()`, "./internal/bench -run TestTrips$"),
	without("a claim that came too late is remembered", "internal/crossrepo/seen.go",
		` && !h.book.findings().Contested`, ``, "./internal/bench -run TestTripsOfALateClaim"),
	without("a claim that came too late looks at all that is asked next", "internal/crossrepo/seen.go",
		`	h.along = &spec
`, ``, "./internal/bench -run TestTripsAfterALostClaim"),
	without("resume --next takes no handoff that is held", "internal/app/take/claim.go",
		`return errHeldHere`, `break`, "./internal/cli -run TestScript/resume_next"),
	without("a handoff that is held is passed over", "internal/app/take/offers.go",
		`		case errors.Is(err, errHeldHere):
			t.skipped[it.Place.ID] = true
`, ``, "./internal/cli -run TestScript/resume_next"),
	without("the hint to wait for another handoff does not show the held one", "internal/app/take/offers.go",
		`wait = slices.Insert(wait, 2, "--next")`, `_ = wait`, "./internal/cli -run TestScript/resume_next"),
}
