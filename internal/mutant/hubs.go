package main

// ofHubs are the guards of a clone's beliefs about a hub: which hub it is, and which refs it
// takes and keeps.
var ofHubs = []mutant{
	{
		"steps for one hub go in one push", "internal/crossrepo/hub.go",
		`if s := seatOf(ctx); s != nil {`, `if s := seatOf(ctx); s != nil && t.Edits == nil {`, "./internal/crossrepo -run TestTogether$",
	},
	{
		"a look tells the hub nothing of what is here", "internal/crossrepo/remote.go",
		`fetch.negotiationAlgorithm=noop`, `fetch.negotiationAlgorithm=default`, "./internal/crossrepo -run TestLookInOneRound",
	},
	{
		"a push without an answer is not sent again", "internal/crossrepo/hub.go",
		`(try > 0 || gitexec.TimedOut(err))`, `(try > 0 || gitexec.TimedOut(nil))`, inCrossrepo + "TestPushWithoutAnAnswer/together_false",
	},
	{
		"a push of many steps without an answer is not sent again", "internal/crossrepo/joint.go",
		`if gitexec.TimedOut(cause) {`, `if gitexec.TimedOut(nil) {`, inCrossrepo + "TestPushWithoutAnAnswer/together_true",
	},
	{
		"a step that a guard names is the only one that stays", "internal/crossrepo/joint.go",
		`named = guardNames(cause)`, `named = nil`, inCLI + "TestScript/sync_many_guarded",
	},
	{
		"a child of a reroute that was cut off is not offered beside that of another one", "internal/outbox/outbox.go",
		`there.Offer == nil`, `there != nil`, inCLI + "TestScript/reroute_again",
	},
	{
		"a gc takes no entry on which a waiting step stands", "internal/crossrepo/together.go",
		`	h.Repo.Hold(t.Objects...)
`, ``, inCrossrepo + "TestTogetherBesideAPrune",
	},
	{
		"a step in the lane of another one stands on its entry", "internal/crossrepo/together.go",
		`w.hub == h && !w.alone && i >= 0`, `w.hub != h && i >= 0`, "./internal/crossrepo -run TestTogether$",
	},
	{
		"a step whose base left the push is built again", "internal/crossrepo/joint.go",
		`	if len(stale.Refs) > 0 {
		return stale`, `	if len(stale.Refs) > 9 {
		return stale`, "./internal/crossrepo -run TestTogetherOneRefused",
	},
	{
		"a refused step does not refuse the others", "internal/crossrepo/joint.go",
		`case len(to) == 0 || len(to) == len(group):`, `case len(to) >= 0:`, "./internal/crossrepo -run TestTogetherOneRefused/by_an_update_hook",
	},
	{
		"a guard's refusal of one step leaves the others in one push", "internal/crossrepo/joint.go",
		`case guarded && len(to) > 0:`, `case guarded && len(to) > 99:`, "./internal/cli -run TestGuardedHubTakesCommonPush",
	},
	{
		"a guard's refusal names the handoff", "internal/guard/handoffs.go",
		`		if len(s.inbox) == 0 {`, `		if len(s.inbox) > 9 {`, "./internal/guard -run TestCheck_namesTheHandoff",
	},
	{
		"a hub that refuses everything is left alone", "internal/crossrepo/joint.go",
		`if w := j.another(group); j.sendAlone(w) {`, `if w := j.another(group); j.sendAlone(w) && w == nil {`,
		"./internal/crossrepo -run TestTogetherAllRefused/by_its_pre-receive_hook",
	},
	{
		"in a common push inbox refs are before lanes", "internal/crossrepo/joint.go",
		`			case isLane(h, e.Ref):
				part = 1`, `			case isLane(h, e.Ref):
				part = 0`, "./internal/crossrepo -run TestMerged",
	},
	{
		"an interrupt sends no further push", "internal/crossrepo/joint.go",
		`if err := ctx.Err(); err != nil && t.over == nil {`, `if err := ctx.Err(); err != nil && t.over != nil {`,
		"./internal/crossrepo -run TestTogetherInterrupted",
	},
	{
		"an offer stands on no deletion", "internal/crossrepo/together.go",
		`if e.New != "" { //`, `if e.New != " " { //`, "./internal/crossrepo -run TestTogetherTriesTheLastOne",
	},
	{
		"a dropped step takes no newer one along", "internal/app/hubsync/kept.go",
		`now != nil && now.Nonce == step.Nonce && now.Event == step.Event`, `now != nil`,
		"./internal/app/hubsync -run TestDropsNoNewerStep",
	},
	{
		"each step that was dropped is told", "internal/app/hubsync/kept.go",
		`case o.err.Error() != first.Error():`, `case o.err == first:`, "./internal/cli -run TestScript/sync_dropped",
	},
	{
		"a claim that was lost is forgotten", "internal/app/take/seen.go",
		`	return release(ctx, t.Claims, h)
}

// isOurs`, `	return nil
}

// isOurs`, "./internal/bench -run TestTripsAfterALostClaim",
	},
	{
		"a claim that may still come is not forgotten", "internal/app/take/seen.go",
		`	return s.Phase() != lifecycle.Open && !isOurs(s, h)`, `	return !isOurs(s, h)`,
		"./internal/app/take -run TestSuperseded",
	},
	{
		"an offer of another agent's share is not claimed without a look", "internal/app/take/seen.go",
		`sp.rank(it.Place.Agent, it.Place.ID) == 0, err`, `sp.rank(it.Place.Agent, it.Place.ID) >= 0, err`,
		"./internal/app/take -run TestIsMine",
	},
	{
		"in a crowd a look brings a part of the inbox", "internal/app/take/crowd.go",
		`sp.keys() >= crowdKeys`, `sp.keys() < 0`, "./internal/stress -run TestCrowdFetchesAPart",
	},
	{
		"the first look of a crowd is one connection", "internal/app/take/crowd.go",
		`!crossrepo.LooksAtAll(hub) {`, `true {`, "./internal/bench -run TestTripsInACrowd",
	},
	{
		"the whole inbox is not fetched at every look", "internal/crossrepo/hub.go",
		`k.Looked = time.Now().Unix()`, `_ = time.Now`, "./internal/bench -run TestTripsInACrowd",
	},
	{
		"a large crowd fetches parts only", "internal/app/take/crowd.go",
		`sp.keys() > smallCrowd || `, ``, "./internal/bench -run TestTripsInACrowd",
	},
	{
		"an offer that a list shows as it is known is not fetched", "internal/app/take/crowd.go",
		`len(known) > 0 && sp.leads(`, `len(known) < 0 && sp.leads(`, "./internal/bench -run TestTripsInACrowd",
	},
	{
		"a list shows only a lane that this clone has as it is", "internal/crossrepo/list.go",
		`case s.was != tip:`, `case false:`, inCrossrepo + "TestListShows",
	},
	{
		"a list shows only an offer that this clone has as it is", "internal/crossrepo/list.go",
		`|| !slices.Contains(l.Inboxes, inbox) {`, `{`, inCrossrepo + "TestListShows",
	},
	{
		"a lane that a list shows is judged", "internal/crossrepo/list.go",
		`h.learn(ctx, []handoff.ID{id}) != nil || h.Refused(lane) != nil`, `false`, inCrossrepo + "TestListShows",
	},
	{
		"after a long piece of work a look is one connection", "internal/crossrepo/hub.go",
		` || time.Since(h.LastRead()) >= idle)`, `)`, "./internal/bench -run TestTripsInACrowd",
	},
	{
		"a gc beside a fetch takes nothing that was here already", "internal/crossrepo/remote.go",
		`err == nil && (gc || h.Repo.Store.Collecting())`, `err == nil && !gc && h.Repo.Store.Collecting()`, inCrossrepo + "TestGCBesideAFetch",
	},
	{
		"claims that nobody saw are looked up in one connection", "internal/app/take/resume.go",
		`	case !asked:`, `	case true:`, "./internal/bench -run TestTripsAfterKilledClaims",
	},
	{
		"the snapshots of a hub are listed once", "internal/crossrepo/workref.go",
		`		h.works.Store(&there)
`, ``, "./internal/bench -run TestTripsOfSnapshots",
	},
	{
		"a crowd notices that a hub lost its log", "internal/crossrepo/list.go",
		`	h.laneless.Store(len(l.lanes) == 0)
`, ``, "./internal/bench -run TestTripsInACrowd",
	},
	{
		"copies of what others took go", "internal/app/take/crowd.go",
		`if now == "" || now != it.Commit`, `if now != "" && now != it.Commit`, "./internal/stress -run TestCrowdFetchesAPart",
	},
	{
		"what the first look of a crowd left out is looked at", "internal/app/take/crowd.go",
		`return len(parts) > 0`, `return false`, "./internal/stress -run TestCrowdFindsTheOneThatIsFree",
	},
	{
		"in a crowd a hub that went away is passed over", "internal/app/take/crowd.go",
		`skip.failed(p.hub, t.lookAtPart(ctx, p, skip))`, `if skip.failed(p.hub, t.lookAtPart(ctx, p, skip)); skip.down != nil {
				return false
			}`, "./internal/stress -run TestCrowdGoesOnWithoutAHub",
	},
	{
		"the offers of a hub that is down are passed over", "internal/app/take/offers.go",
		`return p.out[home] })`, `return false })`, "./internal/cli -run TestScript/resume_hub_down",
	},
	{
		"a hub that refuses every claim is passed over", "internal/app/take/offers.go",
		`return fault.Is(err, fault.HubKeepsRefs) || errors.Is(err, refs.ErrRefused)`, `return false`, "./internal/cli -run TestScript/resume_hub_down",
	},
	{
		"a claim is not given up because its lane moved", "internal/crossrepo/refusal.go",
		`outdated && !strings.HasPrefix(e.Ref, h.Namespace().Lanes())`, `outdated`, "./internal/crossrepo -run TestReportOvertaken",
	},
	{
		"lines within a hub's reason are no report", "internal/crossrepo/refusal.go",
		`i >= 0 && r.flag[ref] == 0`, `i >= 0`, "./internal/crossrepo -run TestReportOvertaken",
	},
	{
		"an offer that was lost without a look is looked at", "internal/app/take/seen.go",
		`quiet.ids[it.Place.ID] = true //`, `quiet.ids[it.Place.ID], all.ids[it.Place.ID] = true, true //`, "./internal/stress -run TestCrowdFindsWhatWasReleased",
	},
	{
		"a move that was killed is finished", "internal/crossrepo/move.go",
		`return below(next.Root()) && !below(a.Root())`, `return below("")`, "./internal/cli -run TestScript/prefix_move",
	},
	{
		"a claim that a hub refused may have left", "internal/crossrepo/refusal.go",
		`r.flag[there] != '!' || strings.HasPrefix(r.summary[there], byHub)`, `r.flag[there] != '!'`, "./internal/crossrepo -run TestReportOvertaken",
	},
	{
		"the record of a claim stays where an earlier try may have left", "internal/app/take/crowd.go",
		`!h.Printed && len(h.Earlier) == 0`, `!h.Printed`, "./internal/app/take -run TestNeverLeft",
	},
	{
		"a hub is taken for one that was moved only if its log continues there", "internal/crossrepo/elsewhere.go",
		`if contains(ctx, NewHub(&next, h.Repo, nil), known, there) == nil {`, `if len(known) >= 0 {`, "./internal/cli -run TestScript/prefix_move",
	},
	{
		"notes move with the handoffs", "internal/crossrepo/move.go",
		`there[notes] != "" && there`, `there[notes] == "" && there`, "./internal/cli -run TestScript/prefix_move",
	},
	{
		"a copy of a key that git cannot read is not passed over", "internal/guard/published.go",
		`return pj.readable(ctx, before)`, `return nil`, "./internal/guard -run TestCheck_unreadableKey",
	},
	{
		"a list of keys that git cannot read is not passed over", "internal/guard/listed.go",
		`return published.readable(ctx, commit)`, `return nil`, "./internal/guard -run TestTakeLists_unreadable",
	},
	{
		"a hub that refused the last push is a problem", "internal/crossrepo/hub.go",
		`if k.Refused == "" {`, `if k.Refused != "" {`, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"another name of a hub is checked against its log", "internal/crossrepo/repoid.go",
		`if lane.tip == "" || lane.tip != lane.OID && !h.ancestor(ctx, lane.OID, lane.tip) {`,
		`if lane.tip == "" && h.ancestor(ctx, lane.OID, lane.tip) {`,
		"./internal/cli -run TestScript/repo_names",
	},
	{
		"a repo id has one alias", "internal/crossrepo/repoid.go",
		`if other := as.aliasOf(id, name); other != "" {`, `if other := as.aliasOf(id, name); false {`,
		"./internal/cli -run TestScript/repo_names",
	},
	{
		"what was seen under another name is remembered", "internal/crossrepo/repoid.go",
		`	return h.Repo.Apply(ctx, refs.Transaction{Edits: edits})
}

// pinAlso`, `	return h.Repo.Apply(ctx, refs.Transaction{Edits: edits[:0]})
}

// pinAlso`, inCrossrepo + "TestAddAsKeepsTheMemoryOfAHub",
	},
	{
		"no two paths share an id", "internal/crossrepo/repoid.go",
		`c < ' ' || c > '~' || c == '%' && i+2`, `c < ' ' || c > '~' || c == 0 && i+2`, inCrossrepo + "TestRepoID",
	},
	{
		"what the rules of a hub refuse is tried once", "internal/crossrepo/hub.go",
		`if h.guardRefusal(err) == nil && report.refusedForGood(t.Edits) {`, `if false {`, inCrossrepo + "TestRefusedForGood",
	},
	{
		"a hub that spoke of some refs alone refused nothing for good", "internal/crossrepo/refusal.go",
		`return len(r.flag) == len(edits) && r.RefusedForGood()`, `return r.RefusedForGood()`, inCrossrepo + "TestReportRefused",
	},
	{
		"a ref that moved is not refused for good", "internal/crossrepo/refusal.go",
		`		if flag != '!' || !strings.HasPrefix(r.summary[ref], byHub) {
			return false`, `		if flag != '!' || !strings.HasPrefix(r.summary[ref], byHub) {
			continue`, inCrossrepo + "TestReportRefused",
	},
	{
		"a refusal for good leaves no intent", "internal/lifecycle/engine.go",
		`if err == nil || errors.Is(err, refs.ErrRefused) {`, `if err == nil {`, inCrossrepo + "TestRefusedForGood",
	},
	{
		"nothing is sent to a hub where nothing can end", "internal/outbox/outbox.go",
		`		if err := crossrepo.KeepsRefs(hub); err != nil {`, `		if err := crossrepo.KeepsRefs(hub); err != nil && false {`, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"nothing is taken at a hub where nothing can end", "internal/app/take/resume.go",
		`		if err := crossrepo.KeepsRefs(hub); err != nil {`, `		if err := crossrepo.KeepsRefs(hub); err != nil && false {`, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"a trial leaves nothing at the hub", "internal/crossrepo/probe.go",
		`	t.clean(ctx, h, inbox, lane)
`, ``, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"a guard judges what comes below its hub's prefix", "internal/app/hubguard/hubguard.go",
		`		g.KeepBelow(prefix)
`, ``, "./internal/cli -run TestScript/prefix_guard",
	},
	{
		"a snapshot below a prefix brings no code of an agent in", "internal/guard/fresh.go",
		`"--exclude="+n.prefix+"/work/*"`, `"--exclude="+n.prefix`, "./internal/cli -run TestScript/prefix_guard_laundered",
	},
	{
		"a guard takes a carrying commit without words or history of others", "internal/guard/published.go",
		`	if !pj.carriers || e.New == "" {`, `	if true {`, "./internal/cli -run TestScript/prefix_guard",
	},
	{
		"a guard goes where the server does not overwrite it", "hooks/server.go",
		`		return path + ".d"
`, `		return dir
`, "./internal/cli -run TestScript/hook_server_forges",
	},
	{
		"a hub without its guard is a problem there", "internal/app/doctor/hooks.go",
		`	case meant:`, `	case false && meant:`, "./internal/cli -run TestScript/hook_server_forges",
	},
	{
		"the socket of a connection is this user's alone", "internal/sshshare/share.go",
		`info.Mode().Perm()&0o077 != 0`, `false`, "./internal/sshshare -run TestSocketDir",
	},
	{
		"what a user set for ssh stays", "internal/sshshare/share.go",
		`	if why := wish(repo); why != "" {`, `	if why := wish(repo); false {`, "./internal/sshshare -run TestFor",
	},
	{
		"commands share a connection", "internal/crossrepo/remote.go",
		`	c.Env = append(c.Env, sharing(ctx, h).Env...)
`, ``, inCrossrepo + "TestSSHConnectionIsShared",
	},
	{
		"what a refused push made us read is not read twice", "internal/lifecycle/engine.go",
		`if stale.Read && moved.covers(spec) {`, `if false {`, inCrossrepo + "TestOfferWhoseLaneMoved",
	},
	{
		"an offer looks first where others move lanes", "internal/crossrepo/hub.go",
		`	if !k.Moved && k.Unshown == ""`, `	if true && k.Unshown == ""`, inCrossrepo + "TestOfferLooksFirst",
	},
	{
		"a lane that was never seen is looked at first", "internal/crossrepo/hub.go",
		`k.Whole || h.LastRead().IsZero()`, `true`, inCrossrepo + "TestOfferOfALaneNeverSeen",
	},
	{
		"a snapshot that a hub left out is pushed again", "internal/crossrepo/hub.go",
		`case !done && len(moved) > 0:`, `case len(moved) > 0:`, inStress + "TestHubDoubtsOneRef$/snapshot",
	},
	{
		"more lanes than there can be are not fetched", "internal/crossrepo/bound.go",
		`b != nil && len(b.lanes) > handoff.MaxLanes`, `false`, inCrossrepo + "TestTooManyLanes$",
	},
	{
		"a log that is too large is not fetched", "internal/crossrepo/bound.go",
		`cmd.MaxFile, cmd.Heard = b.size, b.hear`, `cmd.Heard = b.hear`, inCrossrepo + "TestLogTooLarge",
	},
	{
		"a log in a file that is larger than the bound keeps nobody from the offers", "internal/crossrepo/remote.go",
		`b.full = gitexec.PastMaxFile(err)`, `b.full = false && err == nil`, inCrossrepo + "TestLogLargerThanTheBound",
	},
	{
		"no signal ends a program that cannot add to its log", "internal/gitexec/watch.go",
		`trap "" XFSZ; ulimit`, `ulimit`, inCrossrepo + "TestTraceLargerThanTheBound",
	},
	{
		"packets are heard where a user traces them", "internal/gitexec/watch.go",
		`	if c.Heard == nil {`, `	if c.Heard == nil || packetFile(cmd.Environ()) != nil {`, "./internal/gitexec -run TestHeardBesideATrace",
	},
	{
		"a user who traces packets gets them", "internal/gitexec/watch.go",
		`			_, _ = file.WriteString(line)`, `			_ = line`, "./internal/gitexec -run TestHeardBesideATrace",
	},
	{
		"a hub with too many lanes is remembered", "internal/crossrepo/bound.go",
		`k.Narrow = time.Now().Unix()`, `_ = time.Now`, inCrossrepo + "TestTooManyLanes$",
	},
	{
		"no copy is made of what is no lane", "internal/crossrepo/learn.go",
		`if !handoff.IsLane(lane) {`, `if strings.Contains(lane, "/") {`, inCrossrepo + "TestTooManyLanes$",
	},
	{
		"a claim of what is known makes no look", "internal/app/take/seen.go",
		`if q.Peek || !ok || !mayClaimSeen(t, hub) {`, `if true || !mayClaimSeen(t, hub) {`, "./internal/bench -run TestTrips$",
	},
	{
		"a claim that came too late is remembered", "internal/crossrepo/hub.go",
		` && !readKnown(&h.remote).Contested`, ``, "./internal/bench -run TestTripsOfALateClaim",
	},
	{
		"a claim that came too late looks at all that is asked next", "internal/crossrepo/hub.go",
		`	h.along = &spec
`, ``, "./internal/bench -run TestTripsAfterALostClaim",
	},
	{
		"the copy of a lane is judged where no look is made, too", "internal/crossrepo/hub.go",
		`case h.judge != nil && h.judge.MayMove(ctx, s.was, s.now) != nil:`, `case false:`, inCrossrepo + "TestLearnSeenVerifiesTheLane",
	},
	{
		"a handoff that was looked at is taken back without another look", "internal/lifecycle/end.go",
		`home.LaneIsFresh(p.ID), func`, `false, func`, "./internal/bench -run TestTripsOfTheSource",
	},
	{
		"a copy below a lane makes way for it", "internal/crossrepo/learn.go",
		`if dropped, derr := dropOdd(ctx, h); dropped && derr == nil {`, `if false {`, inCrossrepo + "TestRefBelowALaneIsNotItsMemory",
	},
	{
		"a mirror that leads elsewhere is made anew", "internal/crossrepo/learn.go",
		`"symbolic-ref", "--quiet", "--delete"`, `"symbolic-ref", "--quiet"`, inCrossrepo + "TestSymbolicMirrorRefIsNotARewind",
	},
	{
		"a repository is not its own hub", "internal/crossrepo/repoid.go",
		`local && id == as.Repo.Config.Get("handoff.repoid")`, `false`, "./internal/cli -run TestScript/repo_names_own",
	},
	{
		"a push of branches leaves no ordinary copies", "internal/crossrepo/remote.go",
		`	if h.Alias.Prefix == "" || h.Alias.target() != h.Alias.Name {`, `	if true {`, "./internal/cli -run TestScript/prefix_life",
	},
	{
		"an ordinary fetch leaves handoffs below a prefix out", "internal/gitconfig/refspec.go",
		`		needed = append(needed, keepOutOf(prefix))
`, ``, "./internal/cli -run TestScript/prefix_life",
	},
	{
		"a prefix is a plain name", "internal/crossrepo/names.go",
		`		if !plain && (i == 0`, `		if !plain && false && (i == 0`, inCrossrepo + "TestCheckPrefix",
	},
	{
		"a foreign ref of a hub has no copy", "internal/crossrepo/names.go",
		`ok && rest != "" && rest != refs.NotesBelow`, `ok || rest != ""`, inCrossrepo + "TestNamesAtAHub",
	},
	{
		"a prefix below which the log is not is refused", "internal/crossrepo/prefix.go",
		`		if err := hasMemory(ctx, as, a, prefix); err != nil {
			return err
		}
`, ``, "./internal/cli -run TestScript/prefix_move",
	},
	{
		"the former names of moved handoffs are taken", "internal/crossrepo/move.go",
		`		_, err = pushNamed(ctx, &from.remote, edits)
`, `		_ = edits
`, "./internal/cli -run TestScript/prefix_move",
	},
	{
		"an invitation carries the prefix", "internal/app/join/handler.go",
		`	code.Prefix = hub.Alias.Prefix
`, ``, "./internal/cli -run TestScript/prefix_team",
	},
	{
		"a file becomes a branch in a commit", "internal/crossrepo/names.go",
		`	if h.Alias.Prefix == "" {
		return []*refs.Object{blob}`, `	if true {
		return []*refs.Object{blob}`, "./internal/cli -run TestScript/prefix_team",
	},
	{
		"a fetch of an object that went meanwhile is tried again", "internal/crossrepo/remote.go",
		` || wentMeanwhile(err) ||`, ` ||`, inCrossrepo + "TestObjectThatWentMeanwhile",
	},
	{
		"a handoff in the outbox gets no note", "internal/annotate/notes.go",
		`refs.Root+"inbox/", refs.Root+"sent/")`, `refs.Root+"inbox/", refs.Root+"outbox/", refs.Root+"sent/")`,
		"./internal/cli -run TestScript/emit_noted",
	},
	{
		"a push that delivers a handoff writes its note", "internal/app/hubsync/sync.go",
		`	hd.Receipts.Notes.Try(ctx)
	return done, err`, `	return done, err`,
		"./internal/cli -run TestScript/emit_noted",
	},
}
