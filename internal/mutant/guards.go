package main

const inGuard = "./internal/guard -run "

// ofGuards are the rules by which a hub's guard judges a push.
var ofGuards = []mutant{
	without("nobody moves handoffs of a namespace from outside", "internal/guard/names.go",
		`if name, ok := inSpace(e.Ref); ok {`, `if name, ok := inSpace(e.Ref); ok && name == "" {`, inScript+"hook_server_namespace"),
	without("nobody stops all pushes to a guarded hub by replacing an object", "internal/guard/names.go",
		`if err == nil && e.New != "" && n.space == ""`, `if err == nil && e.New == "" && n.space == ""`, inScript+"hook_server_replace"),
	without("a guard bounds the memory of a git that compares commits", "internal/guard/changes.go",
		`MaxMemory: maxCompare, `, ``, inGuard+"TestChangedTooMuch"),
	without("a guard says that a push changes too many paths", "internal/guard/changes.go",
		`case gitexec.PastMaxOutput(err):`, `case false:`, inGuard+"TestChangedTooMuch"),
	without("a branch of a namespace leads to no tag of an agent", "internal/guard/tags.go",
		`cj.names.space+e.Ref, "refs/heads/"`, `e.Ref, "refs/heads/"`, inScript+"hook_server_namespace_code"),
	without("a guard reads the refs of the namespace that is pushed to", "internal/guard/names.go",
		`return n.space + n.there(name)`, `return n.there(name)`, inScript+"hook_server_namespace"),
	without("code of an agent that is in a namespace is not new to it", "internal/guard/fresh.go",
		`"--exclude="+n.space+ref)`, `"--exclude="+ref)`, inScript+"hook_server_namespace_code"),
	without("code of an agent in a namespace is new to the others", "internal/guard/fresh.go",
		`"work/*"), spaces + "*"}`, `"work/*")}`, inScript+"hook_server_namespace_code"),
	without("code of an agent outside of a namespace is new to it", "internal/guard/fresh.go",
		`if n.space != "" {`, `if false {`, inScript+"hook_server_namespace_code"),
	without("a symbolic ref in a namespace is found there", "internal/guard/code.go",
		`"--quiet", cj.names.space + ref}`, `"--quiet", ref}`, inScript+"hook_server_namespace_code"),
	without("the target of a symbolic ref in a namespace has its name there", "internal/guard/code.go",
		`strings.TrimSpace(string(out)), cj.names.space)`, `strings.TrimSpace(string(out)), "")`, inScript+"hook_server_namespace_code"),
	without("a guard takes no step of a handoff that is disputed", "internal/guard/judge.go",
		`		return unlogged(s)
	}
	return s.Err()
}`, `		return unlogged(s)
	}
	return nil
}`, inGuard+"TestCheck_disputed"),
	without("a guard leaves no handoff in two inboxes", "internal/guard/judge.go",
		`	if s.Agent != handoff.Nobody {`, `	if s.Agent == "" {`, inGuard+"TestCheck_routed"),
	without("a guard takes no claim under a token that is over", "internal/guard/judge.go",
		`	if v.Lapse() != nil {
		return v.Lapse()
	}
`, ``, inGuard+"TestCheck_tokenOfAClaim"),
	without("a guard takes no claim beyond its token", "internal/guard/judge.go",
		`r.Lease.After(v.Token().Expires())`, `r.Lease.IsZero()`, inGuard+"TestCheck_tokenOfAClaim"),
	without("a guard lets an inbox ref in that git left out", "internal/guard/judge.go",
		`if e.New == "" || e.Old == "" {`, `if e.Old == "" {
			return unlogged(s)
		}
		if e.New == "" {`, inScript+"hook_server_left_out"),
	without("a guard lets no logged step be replaced by its twin", "internal/guard/judge.go",
		`		if err == nil && slices.ContainsFunc(s.Entries,`, `		if err != nil && slices.ContainsFunc(s.Entries,`, inGuard+"TestCheck_repaired"),
	without("a guard verifies what an inbox ref is led to without an entry", "internal/guard/judge.go",
		`err != nil || !sets(st.inbox) && !sets(st.work) {`, `err != nil || true {`, inGuard+"TestCheck_repaired"),
	without("a guard bounds the new entries of a lane", "internal/guard/handoffs.go",
		`if n++; n > limit {`, `if n++; n < 0 {`, inGuard+"TestCheck_manyEntries"),
	without("a guard bounds the refs of a push with commits of agents", "internal/guard/code.go",
		`if len(edits) > maxAgentRefs {`, `if len(edits) < 0 {`, inGuard+"TestCheck_code"),
	without("a guard bounds the commits of agents in a push", "internal/guard/code.go",
		`if len(found) > maxAgentCommits {`, `if len(found) < 0 {`, inGuard+"TestCheck_manyCommits"),
	without("a commit under a handoff that a hub does not know stays out", "internal/guard/code.go",
		`if s.Phase() == lifecycle.Absent {`, `if s.Phase() == "" {`, inGuard+"TestCheck_code"),
	without("a claim whose lease is over brings no code in", "internal/guard/code.go",
		`case s.Overdue(cj.Verifier.Keys.Now()):`, `case false:`, inGuard+"TestCheck_code"),
	without("a claim brings no code in under the token of another one", "internal/guard/code.go",
		`case s.Offer.Token != who.token:`, `case s.Offer.Token == "":`, inGuard+"TestCheck_code"),
	without("a person's code needs no claim at a guarded hub", "internal/guard/signed.go",
		`		if key.HasRole(sign.RoleRoot) {
			return "", nil
		}
`, ``, inGuard+"TestCheck_code"),
	without("a guard bounds the tags behind a tag", "internal/guard/tags.go",
		`if depth == maxNested {`, `if depth < 0 {`, inGuard+"TestCheck_tagsOfTags"),
	without("notes that were there before the guard hold nobody up", "internal/guard/notes.go",
		`		before = "" // the old`, `		return refusedNotes(err) // the old`, inGuard+"TestCheck_notes"),
	without("a guard bounds the notes of a push", "internal/guard/notes.go",
		`*size > maxNotesIn {`, `*size < 0 {`, inGuard+"TestCheck_notes"),
	without("nobody moves a handoff into the inbox of undecided ones", "internal/guard/judge.go",
		` || e.Old == "" && e.agent != s.To) {`, `) {`, inGuard+"TestCheck_repairedElsewhere"),
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
		`		old = nil // a malformed`, `		return err // a malformed`, inGuard+"TestCheck_teamBefore"),
	without("a guard bounds the lists of keys", "internal/guard/published.go",
		`if len(lists) > maxTeamFiles/2 {`, `if len(lists) < 0 {`, inGuard+"TestCheck_team$"),
	without("a guard bounds what lies beside the lists of keys", "internal/guard/published.go",
		`if err != nil || len(entries) > maxTeamFiles+maxTips {`, `if err != nil {`, inGuard+"TestCheck_team$"),
	without("a tree beside the lists of keys brings no files", "internal/guard/published.go",
		` || !lifecycle.IsTips(o) {`, ` {`, inGuard+"TestCheck_team$"),
	without("a guarded hub takes the snapshot that an envelope names", "internal/guard/work.go",
		`	case now != "" && now != want:
		if want != "" {`, `	case now != "" && now != want && want == "":
		if want != "" {`, inGuard+"TestCheck_snapshot"),
	without("a snapshot stands on the commit that its envelope names", "internal/guard/work.go",
		`if c.Head != w.Head {`, `if c.Head == "" {`, inGuard+"TestCheck_snapshot"),
	without("a commit of an inbox ref brings no other files", "internal/lifecycle/verified.go",
		`link.Commit.Tree != payload.Tree:`, `link.Commit.Tree == "":`, inLifecycle+"TestVerifyRefusesWhatAHolderSmuggles"),
	without("each commit of an inbox ref is logged", "internal/lifecycle/verified.go",
		`case !counts:`, `case s == nil && !counts:`, inLifecycle+"TestVerifyRefusesWhatAHolderSmuggles"),
	without("a checked signature counts no longer than its key", "internal/lifecycle/keys.go",
		`return ok && key == c.key`, `return ok || key == c.key || c.err == nil`, inLifecycle+"TestReadAgainUnderOtherTrust"),
	without("a chain that was read is that of its own handoff", "internal/lifecycle/state.go",
		`newest.OID == oid && newest.Commit.Record.ID == id`, `newest.OID == oid`, inLifecycle+"TestReadAgainAnOlderChain"),
	without("an entry of a lane brings no files", "internal/lifecycle/replay.go",
		`if !gitobj.IsEmptyTree(c.Tree) {`, `if !gitobj.IsEmptyTree(c.Tree) && c.Tree == "" {`, inLifecycle+"TestLaneWithoutAnOffer"),
	without("a handoff begins with its offer", "internal/lifecycle/steps.go",
		`	case offer == nil:
		return denied(fault.Disputed, "%s by %s before it was offered", r.Event, r.Actor)
`, `	case offer == nil:
		return nil
`, inLifecycle+"TestLaneWithoutAnOffer"),
	without("a token goes with the payload that its issuer signed", "internal/lifecycle/token.go",
		`leaf.Issuer != v.Offer().Key {`, `leaf.Issuer == "" {`, inLifecycle+"TestTokensThatDoNotFit"),
	without("a handoff in the outbox is taken back by those who may send it", "internal/lifecycle/author.go",
		`if by.maySign(&record.Record{Key: by.Signer.KID(), From: offer.From, At: by.Keys.now()}) != nil {`, `if offer == nil {`, inLifecycle+"TestMayTakeBack"),
	without("a step that others overtake ends", "internal/lifecycle/engine.go",
		`if r.n++; r.n == mostRounds {`, `if r.n++; r.n < 0 {`, inLifecycle+"TestRoundsAreBounded"),
	without("the list of a former root counts for nothing", "internal/sign/lists.go",
		`if signer == nil || !slices.Contains(signer.entry.Roles, RoleRoot) {`, `if signer == nil {`, "./internal/sign -run TestTeamOfAFormerRoot"),
	without("the list of somebody who is not pinned counts for nothing", "internal/sign/lists.go",
		`if signer == nil || !slices.Contains(signer.entry.Roles, RoleRoot) {`, `if signer != nil && !slices.Contains(signer.entry.Roles, RoleRoot) {`, "./internal/sign -run TestTeamOfAFormerRoot"),
	without("only a revocation retires a key that a list names", "internal/sign/change.go",
		`if fuller.Revoked(now) == nil || k.Entry().Retired != "" {`, `if k.Entry().Retired != "" {`, "./internal/sign -run TestLearnedRevocationStays"),
	without("a receipt stands in a lane alone", "internal/record/table.go",
		`	case r.Event == Joined || r.Event.Receipt():`, `	case r.Event == "":`, "./internal/record -run TestParseCommitHoldsThePlace"),
	without("no record says that a token proves its principal where there is none", "internal/record/table.go",
		`" (token)") && r.Token == "":`, `" (token)") && r.Event == "":`, "./internal/record -run TestParseRefusesValues"),
	without("a revocation that gives no reason revokes what was signed before", "internal/sign/verify.go",
		`	if r.RevocationReason == nil {
		return true`, `	if r.RevocationReason == nil {
		return false`, "./internal/sign -run TestOwnRevocation"),
	without("a key ends with the signature that says whose it is", "internal/sign/verify.go",
		`lifetime(self.CreationTime, self.SigLifetimeSecs); ok && `, `lifetime(self.CreationTime, self.SigLifetimeSecs); !ok && `, "./internal/sign -run TestSelfSignatureEnds"),
	without("what may have been sealed is revoked without a text", "internal/receipt/writer.go",
		`		return true, nil
	}
	if !sealed || err != nil {`, `		return false, nil
	}
	if !sealed || err != nil {`, inScript+"obo_revoke"),
	without("a reader bounds the commits of an inbox ref", "internal/lifecycle/state.go",
		`		if n == maxChain {`, `		if n < 0 {`, inLifecycle+"TestChainIsBounded"),
	without("a step that the copies refuse is refused, although no hub answers", "internal/lifecycle/engine.go",
		`len(s.Entries) > 0 && !errors`, `len(s.Entries) < 0 && !errors`, inLifecycle+"TestRefusalWithoutTheHub"),
	without("a guard lets a snapshot in that git left out", "internal/guard/work.go",
		`	case now == "" && want != "" && (made`, `	case now != "" && !made && len(st.work) > 0:
		return denied(fault.Unlogged, "")
	case now == "" && want != "" && (made`, inStress+"TestHubDoubtsOneRef$/snapshot"),
}
