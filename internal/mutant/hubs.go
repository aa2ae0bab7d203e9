package main

// ofHubs are the guards of a look at a hub: they bound a fetch, and judge it before it is believed.
var ofHubs = []mutant{
	{
		"a disk without space for a ref is not a lock in the way", "internal/gitexec/errors.go",
		`, "couldn't write '",`, `,`, inCrossrepo + "TestFullDiskIsNoLock",
	},
	{
		"a disk without space for a setting is named", "internal/gitexec/errors.go",
		`, "failed to write new configuration file"}`, `}`, "./internal/stress -run TestDiskFull$",
	},
	{
		"a lock that was taken is not one in the way", "internal/crossrepo/unreachable.go",
		`'[^:：]*[:：]|(/`, `'|(/`, inCrossrepo + "TestLockAtTheHub",
	},
	{
		"a lock at a hub of another language is found", "internal/crossrepo/unreachable.go",
		`'[^:：]*[:：]|(/`, `': |(/`, inCrossrepo + "TestLockAtTheHub",
	},
	{
		"a parent stands where git reads parents", "internal/gitobj/gitobj.go",
		`			break
		}
		parents = append(parents, hex.EncodeToString(oid))`, `			continue
		}
		parents = append(parents, hex.EncodeToString(oid))`, inCrossrepo + "TestParentThatGitDoesNotSee/below",
	},
	{
		"a parent in capitals is one", "internal/gitobj/gitobj.go",
		`if !ok || err != nil || len(oid) != size {`, `if !ok || err != nil || len(oid) != size || bytes.ContainsAny(value, "ABCDEF") {`,
		inCrossrepo + "TestParentThatGitDoesNotSee/a_merge",
	},
	{
		"a look tells the hub nothing of what is here", "internal/crossrepo/fetch.go",
		`fetch.negotiationAlgorithm=noop`, `fetch.negotiationAlgorithm=default`, "./internal/crossrepo -run TestLookInOneRound",
	},
	{
		"a gc beside a fetch takes nothing that was here already", "internal/crossrepo/fetch.go",
		`err == nil && gc.Seen()`, `err == nil && !gc.Ran && gc.Seen()`, inCrossrepo + "TestGCBesideAFetch",
	},
	{
		"a gc that began is noticed", "internal/refs/keep.go",
		` || !w.st.collecting().IsZero() ||`, ` ||`, inCrossrepo + "TestGCBeginsDuringAFetch",
	},
	{
		"a gc that ended is noticed", "internal/refs/keep.go",
		` || !w.st.infoChanged().Equal(w.info)`, ``, inCrossrepo + "TestGCWithinAFetch",
	},
	{
		"the snapshots of a hub are listed once", "internal/crossrepo/workref.go",
		`		h.works.Store(&there)
`, ``, "./internal/bench -run TestTripsOfSnapshots",
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
		`	c.Env = append(c.Env, h.SSHSharing(ctx).Env...)
`, ``, inCrossrepo + "TestSSHConnectionIsShared",
	},
	{
		"more lanes than there can be are not fetched", "internal/crossrepo/bound.go",
		`b != nil && len(b.lanes) > handoff.MaxLanes`, `false`, inCrossrepo + "TestTooManyLanes$",
	},
	{
		"a log that is too large is not fetched", "internal/crossrepo/fetch.go",
		`cmd.MaxFile, cmd.OnPacket = b.size, b.countLane`, `cmd.OnPacket = b.countLane`, inCrossrepo + "TestLogTooLarge",
	},
	{
		"a log in a file that is larger than the bound keeps nobody from the offers", "internal/crossrepo/fetch.go",
		`b.full = gitexec.PastMaxFile(err)`, `b.full = false && err == nil`, inCrossrepo + "TestLogLargerThanTheBound",
	},
	{
		"no signal ends a program that cannot add to its log", "internal/gitexec/watch.go",
		`trap "" XFSZ; ulimit`, `ulimit`, inCrossrepo + "TestTraceLargerThanTheBound",
	},
	{
		"packets are heard where a user traces them", "internal/gitexec/watch.go",
		`	if c.OnPacket == nil {`, `	if c.OnPacket == nil || packetFile(cmd.Environ()) != nil {`, "./internal/gitexec -run TestOnPacketBesideATrace",
	},
	{
		"a fetch is ended at a packet, not while it holds a lock", "internal/gitexec/watch.go",
		`time.AfterFunc(killTime, cancel)`, `cancel()`, "./internal/gitexec -run TestOnPacketEndsAtTheNextPacket",
	},
	{
		"a fetch is ended even if no packet follows", "internal/gitexec/watch.go",
		`time.AfterFunc(killTime, cancel)`, `_ = cancel`, "./internal/gitexec -run TestOnPacketEndsAtTheNextPacket",
	},
	{
		"a huge object keeps nobody from the other handoffs, with a git before 2.38", "internal/crossrepo/fetch.go",
		`gitexec.PastMaxAlloc(err) && !r.onePack`, `gitexec.PastMaxAlloc(err) && r.onePack`, inCrossrepo + "TestHugeObjectStaysInAPack",
	},
	{
		"a user who traces packets gets them", "internal/gitexec/watch.go",
		`			_, _ = file.WriteString(line)`, `			_ = line`, "./internal/gitexec -run TestOnPacketBesideATrace",
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
		"the copy of a lane is checked where no look is made, too", "internal/crossrepo/seen.go",
		`if h.checker != nil && h.checker.MayMove(ctx, s.was, s.now) != nil {`, `if false {`, inCrossrepo + "TestLearnSeenVerifiesTheLane",
	},
	{
		"a copy below a lane makes way for it", "internal/crossrepo/learn.go",
		`if dropped, derr := h.dropOdd(ctx); !dropped || derr != nil {`, `if true {`, inCrossrepo + "TestRefBelowALaneIsNotItsMemory",
	},
	{
		"a lane that a gc took is fetched again", "internal/crossrepo/learn.go",
		`case fault.Is(err, fault.MissingObject): // a gc took`, `case false: // a gc took`, inCrossrepo + "TestLearnWhatAGCTook",
	},
	{
		"a lane of which commits are lost is fetched again", "internal/crossrepo/learn.go",
		`if !fault.Is(err, fault.MissingObject) && !fault.Is(m.Refused(m.name), fault.MissingObject) {`, `if true {`, inCrossrepo + "TestLookMendsALane",
	},
	{
		"a lane that has not moved is mended, too", "internal/crossrepo/learn.go",
		` && !fault.Is(m.Refused(m.name), fault.MissingObject) {`, ` {`, inCrossrepo + "TestLookMendsALane",
	},
	{
		"a copy of notes that lacks objects goes", "internal/crossrepo/fetch.go",
		` || ref == h.NotesCopy())`, `)`, inCrossrepo + "TestGCWithinAFetch",
	},
	{
		"notes that are lost here are fetched again", "internal/annotate/share.go",
		`again || !fault.Is(err, fault.MissingObject)`, `again || err != nil`, "./internal/cli -run TestScript/sync_notes_lost",
	},
	{
		"a step brings what a handoff lacks", "internal/lifecycle/engine.go",
		`if fault.Is(refusal, fault.MissingObject) && BringLost(ctx, r.home, r.spec.Places[0]) {`, `if false {`, inCrossrepo + "TestClaimInADamagedClone",
	},
	{
		"a step brings what a lane lacks", "internal/lifecycle/state.go",
		`if BringLost(ctx, home, p) {`, `if false {`, inCrossrepo + "TestStepInADamagedClone",
	},
	{
		"a failure goes back although its content was lost here", "internal/receipt/withdraw.go",
		` && lifecycle.BringLost(ctx, home, p) {`, ` && false {`, inScript + "fail_damaged",
	},
	{
		"a commit of a handoff that is lost here is brought before anything is sent", "internal/lifecycle/state.go",
		` || err == nil && fault.Is(s.chainErr, fault.MissingObject) {`, ` {`, "./internal/cli -run TestScript/sync_chain_lost",
	},
	{
		"a handoff with a lost commit is not offered again", "internal/lifecycle/end.go",
		`case fault.Is(s.chainErr, fault.MissingObject):`, `case false:`, "./internal/cli -run TestScript/sync_chain_lost",
	},
	{
		"a note that is lost here is a note", "internal/annotate/take.go",
		`if c.Blob != "" && blob.Type == "" {`, `if false {`, "./internal/cli -run TestScript/sync_notes_lost",
	},
	{
		"no ref of this clone makes git take a lane for complete", "internal/refs/scratch.go",
		`"GIT_DIR=" + dir, "GIT_COMMON_DIR=" + dir, "GIT_OBJECT_DIRECTORY=" + objects,`, `"GIT_OBJECT_DIRECTORY=" + r.Objects,`,
		inCrossrepo + "TestMendsWhatGitTakesForComplete",
	},
	{
		"lost objects are fetched with the settings of this repository", "internal/refs/scratch.go",
		`return !slices.Contains(have, file)`, `return len(have) == 0`, inCrossrepo + "TestMendReadsTheSameConfiguration",
	},
	{
		"settings are found where GIT_DIR is relative", "internal/refs/scratch.go",
		`[]string{"GIT_DIR=" + s.repo.GitDir}`, `nil`, "./internal/cli -run TestScript/doctor_damaged_subdir",
	},
	{
		"a relative URL begins at the top of the work tree", "internal/refs/scratch.go",
		`if r.Worktree != "" {`, `if r.Worktree == "-" {`, "./internal/cli -run TestScript/doctor_damaged_subdir",
	},
	{
		"a damaged file goes before its object is written", "internal/refs/scratch.go",
		`st.DropDamaged(o.OID)`, `o.OID, error(nil)`, inCrossrepo + "TestMend$",
	},
	{
		"a gc at work removes no object that was just brought", "internal/refs/scratch.go",
		`return st.secure(context.WithoutCancel(ctx), time.Time{}, objects)`, `return st.secure(context.WithoutCancel(ctx), time.Time{}, nil)`,
		inCrossrepo + "TestMendBesideGC",
	},
	{
		"an object that is lost at the hub as well keeps no other from being brought", "internal/refs/lost.go",
		`			lost = cmp.Or(lost, oid)
			continue`, `			return cmp.Or(lost, oid), nil`, inRefs + "TestRestore",
	},
	{
		"a commit-graph does not hide a lost commit", "internal/refs/lost.go",
		`"-c", "core.commitGraph=false", "rev-list"`, `"rev-list"`, inRefs + "TestFindLost$",
	},
	{
		"a damaged object in a pack is lost", "internal/refs/lost.go",
		`case fault.Is(err, fault.MissingObject):`, `case false:`, inRefs + "TestFindLostInAPack",
	},
	{
		"a refusal is no fault of the notes", "internal/annotate/share.go",
		`	if fault.As(err) != nil { //`, `	if false { //`, "./internal/cli -run TestScript/sync_notes_rewound",
	},
	{
		"a copy goes if the hub has its objects no more", "internal/crossrepo/mend.go",
		`refs.Transaction{Edits: []refs.Edit{{Ref: l.Name, Old: l.OID}}}`, `refs.Transaction{}`, inCrossrepo + "TestMendWithoutTheHub",
	},
	{
		"a ref of this clone's own stays, if no hub has its objects", "internal/crossrepo/mend.go",
		`case refs.IsCopy(ref.Name):`, `default:`, "./internal/cli -run TestScript/doctor_published",
	},
	{
		"what a hub has is brought beside what it lost", "internal/crossrepo/mend.go",
		`for parts := halves(list);`, `for parts := halves(nil);`, inCrossrepo + "TestMendAroundWhatTheHubLost",
	},
	{
		"a hub that sends nothing is not asked for ever", "internal/crossrepo/mend.go",
		`	if h.failed.Load() >= mostFailed {`, `	if false {`, inCrossrepo + "TestMendGivesUp",
	},
	{
		"a submodule is not lost in a tree of a strange form", "internal/refs/look.go",
		` && !strings.Contains(mode, " commit ")`, ` && mode != ""`, inRefs + "TestLostObjectIsNotAbsent",
	},
	{
		"the notes of others are not begun anew where their commit is lost", "internal/annotate/tidy.go",
		`if err == nil && kind == "" {`, `if false {`, "./internal/cli -run TestScript/doctor_published",
	},
	{
		"the snapshot of a handoff goes with it, if its payload is lost, too", "internal/app/hubsync/sync.go",
		`snapshot := len(edits) > 0`, `snapshot := false`, "./internal/cli -run TestScript/doctor_sent",
	},
	{
		"a relative link of a worktree begins at git's directory of it", "internal/refs/locate.go",
		`return below(gitDir, link), nil`, `return link, nil`, "./internal/cli -run TestScript/resume_worktree",
	},
	{
		"doctor names a snapshot that can never be sent", "internal/app/doctor/refs.go",
		`connected || cerr != nil {`, `connected || true {`, "./internal/cli -run TestScript/doctor_snapshot_lost",
	},
	{
		"a fetch mends a damaged file below a tip", "internal/crossrepo/mend.go",
		`whole && !gitexec.Damaged(failed, h.Repo.Objects) {`, `whole {`, inCrossrepo + "TestFetchMendsWhatItMeets",
	},
	{
		"a sent handoff is looked for in the inboxes of the hub", "internal/crossrepo/mend.go",
		`ref = string(refs.LocalNamespace) + "inbox/" + place`, `_ = place`, "./internal/cli -run TestScript/doctor_sent",
	},
	{
		"a sync knows what its fetch has mended", "internal/app/hubsync/look.go",
		`return fault.Is(it.Fault, fault.MissingObject) })`, `return false })`, "./internal/cli -run TestScript/doctor_sent",
	},
	{
		"a lost payload keeps no receipt from ending a handoff", "internal/app/hubsync/sync.go",
		`case fault.Is(err, fault.MissingObject):
		r.`, `case false:
		r.`, "./internal/cli -run TestScript/doctor_sent",
	},
	{
		"no hint drops the record of a sent handoff while a hub is away", "internal/app/doctor/refs.go",
		`asked = mendFrom(ctx, d, hub) && asked`, `_ = mendFrom(ctx, d, hub)`, "./internal/cli -run TestScript/doctor_sent",
	},
	{
		"lost keys and lists are brought by the sync that reads them", "internal/team/team.go",
		`if first = crossrepo.MendPublished(ctx, hub); first == nil {`, `if false {`, "./internal/cli -run TestScript/doctor_published",
	},
	{
		"a lost list is no bad list", "internal/team/team.go",
		`refs.ReadNamed(ctx, t.Repo, e.OID, sign.MaxTeam, "a list of the keys at "+hub.Alias.Name)`, `t.Repo.Read(ctx, e.OID, sign.MaxTeam)`, "./internal/cli -run TestScript/doctor_published",
	},
	{
		"a lost key is not passed over", "internal/team/keys.go",
		`			lost = err
`, `			lost = nil
`, "./internal/cli -run TestScript/doctor_published",
	},
	{
		"a commit of a submodule is not lost", "internal/refs/look.go",
		` && e.Mode != gitobj.Gitlink
		}), nil`, `
		}), nil`, inRefs + "TestLostObjectIsNotAbsent",
	},
	{
		"a damaged object of a hub is not one of this clone", "internal/gitexec/errors.go",
		`			return err == nil
		}))`, `			return err == nil || err != nil
		}))`, inCrossrepo + "TestLookAtADamagedHub",
	},
	{
		"a look for lost objects does not trust the copies", "internal/crossrepo/look.go",
		`if spec.Lost {`, `if false {`, inCrossrepo + "TestClaimInADamagedClone|TestStepInADamagedClone",
	},
	{
		"a mirror that leads elsewhere is made anew", "internal/crossrepo/rewound.go",
		`"symbolic-ref", "--quiet", "--delete"`, `"symbolic-ref", "--quiet"`, inCrossrepo + "TestSymbolicMirrorRefIsNotARewind",
	},
	{
		"a fetch of an object that went meanwhile is tried again", "internal/crossrepo/fetch.go",
		` || wentMeanwhile(err) ||`, ` ||`, inCrossrepo + "TestObjectThatWentMeanwhile",
	},
	// The fence of the lane.
	{
		"a rewound lane is not taken for a refused one", "internal/crossrepo/learn.go",
		`	} else if ok {
		m.refuse(m.now, cmp.Or`, `	} else if ok || true {
		m.refuse(m.now, cmp.Or`, inCrossrepo + "TestHubCopies|TestHubFork|TestHubRestored",
	},
	{
		"the memory of a lane does not go back", "internal/crossrepo/rewound.go",
		`	if !ok {
		return "", m.Alias.errRollback(m.RemoteName(m.name))
	}`, `	if !ok {
		return m.now, nil
	}`, inCrossrepo + "TestHubCopies|TestHubFork|TestHubRestored",
	},
	{
		"lanes are fetched into the mirror", "internal/crossrepo/look.go",
		`add(n.Mirror().Lane(id), n.Mirror().Lane(id))`, `add(n.Mirror().Lane(id), n.Namespace().Lane(id))`, inCrossrepo + "TestHubCopies|TestHubThatLost",
	},
	{
		"a ref below a lane does not enter the copies", "internal/crossrepo/learn.go",
		`if !handoff.IsLane(lane) {`, `if false {`, "./internal/cli -run TestScript/audit_nested_lane",
	},
	{
		"a memory that moved on meanwhile is no rewound hub", "internal/crossrepo/learn.go",
		`	return m.rewound(ctx)`, `	return "", m.Alias.errRollback(m.RemoteName(m.name))`, inCrossrepo + "TestOlderAnswerIsNotARewind",
	},
	{
		"a comparison that fails is no answer", "internal/crossrepo/remote.go",
		`return false, refs.Missing("a commit before " + tip)`, `return false, nil`, inCrossrepo + "TestExtends",
	},
	{
		"a guarded hub gets lost offers with their refs", "internal/crossrepo/catchup.go",
		`case len(offers) > 0:`, `case false:`, "./internal/cli -run TestScript/hook_server_restored_offers",
	},
	{
		"a lane that a hub refuses keeps no other back", "internal/crossrepo/catchup.go",
		`refused = cmp.Or(refused, err)`, `return cmp.Or(err, refused)`, "./internal/crossrepo -run TestRefusedLaneKeepsNoOtherBack",
	},
	{
		"a root key gives back a lane of which the hub has nothing", "internal/crossrepo/catchup.go",
		`return c.Parents[0], nil`, `return "", nil`, "./internal/cli -run TestScript/hook_server_restored_offers",
	},
	{
		"a lane of a hub that lost its signatures is given back", "internal/crossrepo/catchup.go",
		`case unsignedBut(ctx, h, lane.Old, lane.New):`, `case false:`, inScript + "sync_rewritten_hub",
	},
	{
		"a command for a hub is not run in the clone", "internal/crossrepo/catchup.go",
		`append([]string{"git", "-C", dir}, args...)`, `append([]string{"git", "-C", dir}[:1], args...)`, inScript + "sync_merged_by_stranger",
	},
	{
		"a merge in a lane seen for the first time has a way back", "internal/crossrepo/learn.go",
		`cmp.Or(m.was, m.cleanBelow(ctx, m.now))`, `cmp.Or(m.was, "")`, inScript + "sync_merged_by_stranger",
	},
	{
		"a sync warns of a lane that it refuses", "internal/app/hubsync/look.go",
		`for _, why := range a.hub.Refusals() {`, `for _, why := range a.hub.Refusals()[:0] {`, inScript + "sync_merged_by_stranger",
	},
	{
		"a copy of a lane that lost its signatures is replaced", "internal/crossrepo/catchup.go",
		`case unsignedBut(ctx, h, lane.New, lane.Old) &&`, `case false &&`, inScript + "sync_rewritten_clone",
	},
	{
		"a hub that lets nobody replace a lane keeps no other from being given back", "internal/crossrepo/catchup.go",
		`return inTheWayOf(ctx, h, lane, err)`, `return whoGivesBack(err)`, inScript + "sync_rewritten_guarded",
	},
	{
		"a lane of which another clone gave back a part gets the rest", "internal/crossrepo/catchup.go",
		`now == lane.Old {`, `now != "" {`, inCrossrepo + "TestAnotherCloneGivesBackFirst",
	},
	{
		"a lane that another clone gave back is there", "internal/crossrepo/catchup.go",
		`if now != lane.Old {`, `if false {`, inScript + "sync_rewritten_race",
	},
	{
		"an entry that somebody signed is not overwritten", "internal/lifecycle/history.go",
		`if len(gitobj.Header(o.Body, gitobj.FormatOf(tip).SignatureHeader())) > 0 {`, `if o == nil {`, inScript + "sync_rewritten_hub",
	},
	{
		"a lost offer is given back with its snapshot", "internal/workspace/giveback.go",
		`w != nil {`, `w != nil && false {`, "./internal/cli -run TestScript/hook_server_restored_offers",
	},
}
