package main

// ofPeople are the guards of the texts that people look at.
var ofPeople = []mutant{
	{
		"who moved the file of a key is told how to name it again", "internal/sign/open.go",
		`
			WithHints(fault.See("init").Because("with --key FILE it gives this worktree the key again, if the file has moved"))`, `
			WithHints()`, inScript + "init_key_moved",
	},
	{
		"the key of all worktrees is for their agent alone", "internal/workspace/workspace.go",
		`if repo.Config.Get("handoff.agent") == agent {`, `if agent != "" {`, inScript + "init_worktrees",
	},
	{
		"the key of all worktrees is known in each", "internal/app/initrepo/initrepo.go",
		`err = settings.Set(ctx, "handoff.key", key)`, `err = settings.Unset(ctx, "handoff.key")`, inScript + "init_worktrees",
	},
	{
		"a link out of a project is named with the place to which it leads", "internal/app/agentsetup/setup.go",
		`work tree, to %s", w.path, place)`, `work tree, to %s", w.path, path)`, inScript + "setup_linked",
	},
	{
		"a hint that repeats the command has -C once", "internal/cli/output/invocation.go",
		`(argv[1] != "-C" || argv[2] != v.Dir):`, `argv[2] != "":`, inScript + "validate_foreign",
	},
	{
		"a key file is a regular file", "internal/sign/open.go",
		`if err == nil && !info.Mode().IsRegular() {`, `if err == nil && !info.Mode().IsRegular() && !info.IsDir() {`, "./internal/sign -run TestKeyFileIsAFile",
	},
	{
		"the page of a report may ask for nothing", "internal/report/page.go",
		`"default-src 'none'; style-src`, `"style-src`,
		"./internal/report -run TestPageIsSelfContained",
	},
	{
		"a step that does not count is not in the page", "internal/cli/report.go",
		`if e.Dispute == nil && !e.Overtaken {`, `if !e.Overtaken {`,
		"./internal/cli -run TestScript/report_",
	},
	{
		"a goal is for a person at a terminal alone", "internal/cli/status.go",
		`if !c.Terminal() {`, `if false {`, inScript + "status_screen",
	},
	{
		"a quoted goal has 64 bytes at most", "internal/untrusted/untrusted.go",
		`b.Len()+len(c) > MaxOutside-len(`, `b.Len() > 1000+len(`, "./internal/untrusted -run TestQuote",
	},
	{
		"a quoted goal is escaped", "internal/untrusted/untrusted.go",
		`c := Line(string(r))`, `c := string(r)`, "./internal/untrusted -run TestQuote",
	},
	{
		"the key is made before the repository changes", "internal/app/initrepo/initrepo.go",
		`	key, err := h.key(ctx, repo, r) // first`, `	_ = makeDirs(repo)
	key, err := h.key(ctx, repo, r) // first`, inScript + "init_no_key",
	},
	{
		"an ended handoff is not held for a program", "internal/cli/hold.go",
		`!h.Held() || `, ``, "./internal/cli -run TestScript/hold_run",
	},
	{
		"a lease is renewed when half of it is over", "internal/app/hold/hold.go",
		`until.Sub(h.Now())/2)`, `until.Sub(h.Now()))`, "./internal/app/hold -run TestHold",
	},
	{
		"who holds for a program learns of a lost claim", "internal/app/hold/hold.go",
		`case fault.CodeOf(err) == fault.Conflict:`, `case fault.CodeOf(err) == fault.Bug:`, "./internal/app/hold -run TestHoldLost",
	},
	{
		"who lost a claim is told who ended it", "internal/app/finish/finish.go",
		`st.Over.Event == record.Released {`, `st.Over.Event == record.Acknowledged {`, "./internal/cli -run TestScript/hold_run",
	},
	{
		"the line of patience is gone before a result is printed", "internal/cli/output/patience.go",
		`	b.line.Hide()
`, ``, "./internal/cli/output -run TestPatience",
	},
	{
		"a long wait is told of once", "internal/cli/output/patience.go",
		`if !slices.Contains(p.told, place) {`, `if !slices.Contains(p.told[:0], place) {`, "./internal/cli/output -run TestPatienceWithoutATerminal",
	},
	{
		"a program that waits for a hub names it", "internal/cli/app.go",
		`output.NewPatience(w, env.Stderr, env.Now)`, `output.NewPatience(w, nil, env.Now)`, "./internal/cli -run TestHangingHubIsNamed",
	},
	{
		"one handler takes the signals of a board", "internal/cli/board.go",
		`		tea.WithoutSignalHandler(),`, `		tea.WithColorProfile(0),`, "./internal/cli -run TestBoardEndsAtASignal",
	},
	{
		"a board waits for the end of its sync", "internal/cli/board.go",
		`	b.syncer.close()
`, ``, "./internal/cli -run TestHangingGitEndsWithItsCommand/board",
	},
	{
		"no child of a git outlives its time", "internal/gitexec/run.go",
		`syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // a child`, `error(nil) // a child`, "./internal/gitexec -run TestRunEndsStubbornChildren",
	},
	{
		"a board that no shell could continue is not stopped", "internal/board/keys.go",
		`session == unix.Getpgrp()`, `session < 0`, "./internal/cli -run TestBoardSuspends",
	},
	{
		"a key that clears does not quit the board", "internal/board/keys.go",
		`		b.filter = ""
		b.choose()
	case "q":`, `		if b.filter == "" {
			return tea.Quit
		}
		b.filter = ""
		b.choose()
	case "q":`, "./internal/board -run TestFilter",
	},
	{
		"the keys are not told of twice", "internal/board/keys.go",
		`; b.keys() != keys {`, `; true {`, "./internal/board -run TestNarrowKeys",
	},
	{
		"a set-up is written before its diff is read", "internal/cli/setup.go",
		`	done := "nothing was written"
`, `	done := "nothing was written"
	for _, change := range changes {
		c.print(change, true)
	}
`, inScript + "setup_pipe",
	},
	{
		"a board fits a terminal of any height", "internal/board/view.go",
		`return max(1, min(mostSaid, height-3))`, `return min(mostSaid, height-3)`, "./internal/board -run TestAnySize",
	},
	{
		"what is pasted on the board hides nothing of its line", "internal/board/keys.go",
		`case r == utf8.RuneError, unicode.Is(unicode.Bidi_Control, r):`, `case r == utf8.RuneError:`, "./internal/board -run TestPaste",
	},
	{
		"a text on the board waits for what is typed", "internal/board/board.go",
		` || b.mode != listing && b.mode != reading {`, ` {`, "./internal/board -run TestTextWaits",
	},
	{
		"a board tells a person commands for a shell", "internal/cli/board.go",
		`backend.worker.person = true`, `backend.worker.person = false`, "./internal/cli -run TestBoardNamesCommands",
	},
	{
		"a claimed handoff stands on the board below its parent", "internal/cli/board.go",
		`for n := 0; r.Event != record.Offered; n++ {`, `for n := 0; false; n++ {`, "./internal/cli -run TestBoardShowsChains",
	},
	{
		"no reading of the board waits for all steps of a handoff", "internal/cli/board.go",
		`n == mostStepsBack ||`, `n < 0 ||`, "./internal/cli -run TestBoardReadsFewSteps",
	},
	{
		"a handoff of one hub hides none of another on the board", "internal/board/board.go",
		`return place{r.ID, r.To}`, `return place{r.ID, ""}`, "./internal/board -run TestTwoHubs",
	},
	{
		"no call of a board begins after its end", "internal/cli/mcp.go",
		`	if t.over {`, `	if false {`, "./internal/cli -run TestNoCallBegins",
	},
	{
		"a pager that does not exist loses no output", "internal/cli/pager.go",
		` || end.code == gitexec.NotFound {`, ` {`, inScript + "status_screen",
	},
	{
		"a board has colours where lists have them", "internal/cli/board.go",
		`if a.Coloured() {`, `if true {`, "./internal/cli -run TestBoardColours",
	},
	{
		"the board asks before it takes something away", "internal/board/keys.go",
		`if k.String() != "y" {`, `if false {`, "./internal/board -run TestKeysThatTakeAHandoffAwayAsk",
	},
	{
		"an answer on the board stays with its handoff", "internal/board/keys.go",
		`b.begun.outdated(b.rows, "your answer was not sent"); b.said`, `""; b.said`, "./internal/board -run TestAnswerStaysWithItsHandoff",
	},
	{
		"a confirmation on the board stays with its handoff", "internal/board/keys.go",
		`b.begun.outdated(b.rows, "nothing was done"); b.said`, `""; b.said`, "./internal/board -run TestConfirmationStaysWithItsHandoff",
	},
	{
		"another holder is another question", "internal/board/keys.go",
		` && now.Holder == r.Holder`, ``, "./internal/board -run TestConfirmationStaysWithItsHandoff",
	},
	{
		"a key on the board is for the row that was drawn", "internal/board/keys.go",
		`!b.moved(key)`, `!b.moved("enter")`, "./internal/board -run TestKeyIsForTheRowThatWasDrawn",
	},
	{
		"an answer that is typed is no flag", "internal/board/keys.go",
		`"--answer="+b.input`, `b.input`, "./internal/board -run TestKeysRun",
	},
	{
		"an end of an id that is shown means one handoff", "internal/handoff/id.go",
		`length[i], length[i+1] = max(length[i], n), n`, `_ = n`, "./internal/handoff -run TestEnds",
	},
	{
		"the ends of ids in a list tell apart all that a ref leads to", "internal/workspace/list.go",
		`ids = append(ids, it.Place.ID)`, `_ = it`, inScript + "inbox_ends",
	},
	{
		"setup does not remove what it did not write", "internal/app/agentsetup/remove.go",
		`c.State == Same {
			c.State, c.Why`, `c.State == Write {
			c.State, c.Why`, inScript + "setup_moved",
	},
	{
		"what is dated ahead of the clock does not wait for its agent", "internal/workspace/list.go",
		`case r.At.After(now.Add(lifecycle.ClockSkew)):`, `case false:`, "./internal/workspace -run AheadOfTheClock",
	},
	{
		"a claim dated ahead of the clock is a claim", "internal/workspace/list.go",
		`case r.Event == record.Claimed || r.Event == record.Progressed:`, `case (r.Event == record.Claimed || r.Event == record.Progressed) && !r.At.After(now.Add(lifecycle.ClockSkew)):`,
		"./internal/workspace -run AheadOfTheClock",
	},
	{
		"nobody is asked to decide what is dated ahead of the clock", "internal/app/survey/survey.go",
		`if it.State(now) == "early" {`, `if false {`, inScript + "status_early",
	},
	{
		"an end that two held handoffs share ends neither", "internal/work/held.go",
		`if len(held) > 1 {
		return nil, handoff.Ambiguous(`, `if len(held) > 2 {
		return nil, handoff.Ambiguous(`, "./internal/work -run TestFindAmbiguous",
	},
	{
		"the end of an id in a hint means one handoff", "internal/cli/app.go",
		`ends, err := ws.Ends(context.WithoutCancel(ctx), ids...)`, `ends, err := handoff.EndsOf(ids), error(nil)`, inScript + "inbox_ends",
	},
	{
		"who is invited is not called unknown", "internal/app/emit/advise.go",
		`if until := s.Expected(name); !until.IsZero() {`, `if until := s.Expected(name); false {`, inScript + "emit_invited",
	},
	{
		"a text on the board goes on below the edge", "internal/board/reader.go",
		`r.lines, r.page = wrapped(r.raw, width), `, `r.lines, r.page = wrapped(r.raw, 1000), `, "./internal/board -run TestLongTextCanBeReadToItsEnd",
	},
	{
		"in a pipe nobody is told what a command waits for", "internal/cli/app.go",
		`if output.IsTerminal(env.Stderr) && env.Getenv("TERM") != "dumb" {`, `if true {`, "./internal/cli -run TestPatienceAtATerminal",
	},
}
