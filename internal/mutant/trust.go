package main

// ofTrust are the guards of the keys that are believed, and of the limits of that trust.
var ofTrust = []mutant{
	{
		"who replaced its key is told that the former one holds the handoff", "internal/lifecycle/author.go",
		`case s.Claim.Actor == by.Actor && by.Signer != nil && s.Claim.Key != by.Signer.KID():`, `case false:`, inScript + "trust_rotate_held",
	},
	{
		"nobody drops the list of another root", "internal/guard/published.go",
		`serial < before.Serial || serial`, `serial < before.Serial && serial > 0 || serial`, "./internal/cli -run TestScript/trust_team_guarded",
	},
	{
		"no root ends the counting of lists", "internal/team/team.go",
		`team.Signer == self || team.Serial < sign.FarSerial`, `true`, "./internal/attack -run TestListOfTheHighestNumber",
	},
	{
		"no root ends the counting of lists at a guarded hub", "internal/guard/published.go",
		`before.Signer == last.Signer || before.Serial < sign.FarSerial`, `true`, "./internal/attack -run TestListOfTheHighestNumber",
	},
	{
		"lists of keys bring no other files", "internal/guard/published.go",
		`|| entry.Mode != gitobj.File {`, `&& false {`, "./internal/cli -run TestScript/trust_team_guarded",
	},
	{
		"a list has the name of its signer", "internal/guard/published.go",
		`name != sign.LastTeamFile && name != sign.TeamFile(team.Signer), serials`, `serials`, "./internal/cli -run TestScript/trust_team_guarded",
	},
	{
		"a prompt has a length", "internal/prompt/limit.go",
		`if m.out.Len()+len(b) > maxOutput {`, `if m.out.Len()+len(b) > 64*maxOutput {`, "./internal/prompt -run TestRenderIsBounded",
	},
	{
		"a template ends", "internal/prompt/limit.go",
		`m.steps > maxSteps {`, `m.steps > 100*maxSteps {`, "./internal/prompt -run TestRenderIsBounded",
	},
	{
		"functions of templates make no more than a prompt", "internal/prompt/limit.go",
		`err == nil && (len(text) > 6*maxOutput || m.made > maxMade)`, `err == nil && len(text) > 600*maxOutput`, "./internal/prompt -run TestRenderIsBounded",
	},
	{
		"a published key says all that it said", "internal/guard/published.go",
		`err != nil || whole.Text() != public.Text() {`, `err != nil && whole.Text() != public.Text() {`, "./internal/cli -run TestScript/key_revoked",
	},
	{
		"a copy of a key keeps what the key signed, and nothing else", "internal/sign/packets.go",
		`return k.tag != primaryTag && len(k.signatures) == 0`, `return k.tag == 0`, "./internal/sign -run TestPacketsOfStrangersMayGo",
	},
	{
		"a signature is by the key whose name it bears", "internal/sign/packets.go",
		`return s.SigType == packet.SigTypeDirectSignature && primary.VerifyDirectKeySignature(s) == nil`,
		`return s.SigType == packet.SigTypeDirectSignature`, "./internal/sign -run TestPacketsOfStrangersMayGo",
	},
	{
		"a revocation needs no room beside other statements", "internal/sign/packets.go",
		`if fault.Is(err, fault.TooLarge) {`, `if false {`, "./internal/sign -run TestRevocationNeedsNoRoom",
	},
	{
		"a packet of a key states its length", "internal/sign/public.go",
		`if !statesLengths(raw) {`, `if false {`, "./internal/sign -run TestPacketsStateTheirLengths",
	},
	{
		"a clone remembers what was published", "internal/team/keys.go",
		`return both, nil`, `_ = both; return public, nil`, "./internal/cli -run TestScript/key_revoked",
	},
	{
		"a revoked key is not pinned", "internal/app/pin/pin.go",
		`if err := public.Revoked(h.Now()); err != nil {`, `if err := public.Revoked(h.Now()); err != nil && false {`, "./internal/cli -run TestScript/key_revoked",
	},
	{
		"a revocation that was published counts", "internal/sign/change.go",
		`entries[i].Key = both.text`, `entries[i].Key, _ = old.text, both`, "./internal/sign -run TestLearnedRevocationStays",
	},
	{
		"a list reaches as far as its signer", "internal/sign/lists.go",
		`p.limits = append(p.limits, signer.limits...)`, ``, "./internal/sign -run TestTeamOfALimitedRoot",
	},
	{
		"a list retires within the limits of its signer", "internal/sign/lists.go",
		`|| !other.within(p) {`, `{`, "./internal/sign -run TestTeamRetiresWithin",
	},
	{
		"no list retires a root as wide as its signer", "internal/sign/lists.go",
		`|| !p.within(other)`, `|| true`, "./internal/sign -run TestTeamRetiresWithin",
	},
	{
		"a wrongful retirement holds up nobody", "internal/sign/change.go",
		`|| !signer.mayRetire(newPin(e)) {`, `{`, "./internal/sign -run TestAddAfterAWrongful",
	},
	{
		"a root goes on from its own list", "internal/team/team.go",
		`others = append(others, list{sign.TeamFile(team.Signer), l.raw, l.sig})`, `mine = team`, "./internal/cli -run TestScript/trust_team_limited",
	},
	{
		"a key that nobody decided about loses nothing", "internal/app/audit/compare.go",
		`s.UndecidedEnd != nil:`, `s.ID == "":`, "./internal/cli -run TestScript/trust_missing",
	},
	{
		"a key is decided about before its work is withdrawn", "internal/lifecycle/end.go",
		`err := e.Author.checkDecided(s); err != nil && !o.Force`, `err := e.Author.checkDecided(s); err != nil && false`, "./internal/cli -run TestScript/trust_missing",
	},
	{
		"a withdrawal behind the receipt is no finding", "internal/lifecycle/replay.go",
		`entry.Overtaken = isOvertaken(s, key, r)`, ``, "./internal/cli -run TestScript/trust_missing",
	},
	{
		"a commit without a message can be signed", "internal/guard/signed.go",
		`s := signedObject{message: message}`, `if message == nil {
		message = raw
	}
	s := signedObject{message: message}`, "./internal/attack -run TestCommitWithoutMessage",
	},
	{
		"tags behind a tag are judged", "internal/guard/tags.go",
		`oid = taggedTag(o.Body)`, `oid = ""`, "./internal/attack -run TestNestedTag",
	},
	{
		"a tag that the hub has holds up nobody", "internal/guard/tags.go",
		`if known, err := cj.knownTag(ctx, oid); known || err != nil {`, `if known, err := cj.knownTag(ctx, oid); known && false || err != nil {`, "./internal/attack -run TestNestedTag",
	},
	{
		"what was seen when a key was retired goes with the retirement", "internal/sign/lists.go",
		`best.pin.seen = append(best.pin.seen, g.pin.seen...)`, ``, "./internal/sign -run TestTeamRetiresWithWhatWasSeen",
	},
	{
		"beside the lists lie trees that a list names", "internal/guard/published.go",
		`		if !named[tree] {`, `		if false {`, inScript + "trust_team_guarded",
	},
	{
		"a key outlives a root that was retired", "internal/sign/lists.go",
		`if best.over() != g.over() {`, `if best.over() != g.over() && false {`, "./internal/sign -run TestTeamKeyOutlivesARoot",
	},
	{
		"only a list itself retires a key of another root", "internal/sign/lists.go",
		`g.retired != "" && g.signer.mayRetire(best.pin) {
			best.pin.shorten(TrustEntry{Retired: g.retired})`, `g.signer.mayRetire(best.pin) {
			best.pin.shorten(TrustEntry{Retired: g.pin.entry.Retired})`, "./internal/sign -run TestTeamKeyOutlivesARoot",
	},
	{
		"a list retires a key beside any number of other lists", "internal/sign/lists.go",
		`	for _, g := range grants {
		if g.pin`, `	for _, g := range grants[len(grants)-1:] {
		if g.pin`, "./internal/sign -run TestTeamRetiresAmongMany",
	},
}
