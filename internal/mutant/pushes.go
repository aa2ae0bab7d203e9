package main

// ofPushes are the guards of pushes to a hub: of the steps that go together, of refusals, and of
// missing answers.
var ofPushes = []mutant{
	{
		"a silent hub is waited for once in a command", "internal/crossrepo/remote.go",
		`if push || !s.pushed {`, `if false {`, inCrossrepo + "TestSilentHub",
	},
	{
		"a look follows a push without an answer", "internal/crossrepo/remote.go",
		`if push || !s.pushed {`, `if true {`, inCrossrepo + "TestSilentHub",
	},
	{
		"a command that waits asks a silent hub again", "internal/crossrepo/lanes.go",
		`	h.silent.Store(nil)
`, ``, inCrossrepo + "TestSilentHub",
	},
	{
		"a silent hub is told of in plain words", "internal/crossrepo/unreachable.go",
		`if gitexec.TimedOut(err) && h.silent.Load() != nil {`, `if false {`, inCrossrepo + "TestSilentHub",
	},
	{
		"what a gc takes from a push is kept, and pushed again", "internal/crossrepo/remote.go",
		`if err == nil || !h.Repo.Store.Lacks(t.Objects...) {`, `if true {`, inScript + "push_beside_gc",
	},
	{
		"a push that a hub may have taken is not made again at once", "internal/crossrepo/remote.go",
		` || len(r.flag) < len(t.Edits) || !r.refusedByHub() {`, ` {`, inScript + "push_beside_gc",
	},
	{
		"a hub is not blamed for an object that is lost here", "internal/crossrepo/refusal.go",
		`if strings.Contains(r.said, sentNothing) {`, `if strings.Contains(r.said, sentNothing+" at all") {`, inScript + "push_beside_gc",
	},
	{
		"steps for one hub go in one push", "internal/crossrepo/hub.go",
		`if s := seatOf(ctx); s != nil {`, `if s := seatOf(ctx); s != nil && t.Edits == nil {`, "./internal/crossrepo -run TestTogether$",
	},
	{
		"one look follows a push without an answer", "internal/crossrepo/hub.go",
		`(try > 0 || gitexec.TimedOut(err))`, `(try > 0 || gitexec.TimedOut(nil))`, inCrossrepo + "TestPushWithoutAnAnswer/together_false",
	},
	{
		"one look follows a push of many steps without an answer", "internal/crossrepo/joint.go",
		`if gitexec.TimedOut(cause) {`, `if gitexec.TimedOut(nil) {`, inCrossrepo + "TestPushWithoutAnAnswer/together_true",
	},
	{
		"a step that a guard names is the only one that stays", "internal/crossrepo/joint.go",
		`named = guardNames(cause)`, `named = nil`, inCLI + "TestScript/sync_many_guarded",
	},
	{
		"a child of a reroute that was cut off is not offered beside that of another one", "internal/outbox/outbox.go",
		`&& !stays {`, `&& (!stays || true) {`, inCLI + "TestScript/reroute_again",
	},
	{
		"a gc takes no entry on which a waiting step stands", "internal/crossrepo/together.go",
		`	step.hub.Repo.Hold(step.t.Objects...)
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
		"a hub that refuses everything is left alone", "internal/crossrepo/joint.go",
		`if w := j.another(group); j.sendAlone(w) {`, `if w := j.another(group); j.sendAlone(w) && w == nil {`,
		"./internal/crossrepo -run TestTogetherAllRefused/by_its_pre-receive_hook",
	},
	{
		"in a common push inbox refs are before lanes", "internal/crossrepo/joint.go",
		`			case h.Namespace().InLog(e.Ref):
				part = 1`, `			case h.Namespace().InLog(e.Ref):
				part = 0`, "./internal/crossrepo -run TestMerged",
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
		"each step that was dropped is told", "internal/fault/fault.go",
		`case err.Error() != f.Err.Error():`, `case err == f.Err:`, "./internal/cli -run TestScript/sync_dropped",
	},
	{
		"a claim is not given up because its lane moved", "internal/crossrepo/refusal.go",
		`outdated && !h.Namespace().InLog(e.Ref)`, `outdated`, "./internal/crossrepo -run TestReportOvertaken",
	},
	{
		"lines within a hub's reason are no report", "internal/crossrepo/refusal.go",
		`i >= 0 && r.flag[ref] == 0`, `i >= 0`, "./internal/crossrepo -run TestReportOvertaken",
	},
	{
		"a claim that a hub refused may have left", "internal/crossrepo/refusal.go",
		`if _, ok := r.refused(there); ok || r.flag[there] != '!' {`, `if r.flag[there] != '!' {`, "./internal/crossrepo -run TestReportOvertaken",
	},
	{
		"a hub that refused the last push is a problem", "internal/crossrepo/findings.go",
		`if k.Refused == "" {`, `if k.Refused != "" {`, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"what the rules of a hub refuse is tried once", "internal/crossrepo/hub.go",
		`if s.hub.guardRefusal(err) == nil && report.RefusedForGood(s.t.Edits) {`, `if false {`, inCrossrepo + "TestRefusedForGood",
	},
	{
		"a hub that hides a ref refuses it for good, whatever it did with the others", "internal/crossrepo/refusal.go",
		`if r.hidden() != "" {
		return true`, `if r.hidden() != "" {
		return false`, inCrossrepo + "TestReportRefused",
	},
	{
		"a guard that judged a push without its hidden refs is not believed", "internal/crossrepo/refusal.go",
		`refused != nil && r.hidden() == "" {`, `refused != nil {`, inScript + "hook_server_hidden",
	},
	{
		"a hub that spoke of some refs alone refused nothing for good", "internal/crossrepo/refusal.go",
		`if len(r.flag) != len(edits) || !r.refusedByHub() {`, `if !r.refusedByHub() {`, inCrossrepo + "TestReportRefused",
	},
	{
		"a ref that moved is not refused for good", "internal/crossrepo/refusal.go",
		`		if _, ok := r.refused(ref); !ok {
			return false`, `		if _, ok := r.refused(ref); !ok {
			continue`, inCrossrepo + "TestReportRefused",
	},
	{
		"a refusal for good leaves no intent", "internal/lifecycle/engine.go",
		`if err == nil || errors.Is(err, refs.ErrRefused) {`, `if err == nil {`, inCrossrepo + "TestRefusedForGood",
	},
	{
		"nothing is sent to a hub where nothing can end", "internal/outbox/outbox.go",
		`		if err := hub.CheckDeletes(); err != nil {`, `		if err := hub.CheckDeletes(); err != nil && false {`, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"nothing is taken at a hub where nothing can end", "internal/app/take/claim.go",
		`		return hub.CheckDeletes()`, `		_ = hub.CheckDeletes`, "./internal/cli -run TestScript/doctor_try",
	},
	{
		"what a refused push made us read is not read twice", "internal/lifecycle/engine.go",
		`if stale.Read && moved.covers(r.spec) {`, `if false {`, inCrossrepo + "TestOfferWhoseLaneMoved",
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
		"a handoff that was looked at is taken back without another look", "internal/lifecycle/end.go",
		`if home.LaneIsFresh(p.ID) {`, `if false {`, "./internal/bench -run TestTripsOfTheSource",
	},
	{
		"a push of branches leaves no ordinary copies", "internal/crossrepo/remote.go",
		`	if h.Alias.Prefix == "" {
		return nil, given`, `	if true {
		return nil, given`, "./internal/cli -run TestScript/prefix_life",
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
	{
		"a fetch goes through the shared ssh connection", "internal/crossrepo/fetch.go",
		`h.connect(ctx, cmd)`, `h.Repo.Runner.Run(ctx, cmd)`, inCrossrepo + "TestSSHConnectionIsShared",
	},
	{
		"no ref of a push is beyond what is read", "internal/guard/read.go",
		`size > maxInput {`, `size < 0 {`, "./internal/guard -run TestReadTooMuch",
	},
}
