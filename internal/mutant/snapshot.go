package main

// ofSnapshots are the guards of the state of a work tree that goes with a handoff.
var ofSnapshots = []mutant{
	{
		"a file with other line ends has a way to travel", "internal/snapshot/rehearse.go",
		`fault.Run("git", "add", "--", fromHere(c.repo, path))`, `fault.Run("git", "add", "--", path)`, inScript + "snapshot_line_ends",
	},
	{
		"a pointer goes nowhere without the content of its file", "internal/snapshot/policy.go",
		`c.req.Away && !atHome[d.after]`, `false`, "./internal/snapshot -run TestPointers",
	},
	{
		"a pointer whose content is here stays at home", "internal/snapshot/rehearse.go",
		`!same && o != nil`, `o != nil`, "./internal/snapshot -run TestPointers",
	},
	{
		"a pointer in a commit that the home lacks is no pointer at the home", "internal/snapshot/policy.go",
		`= !a.objects[d.before]`, `= true`, "./internal/snapshot -run TestPointers",
	},
	{
		"the filter of Git LFS hears what the user tells it", "internal/gitexec/env.go",
		`"GIT_LFS_", `, ``, "./internal/gitexec -run TestEnviron",
	},
	{
		"git apply finds none of the user's files", "internal/snapshot/apply.go",
		`within(c.repo.Runner, files)`, `inTop(c.repo)`, "./internal/cli -run TestScript/work_landed",
	},
	{
		"a pointer of Git LFS goes where its file was pushed", "internal/snapshot/policy.go",
		` && !c.wasPushed(ctx, d.after) {`, ` {`, "./internal/snapshot -run TestPointers",
	},
	{
		"a merge driver runs where the files are", "internal/snapshot/apply.go",
		`} else if there {`, `} else if there || true {`, "./internal/cli -run TestScript/work_driver",
	},
	{
		"a blob that git apply misses is not said to be lost", "internal/snapshot/apply.go",
		`ok && !alsoSaid(rest)`, `ok`, "./internal/cli -run TestScript/work_landed",
	},
	{
		"a work tree without a commit is told apart from a failure of git", "internal/snapshot/apply.go",
		`	if err := c.isReady(); err != nil {`, `	if err := error(nil); err != nil {`, "./internal/cli -run TestScript/work_landed",
	},
	{
		"a branch above that of a work copy is named", "internal/workcopy/restore.go",
		`"refs/heads/"+above); err != nil || oid != "" {`, `"refs/heads/"+above); err != nil || len(oid) == 1 {`, "./internal/cli -run TestScript/resume_branch_above",
	},
	{
		"what git wrote before it failed is taken back: apply", "internal/snapshot/apply.go",
		`uerr := putBack(ctx, c, tree); uerr`, `uerr := error(nil); uerr`, "./internal/cli -run TestScript/work_undone",
	},
	{
		"what git wrote before it failed is taken back: here", "internal/snapshot/here.go",
		`putBack(ctx, c, whole) != nil || `, ``, "./internal/cli -run TestScript/work_undone",
	},
	{
		"nothing is taken back below a link", "internal/snapshot/putback.go",
		`info.Mode()&os.ModeSymlink != 0 {`, `false && info != nil {`, "./internal/snapshot -run TestBelowLink",
	},
	{
		"a bundle takes the place of no pipe", "internal/cli/input.go",
		`durable.WriteOutput(path`, `durable.WriteFile(path`, "./internal/cli -run TestScript/work_commands",
	},
	{
		"names of files in a snapshot are quoted", "internal/snapshot/apply.go",
		`"core.quotePath=true"`, `"core.quotePath=false"`, "./internal/cli -run TestScript/work_undone",
	},
	{
		"a file that changes while it is captured is noticed", "internal/snapshot/capture.go",
		`if !slices.Equal(tracked, again) {`, `if len(again)+len(tracked) < 0 {`,
		"./internal/snapshot -run TestChangedMeanwhile",
	},
	{
		"bytes that would change on the way are refused", "internal/snapshot/rehearse.go",
		`		if !same {`, `		if !same && err != nil {`,
		"./internal/snapshot -run TestCannotTravel",
	},
	{
		"an intent to add travels", "internal/snapshot/restore.go",
		`	if len(c.Intents) == 0 {`, `	if len(c.Intents) >= 0 {`,
		"./internal/cli -run TestScript/snapshot_hub",
	},
	{
		"an intent to add keeps the mode that the index has", "internal/snapshot/intent.go",
		`			c.intentModes[path] = mode
`, ``,
		"./internal/snapshot -run TestIntentKeepsItsMode",
	},
	{
		"a file that is written while it is captured is not taken for one with other line ends", "internal/snapshot/capture.go",
		`moved != nil && fault.Is(err, fault.CannotTravel)`, `moved != nil && fault.Is(err, fault.WorkChanged)`,
		"./internal/snapshot -run TestWrittenMeanwhile",
	},
	{
		"a snapshot with a path of git's own directory is refused before anything is written", "internal/snapshot/restore.go",
		`	if err := Sound(ctx, c); err != nil {`, `	if err := error(nil); err != nil {`,
		"./internal/snapshot -run TestHostileSnapshot",
	},
	{
		"a snapshot of more files than a disk takes is refused", "internal/snapshot/sound.go",
		`		if e.paths > one.limit {`, `		if e.paths < 0 {`, "./internal/snapshot -run TestSnapshotBomb/wide,_index",
	},
	{
		"a snapshot of deeper directories than a system opens is refused", "internal/snapshot/sound.go",
		`	if len(below)+sum.longest > maxPath {`, `	if sum.longest < 0 {`, "./internal/snapshot -run TestSnapshotBomb/deep,_tracked",
	},
	{
		"the commit below a snapshot is bounded as well", "internal/snapshot/sound.go",
		`{here, head, maxHeadPaths}`, `{here, here, maxHeadPaths}`, "./internal/snapshot -run TestSnapshotBomb/deep,_head",
	},
	{
		"a snapshot that git would not check out is not claimed", "internal/workcopy/here.go",
		`return snapshot.Sound(ctx, contents)`, `return nil`, "./internal/snapshot -run TestHostileSnapshot",
	},
	{
		"a work tree apart from its repository is refused", "internal/snapshot/place.go",
		`leadsTo(repo.Worktree, repo.GitDir)`, `repo.Worktree != ""`,
		"./internal/snapshot -run TestWorkTreeByCoreWorktreeIsRefused",
	},
	{
		"a snapshot goes with the receipt", "internal/lifecycle/engine.go",
		`	if err := b.dropWork(ctx, s, agents); err != nil {`, `	if err := error(nil); err != nil {`,
		"./internal/cli -run TestScript/snapshot_hub",
	},
	{
		"a secret in a file does not travel", "internal/snapshot/policy.go",
		`if rule := screen.Secret(words); rule != "" {`, `if rule := screen.Secret(words); len(rule) < 0 {`,
		"./internal/cli -run TestScript/snapshot_refused",
	},
	{
		"a secret in UTF-16 does not travel", "internal/snapshot/policy.go",
		`	before, after = text(before), text(after)
`, ``, "./internal/cli -run TestScript/snapshot_refused",
	},
	{
		"a secret in the name of a file does not travel", "internal/snapshot/policy.go",
		`added && rule != ""`, `!added && rule != ""`, "./internal/cli -run TestScript/snapshot_refused",
	},
	{
		"a file of keys does not travel", "internal/snapshot/policy.go",
		`if added && screen.KeyFile(path) {`, `if !added && screen.KeyFile(path) {`,
		"./internal/cli -run TestScript/snapshot_refused",
	},
	{
		"a snapshot is the one that the envelope names", "internal/crossrepo/workref.go",
		`	case now == oid:
		return nil
	}`, `	case now != "":
		return nil
	}`,
		"./internal/cli -run TestScript/snapshot_replaced",
	},
	{
		"a guarded hub lets no snapshot move", "internal/guard/work.go",
		`	case moved:`, `	case moved && want == "":`,
		"./internal/cli -run TestScript/hook_server_snapshot",
	},
	{
		"a guarded hub lets no snapshot in alone", "internal/guard/work.go",
		`	case now != "" && now != want:`, `	case now != "" && now != want && want != "":`,
		"./internal/cli -run TestScript/hook_server_snapshot",
	},
	{
		"a guarded hub lets no snapshot go alone", "internal/guard/work.go",
		`(made(st.inbox) || len(st.work) > 0)`, `made(st.inbox)`,
		"./internal/cli -run TestScript/hook_server_snapshot",
	},
	{
		"a guarded hub has its own limit of a snapshot", "internal/guard/work.go",
		`	if size > limit {`, `	if size < 0 {`,
		"./internal/cli -run TestScript/hook_server_snapshot",
	},
	{
		"a snapshot brings no code of an agent in", "internal/guard/fresh.go",
		`"--exclude=" + string(refs.LocalNamespace) + "work/*", `, ``,
		"./internal/cli -run TestScript/hook_server_laundered",
	},
	{
		"files that git does not know are not overwritten by a snapshot", "internal/snapshot/way.go",
		`	case !there:
		w.lost`, `	case !there && there:
		w.lost`,
		"./internal/cli -run TestScript/resume_here",
	},
	{
		"ignored files are not deleted with the directory that a file takes the place of", "internal/snapshot/way.go",
		`		return w.within(ctx, was, path)`, `		return nil`,
		"./internal/cli -run TestScript/resume_here",
	},
	{
		"a snapshot writes nothing into a repository inside the work tree", "internal/snapshot/way.go",
		`	case isRepository(w.onDisk(path)):
		w.repositories = append(w.repositories, path)
	case e.Mode`, `	case e.Mode`,
		"./internal/snapshot -run TestRepositoriesInTheWorkTreeStay/a_submodule_in_the_place",
	},
	{
		"a snapshot removes no repository inside the work tree", "internal/snapshot/way.go",
		`	case isRepository(w.onDisk(path)):
		w.repositories = append(w.repositories, path)
	case was.Mode`, `	case was.Mode`,
		"./internal/snapshot -run TestRepositoriesInTheWorkTreeStay/removed",
	},
	{
		"a submodule is no file that makes way for a directory", "internal/snapshot/way.go",
		`there && was.Mode != gitobj.Gitlink:`, `there:`,
		"./internal/snapshot -run TestRepositoriesInTheWorkTreeStay/files_that_a_submodule_left_behind",
	},
	{
		"a checkout does not move the submodules of the work tree", "internal/gitexec/run.go",
		`	"-c", "submodule.recurse=false",
`, ``,
		"./internal/snapshot -run TestSubmodulesAreNotTouched",
	},
	{
		"a patch has the submodules that .gitmodules hides", "internal/snapshot/apply.go",
		`"--no-color", "--ignore-submodules=none"`, `"--no-color"`,
		"./internal/snapshot -run TestPatchHasSubmodules",
	},
	{
		"a file of which git was told not to look at it is not overwritten", "internal/snapshot/lose.go",
		`		case flag == "h":`, `		case flag == "-":`,
		"./internal/cli -run TestScript/resume_here",
	},
	{
		"a checkout that was cut off overwrites nothing that was changed since", "internal/snapshot/here.go",
		`	foreign, err := c.foreign(ctx, whole, changed)`, `	foreign, err := []string(nil), error(nil)`,
		"./internal/snapshot -run TestFinishHereLosesNothing",
	},
	{
		"a snapshot goes from every inbox", "internal/lifecycle/engine.go",
		`range agents {
		ref, old`, `range []string{s.Agent} {
		ref, old`,
		"./internal/lifecycle -run TestHalfAStepWithSnapshot",
	},
	{
		"a snapshot whose handoff is there is not stray", "internal/receipt/stray.go",
		`		if now == "" {`, `		if now == "" || err == nil {`,
		"./internal/cli -run TestScript/snapshot_reroute",
	},
	{
		"a snapshot that was kept for a step which waits for its hub is not stray", "internal/receipt/stray.go",
		`!kept[id] && !isPending(repo, id)`, `!kept[id]`,
		"./internal/cli -run TestScript/snapshot_back",
	},
	{
		"an acknowledgement sends the state back once", "internal/app/finish/followup.go",
		`	case s.Receipt != nil || !h.Is(s.Claim):`, `	case s.Claim == nil:`,
		"./internal/cli -run TestScript/snapshot_back",
	},
	{
		"an audit names an open handoff whose snapshot is gone", "internal/app/audit/compare.go",
		`		return c.carried(ctx, lane.Name, s.ID, at)`, `		return nil`,
		"./internal/cli -run TestScript/audit_snapshot",
	},
	{
		"an audit looks again where a snapshot's ref changed", "internal/app/audit/compare.go",
		`	for _, name := range slices.Sorted(maps.Keys(c.work)) {`, `	for _, name := range slices.Sorted(maps.Keys(c.views)) {`,
		"./internal/cli -run TestScript/audit_snapshot",
	},
	{
		"a refused reroute keeps no copy of a snapshot", "internal/app/move/move.go",
		`		lifecycle.ForgetWork(ctx, h.Repo, f.Home, p)`, `		_ = p`,
		"./internal/cli -run TestScript/snapshot_copy",
	},
	{
		"a lock in the way of a new worktree is noted for doctor", "internal/workcopy/restore.go",
		`	if _, err := os.Lstat(snapshot.BranchLock(h.Repo, c.Branch)); err == nil {`, `	if false {`,
		"./internal/cli -run TestScript/snapshot_locked",
	},
	{
		"a worktree that was begun keeps git from no fetch", "internal/cli/app.go",
		`	if err := (&workcopy.Handler{Repo: repo}).Mend(); err != nil {`, `	if err := error(nil); err != nil && (&workcopy.Handler{}).Mend() != nil {`,
		"./internal/cli -run TestScript/snapshot_killed",
	},
	{
		"a secret that was written into a merge does not travel", "internal/snapshot/ahead.go",
		`"--diff-merges=combined"`, `"--diff-merges=off"`,
		"./internal/cli -run TestScript/snapshot_merge",
	},
	{
		"a path added in intention whose file is gone does not travel", "internal/snapshot/capture.go",
		`!one.mayBeGoneIntent()`, `one.mayBeGoneIntent()`, "./internal/snapshot -run TestCannotTravel",
	},
}
