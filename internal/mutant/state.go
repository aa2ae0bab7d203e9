package main

// ofState are the guards of a clone's report about its work: the handoffs that it holds, those
// that ended, and those that it could not read.
var ofState = []mutant{
	{
		"a sync looks where a sent handoff was routed", "internal/app/hubsync/look.go",
		`return append(places, lifecycle.Place{Agent: s.To, ID: it.Place.ID})`, `return places`, inScript + "route_hub",
	},
	{
		"a hub that lost a lane is noticed", "internal/workspace/giveback.go",
		`if err != nil || len(lost) == 0 {`, `if err != nil || len(lost) >= 0 {`,
		"./internal/cli -run TestScript/sync_rewound",
	},
	{
		"a claim that ended is not held in another worktree", "internal/app/survey/survey.go",
		`		if st.Over == nil {`, `		if st != nil {`, inScript + "status_overdue",
	},
	{
		"sync reads the lanes of what is held", "internal/app/hubsync/look.go",
		`	for repoID, ids := range held {`, `	clear(held)
	for repoID, ids := range held {`,
		"./internal/cli -run TestScript/sync_revoked",
	},
	{
		"sync tells of a claim that somebody ended", "internal/app/hubsync/sync.go",
		`return run.done, cmp.Or(stop, run.first.Err, run.untried)`, `return run.done, cmp.Or(run.first.Err, run.untried)`,
		"./internal/cli -run TestScript/sync_revoked",
	},
	{
		"an alias that leads elsewhere stops a sync", "internal/app/hubsync/look.go",
		`!slices.Contains(pulled, alias) && fault.Is(err, fault.AudienceMismatch)`, `!slices.Contains(pulled, alias) && err == nil`,
		"./internal/cli -run TestScript/sync_moved",
	},
	{
		"a hub that was not read is no empty hub", "internal/cli/inbox.go",
		`return cmp.Or(err, first.Err)`, `return cmp.Or(err, nil)`,
		"./internal/cli -run TestScript/sync_moved",
	},
	{
		"a claim that is over does not make the live one ambiguous", "internal/work/held.go",
		`if held, err = w.stillLive(ctx, held); err != nil {`, `if false {`, inScript + "obo_check_scope",
	},
	{
		"what left the inbox gives no authority", "internal/work/held.go",
		`!h.Is(s.Claim), st.Moved():`, `!h.Is(s.Claim):`,
		"./internal/cli -run TestScript/hook_revoked",
	},
	{
		"pre-push asks the hub for the end of a claim", "internal/app/hubsync/look.go",
		`down = hd.Workspace.HubOf(a).Refresh(ctx, lifecycle.FetchSpec{Lanes: ids})`, `down = hd.Workspace.HubOf(a).Refresh(ctx, lifecycle.FetchSpec{})`,
		"./internal/cli -run TestScript/hook_revoked",
	},
	{
		"what was made under a claim that somebody ended is not pushed", "internal/app/pushcheck/pushcheck.go",
		`if slices.Contains(named, claim.Token) {`, `if slices.Contains(named, claim.Token) && false {`,
		"./internal/cli -run TestScript/hook_revoked",
	},
	{
		"a handoff that names an agent goes to that agent", "internal/lifecycle/payload.go",
		`return env.Target.Agent == nil }`, `return env.Target.Agent == nil || env.Status == handoff.StatusNeedsReview }`,
		"./internal/cli -run TestScript/emit_named",
	},
	{
		"what is held is shown before more is taken", "internal/app/take/resume.go",
		`g == nil && err == nil && !t.Next {`, `g == nil && err == nil && false {`,
		"./internal/cli -run TestScript/resume_again",
	},
	{
		"what is shown as held is held", "internal/app/take/claim.go",
		`v.State().Overdue(t.Engine.Now()) {`, `false {`,
		"./internal/cli -run TestScript/resume_again",
	},
	{
		"a claim is adopted with its own key alone", "internal/work/claims.go",
		` || o.Key != kid`, ``,
		"./internal/work -run TestOrphanedClaimIsAdoptedOnce",
	},
	{
		"a worktree that is there keeps its claims", "internal/work/claims.go",
		`if removed(o.GitDir) || !c.recorded(o) {`, `if true {`,
		"./internal/cli -run TestScript/resume_worktree",
	},
	{
		"a git that died did not say that there is no commit", "internal/app/emit/send.go",
		`code == 1 || code == 128 && !gitexec.CouldNotStore(err)`, `code != 0 && err != nil`,
		"./internal/cli -run TestScript/git_died",
	},
	{
		"a git that died did not refuse a name", "internal/app/checkpoint/restore.go",
		`err != nil && code != 1 && code != 128 {`, `false && code == 0 {`,
		"./internal/cli -run TestScript/git_died",
	},
	{
		"a git that died did not say that hooks are off", "internal/gitconfig/hooksdir.go",
		`err != nil && gitexec.ExitCode(err) != 128 {`, `false {`,
		"./internal/cli -run TestScript/git_died",
	},
	{
		"a remote's words are no error of this machine", "internal/gitexec/errors.go",
		`!strings.HasPrefix(line, "remote:") && `, ``,
		"./internal/gitexec -run TestErrorIs",
	},
	{
		"an object in order is not removed", "internal/refs/lost.go",
		`return err != nil || holds != oid, nil`, `return err != nil || holds != oid || true, nil`,
		inRefs + "TestDropDamaged",
	},
	{
		"what is mended was seen before", "internal/crossrepo/mend.go",
		`err = errLost(h, ref.Name)`, `err = error(nil)`,
		inCrossrepo + "TestMendWithoutTheHub|TestBrokenCopies",
	},
	{
		"a dropped copy leaves no damaged file", "internal/crossrepo/mend.go",
		`h.Repo.Store.DropDamaged(l.Object)`, `false, error(nil)`, inCrossrepo + "TestMendDropsACopy",
	},
	{
		"a ref whose file is damaged is not absent", "internal/refs/look.go",
		`!isTip(r, oid) && isDamagedRef(r, name)`, `false`, "./internal/refs -run TestBroken",
	},
	{
		"a list leaves out no damaged ref", "internal/refs/reader.go",
		`case damaged != "":`, `case false:`, "./internal/refs -run TestListLikeGit",
	},
	{
		"doctor drops no damaged ref of its own", "internal/app/doctor/refs.go",
		`case !refs.IsCopy(name):`, `case false:`, "./internal/cli -run TestScript/doctor_damaged_refs",
	},
	{
		"a damaged ref is not the hub's fault", "internal/gitexec/errors.go",
		`e.says("bad object refs/handoffs")`, `false`, "./internal/cli -run TestScript/doctor_damaged_refs",
	},

	{
		"a step that meets a lost object is not kept", "internal/app/finish/finish.go",
		`case fault.Is(err, fault.MissingObject):`, `case false:`,
		"./internal/cli -run TestScript/seal_unreadable",
	},
	{
		"a step does not stand on one that was decided before the lane was read", "internal/crossrepo/together.go",
		` && e.Old == tip })`, ` })`,
		inCrossrepo + "TestTogetherInALaneReadLater",
	},
}
