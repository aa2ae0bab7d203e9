package main

const inGuard = "./internal/guard -run "

// ofGuards are the rules by which a hub's guard judges a push.
var ofGuards = []mutant{
	without("nothing but a key comes in as one", "internal/guard/published.go",
		`		return denied(fault.MalformedObject, "no key: %w", err)`, `		return nil`, inGuard+"TestCheck_publishedKey"),
	without("what is in the place of a key holds it not up", "internal/guard/published.go",
		`	if err != nil || old.KID() != public.KID() {`, `	if err != nil && old.KID() != public.KID() {`, inGuard+"TestCheck_publishedKey"),
	without("only a root of the hub's own signs a list of keys", "internal/guard/published.go",
		`case err != nil && name != sign.LastTeamFile && carried(files, old):`, `case err != nil && team == nil:`, inGuard+"TestCheck_team$"),
	without("a list that counts no more stays beside the others", "internal/guard/published.go",
		`case err != nil && name != sign.LastTeamFile && carried(files, old):`, `case false:`, inGuard+"TestCheck_teamBefore"),
	without("what counts no more stays as it is", "internal/guard/published.go",
		`name != sign.LastTeamFile && carried(files, old):`, `name != sign.LastTeamFile:`, inGuard+"TestCheck_teamBefore"),
	without("a list of keys is for its hub", "internal/guard/published.go",
		`		case !pj.Home.Is(team.Home):`, `		case false:`, inGuard+"TestCheck_team$"),
	without("a list of keys for another hub holds nobody up", "internal/guard/published.go",
		`if err != nil || !pj.Home.Is(before.Home) {`, `if err != nil {`, inGuard+"TestCheck_teamBefore"),
	without("what is no list of keys holds nobody up", "internal/guard/published.go",
		`		old = nil // an old`, `		return err // an old`, inGuard+"TestCheck_teamBefore"),
	without("a guard bounds the lists of keys", "internal/guard/published.go",
		`if len(lists) > maxTeamFiles/2 {`, `if len(lists) < 0 {`, inGuard+"TestCheck_team$"),
	without("a guard bounds what lies beside the lists of keys", "internal/guard/published.go",
		`if err != nil || len(entries) > maxTeamFiles+maxTips {`, `if err != nil {`, inGuard+"TestCheck_team$"),
	without("a tree beside the lists of keys brings no files", "internal/guard/published.go",
		` || !lifecycle.IsTips(o) {`, ` {`, inGuard+"TestCheck_team$"),
}
