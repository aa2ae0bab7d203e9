package main

// ofAgents are the guards of the texts that coding agents read and of the tools that they may
// call.
var ofAgents = []mutant{
	{
		"a notification in a batch keeps no answer back", "internal/mcp/messages.go",
		`case !ok || one.IsCall():`, `case !ok || one != nil:`, "./internal/mcp -run TestBatchWithNotifications",
	},
	{
		"the name of a result over MCP does not reach into its value", "internal/cli/mcp.go",
		`if strings.Contains(k, "=") {`, `if false {`, "./internal/cli -run TestMCPNamesItsOwnTools",
	},
	{
		"a claim that is not confirmed is not held over MCP", "internal/app/agenthook/overview.go",
		` && !st.Unconfirmed()`, ``, inScript + "status_unconfirmed",
	},
	{
		"who gets a handoff whose authority was revoked is told how to end it", "internal/lifecycle/claim.go",
		`return ToRecipient(err, s.ID)`, `return err`, inScript + "obo_over",
	},
	{
		"a lease that ended with its token is not said to be renewable", "internal/work/held.go",
		`&& (err == nil || fault.CodeOf(err) == fault.Unavailable):`, `:`, inScript + "obo_over",
	},
	{
		"a status says that the authority of a claim was revoked", "internal/cli/status.go",
		`h.Lapsed == string(fault.Revoked)`, `h.Lapsed == "x"`, inScript + "obo_over",
	},
	{
		"an inbox over MCP does not wait for a hub that is stuck", "internal/cli/mcp.go",
		`ws.Repo.Runner.Limit = lookTime`, `ws.Repo.Runner.Limit = 0`, "./internal/cli -run TestMCPReadsBesideAStep",
	},
	{
		"a handoff is shown over MCP while a step waits", "internal/cli/mcp.go",
		`out, _, err := t.run(ctx, withID([]string{"show"}, id)...)`, `out, _, err := t.step(ctx, withID([]string{"show"}, id)...)`, "./internal/cli -run TestMCPReadsBesideAStep",
	},
	{
		"a call under way at the end of the input is answered", "internal/mcp/session.go",
		`if errors.Is(err, io.EOF) {`, `if errors.Is(err, io.EOF) && false {`, "./internal/mcp -run TestEndOfInput",
	},
	{
		"a client that died leaves no MCP server behind", "internal/mcp/session.go",
		`defer time.AfterFunc(s.transport.patience, s.transport.interrupt).Stop()`, ``, "./internal/mcp -run TestEndOfInput",
	},
	{
		"two requests over MCP have two ids", "internal/mcp/requests.go",
		`asked[one.ID] != nil || r.open[one.ID] != nil`, `false`, "./internal/mcp -run TestTwoRequestsOfOneID",
	},
	{
		"an id over MCP is not rounded", "internal/mcp/messages.go",
		`n != math.Trunc(n) || math.Abs(n) >= most`, `math.Abs(n) < 0`, "./internal/mcp -run TestMalformedLineIsAnswered",
	},
	{
		"a cancelled call over MCP has no answer", "internal/mcp/requests.go",
		`return one == nil || !one.cancelled`, `return one == one`, "./internal/mcp -run TestCancelledCallIsNotAnswered",
	},
	{
		"a cancelled call of a batch over MCP has an answer", "internal/mcp/requests.go",
		`one != nil && !one.batch`, `one != nil`, "./internal/mcp -run TestCancelledCallIsNotAnswered",
	},
	{
		"an interrupt over MCP has the words of a command", "internal/cli/mcp.go",
		`err = refusalOf(ctx, root.ExecuteContext(ctx))`, `err = root.ExecuteContext(ctx)`, "./internal/cli -run TestMCPInterruptedCall",
	},
	{
		"an argument over MCP fits its schema", "internal/mcp/arguments.go",
		`case !kind.fits(value):`, `case false:`, "./internal/mcp -run TestArgumentsAreRefusedInPlainWords",
	},
	{
		"an argument over MCP that is null is absent", "internal/mcp/arguments.go",
		`case value == nil:`, `case false:`, "./internal/mcp -run TestArgumentsAreRefusedInPlainWords",
	},
	{
		"a handoff over MCP names tools and no commands", "internal/cli/prompt.go",
		`		return mcp.Call(argv...)
`, `		_ = mcp.Call
`, "./internal/cli -run TestMCP$",
	},
	{
		"a refusal over MCP names arguments and no flags", "internal/cli/prompt.go",
		`r.tools && argument != ""`, `argument == "-"`, "./internal/cli -run TestMCPNamesItsOwnTools",
	},
	{
		"a hint over MCP is one that an agent without a shell can follow", "internal/mcp/server.go",
		`told := Hint(h)`, `told := h.String()`, "./internal/cli -run TestMCPNamesItsOwnTools",
	},
	{
		"an interrupt of the MCP server ends a call", "internal/mcp/session.go",
		`defer context.AfterFunc(ctx, cancel)()`, `defer context.AfterFunc(call, cancel)()`, "./internal/mcp -run TestInterrupt",
	},
	{
		"a batch does not end a server whose protocol has none", "internal/mcp/messages.go",
		`trimmed[0] == '[' && m.single`, `trimmed[0] == '[' && m.single && false`, "./internal/mcp -run TestBatches",
	},
	{
		"a hook follows a link before the dots behind it", "internal/agents/gate.go",
		`if at := resolved(p); at != found[len(found)-1] {`, `if at := resolved(p); at == "" {`, "./internal/cli -run TestScript/hook_agent_elsewhere",
	},
	{
		"a call that cannot be read needs everything", "internal/app/agenthook/handler.go",
		`	if call.Unread != nil {
		scopes = []string{"repo.write:*", "repo.push:*"} // all that a hook reads of one
	}
`, ``, inScript + "hook_agent_unread",
	},
	{
		"a call that cannot be read is no silence", "internal/app/agenthook/ground.go",
		`if call.Unread == nil && len(`, `if len(`, inScript + "hook_agent_unread",
	},
	{
		"the directory of a hook decides about a call that cannot be read", "internal/cli/hookagent.go",
		`		hook.Dir = cmp.Or(hook.Dir, here)
`, ``, inScript + "hook_agent_unread",
	},
	{
		"a call that comes too late is one that cannot be read", "internal/cli/hookagent.go",
		`		return call, nil
	}
	why := err`, `		return call, nil
	}
	if isLate(err) {
		return nil, err
	}
	why := err`, inScript + "hook_agent_unread",
	},
	{
		"a call for whose judgement there is no time is one that cannot be read", "internal/cli/hookagent.go",
		`if call.Event == agents.BeforeTool && isLate(err) {`, `if false {`, inScript + "hook_agent_unread",
	},
	{
		"a call that cannot be read is no error of its hook", "internal/agents/call.go",
		`	case tool && err != nil:`, `	case tool && err != nil && p != nil:`, "./internal/agents -run TestUnreadCalls",
	},
	{
		"a call with invalid bytes cannot be read", "internal/agents/call.go",
		`!utf8.Valid(b) {`, `!utf8.Valid(nil) {`, "./internal/agents -run TestUnreadCalls",
	},
	{
		"a call of two tools cannot be read", "internal/agents/call.go",
		`case p.several("toolname"):`, `case false:`, "./internal/agents -run TestUnreadCalls",
	},
	{
		"arguments that are no JSON cannot be read", "internal/agents/call.go",
		`} else if opens(s) && !isShell(tool) {`, `} else if false {`, "./internal/agents -run TestUnreadCalls",
	},
	{
		"a call of too many files cannot be read", "internal/agents/call.go",
		`		c.Unread = c.bounded()
`, ``, "./internal/agents -run TestUnreadCalls",
	},
	{
		"each of two members counts", "internal/agents/gate.go",
		`	for _, m := range o {
		if hasName(m.name, pathMembers...)`, `	for _, m := range o[len(o)-1:] {
		if hasName(m.name, pathMembers...)`, "./internal/agents -run TestScopesOfEveryReading",
	},
	{
		"each of two arguments counts", "internal/agents/call.go",
		`			all = append(all, v)
		}
	}
	return all, err`, `			all = []any{v}
		}
	}
	return all, err`, "./internal/agents -run TestScopesOfEveryReading",
	},
	{
		"a path at home is one", "internal/agents/path.go",
		`	if !isAnchored(p) {`, `	if true {`, "./internal/agents -run TestScopesOfEveryReading",
	},
	{
		"a directory that a tool may not know does not move its files", "internal/agents/gate.go",
		`if len(dirs) != 1 || !isShell(c.Tool) {`, `if len(dirs) != 1 {`, "./internal/agents -run TestScopesBesideADirectory",
	},
	{
		"an input too large is read to its end", "internal/agents/call.go",
		`		_, _ = io.Copy(io.Discard, in)
`, ``, "./internal/agents -run TestLargeInputIsReadToItsEnd",
	},
	{
		"an id from a client is no flag", "internal/cli/mcp.go",
		`return append(args, "--", id)`, `return append(args, id)`, "./internal/cli -run TestMCPArgumentsAreData",
	},
	{
		"a text from a client names no file", "internal/cli/mcp.go",
		`args = append(args, "--summary="+literal(g.Summary))`, `args = append(args, "--summary="+g.Summary)`, "./internal/cli -run TestMCPArgumentsAreData",
	},
	{
		"a task that is no key stays out of sentences", "internal/agents/sentence.go",
		`if trackerKey().MatchString(h.Task) {`, `if h.Task != "" {`, "./internal/cli -run TestMCPInboxQuotesNobody",
	},
	{
		"an odd member of a call does not switch its check off", "internal/agents/call.go",
		`if s, _ := m.value.(string); m.name == name && s != "" {`, `if s := m.value.(string); m.name == name && s != "" {`, "./internal/agents -run TestScopesOfAnOddCall",
	},
	{
		"arguments of a tool may be a string", "internal/agents/call.go",
		`if in, ok := written(s); ok {`, `if in, ok := written(s); !ok {`, "./internal/agents -run TestScopesOfAnOddCall",
	},
	{
		"a tool that searches and replaces writes", "internal/agents/gate.go",
		`		if strings.Contains(t, w) {`, `		if strings.Contains(w, t) {`, "./internal/agents -run TestScopes/search_and_replace",
	},
	{
		"files of single edits are checked", "internal/agents/gate.go",
		`			walk(m.value, hasName(m.name, wrappers...)`, `			walk(nil, hasName(m.name, wrappers...)`, "./internal/agents -run TestScopes/single_edits",
	},
	{
		"a file is judged by the work tree that it lies in", "internal/cli/hookagent.go",
		`range places[1:] {`, `range places[:0] {`, "./internal/cli -run TestScript/hook_agent_elsewhere",
	},
	{
		"a repository within a work tree is part of it", "internal/refs/locate.go",
		`tops = append(tops, dirs.Top)`, `return []string{dirs.Top}`, "./internal/cli -run TestScript/hook_agent_elsewhere",
	},
	{
		"what looks like a URI is a path, too", "internal/agents/path.go",
		`		paths = append(paths, s)
`, ``, "./internal/agents -run TestScopes/a_URI_with_dots",
	},
	{
		"a link to a new file leads to it", "internal/agents/gate.go",
		`|| err != nil || links == 0 {`, `|| err != nil || links >= 0 {`, "./internal/agents -run TestScopes/a_link_to_a_new_file",
	},
	{
		"a terminal obeys nothing that a filter selects", "internal/cli/output/printer.go",
		`return tame{w}`, `_ = tame{w}`, "./internal/cli/output -run TestFilteredTextAtATerminal",
	},
	{
		"an interruption ends an expression of jq", "internal/cli/filter/filter.go",
		`code.RunWithContext(ctx, value)`, `code.RunWithContext(context.WithoutCancel(ctx), value)`, "./internal/cli/filter -run TestJQEndsWithItsContext",
	},
	{
		"an interruption ends a template", "internal/cli/filter/filter.go",
		`in.CloseWithError(ctx.Err())`, `error(nil)`, "./internal/cli/filter -run TestTemplateEndsWithItsContext",
	},
	{
		"a hook of Codex CLI without a digest was not reviewed", "internal/app/agentdoctor/codex.go",
		`TrustedHash != ""`, `TrustedHash != "sha256:"`, "./internal/app/agentdoctor -run TestReviewOfCodex",
	},
	{
		"a second route is told", "internal/app/agentdoctor/doctor.go",
		`if len(routes) == 1 {`, `if len(routes) > 0 {`, "./internal/app/agentdoctor -run TestTwoRoutes",
	},
	{
		"where git runs no hooks, resume says how a commit names its handoff", "internal/app/githook/byhand.go",
		`case dir == "":`, `case false:`, inScript + "resume_hooks_off",
	},
	{
		"if-held allows nothing to whoever holds a token", "internal/app/pushcheck/query.go",
		`if q.IfHeld && q.Arg == "" && (`, `if q.IfHeld && q.Arg == "" || (`, inScript + "obo_check_held",
	},
	{
		"a change that has not settled is looked at again", "internal/footprint/footprint.go",
		`at.Sub(p.Newest) >= Settling`, `true`, "./internal/app/agenthook -run TestFreshChangesAreReadAgain",
	},
	{
		"a stamp that is written later does not make an old look a settled one", "internal/app/agenthook/stamp.go",
		`if !s.looked.IsZero() {`, `if s.looked = time.Now(); true {`, "./internal/app/agenthook -run TestFreshChangesAreReadAgain",
	},
	{
		"an inbox that changed is no silence", "internal/refs/locate.go",
		`all = append(all, namespace+"/inbox/"+agent)`, `_ = agent`, "./internal/app/agenthook -run TestQuietUntilSomethingChanges",
	},
	{
		"a lane of what is held is listened to", "internal/refs/locate.go",
		`all = append(all, namespace+"/log/"+lane)`, `_ = lane`, "./internal/app/agenthook -run TestLanesOfWhatIsHeldAreListenedTo",
	},
	{
		"a stamp that others could write silences nobody", "internal/app/agenthook/stamp.go",
		`private.ReadState(path, private.MaxState); err == nil && json`, `private.Read(path, 0, 1<<20); err == nil && json`, "./internal/app/agenthook -run TestStampThatOthersCouldWriteIsIgnored",
	},
	{
		"where packed-refs is not sorted, git is asked", "internal/refs/reffiles.go",
		`return false, nil`, `return true, nil`, "./internal/refs -run TestNamedReadsUnsortedPackedRefs",
	},
	{
		"an arrival in a crowded inbox is told", "internal/app/agenthook/handler.go",
		`len(all) > maxCrowd && h.Stamp.Crowd`, `len(all) > maxRead && h.Stamp.Crowd`, "./internal/app/agenthook -run TestCrowdedInboxIsAnnouncedByItsNumber",
	},
	{
		"JSON of no client is no last message", "internal/dialect/lastmessage.go",
		`if !t.known {`, `if false {`, "./internal/dialect -run TestLastMessageRefused",
	},
	{
		"what the user said is no last message", "internal/dialect/lastmessage.go",
		`e.Role == "assistant" && `, ``, "./internal/dialect -run TestLastMessageRefused",
	},
	{
		"the name of an agent that is trusted no more is not said", "internal/app/agenthook/local.go",
		`l.trusted[name] || e.Retired == ""`, `true`, "./internal/cli -run TestHostileNames",
	},
	{
		"a repository whose configuration git did not read is asked for", "internal/refs/discover.go",
		`!isPlain(r.Config, dirs) || !readFrom(`, `!isPlain(r.Config, dirs) || false && !readFrom(`, "./internal/refs -run TestOpenPlainRefuses",
	},
	{
		"a work tree that is elsewhere is asked for", "internal/refs/discover.go",
		`!isPlain(r.Config, dirs) || !`, `!`, "./internal/refs -run TestOpenPlainLikeGit",
	},
	{
		"a branch that is another one is asked for", "internal/refs/files.go",
		`return oid, isTip(r, oid)`, `return oid, true`, "./internal/refs -run TestOpenHeadLikeGit",
	},
	{
		"HEAD that is a symbolic link is asked for", "internal/refs/head.go",
		`!info.Mode().IsRegular() {`, `info == nil {`, "./internal/refs -run TestOpenHeadLikeGit",
	},
	{
		"a git that is too old is found out", "internal/refs/config.go",
		`"--config-env=" + since + "=LC_ALL", `, ``, "./internal/refs -run TestOpenWithAGitThatIsTooOld",
	},
	{
		"a session that goes on gives nothing back", "internal/app/agenthook/worker.go",
		`== "release" && !call.GoesOn {`, `== "release" {`, "./internal/app/agenthook -run TestReleaseAtTheEnd",
	},
	{
		"a worker that holds a handoff takes no second one", "internal/app/agenthook/worker.go",
		`if len(held) == 1 {`, `if false {`, "./internal/app/agenthook -run TestWorkerGoesOn",
	},
	{
		"a text that the answer has no room for was not shown", "internal/app/agenthook/worker.go",
		`<= agents.MaxAnswer {`, `> 0 {`, "./internal/app/agenthook -run TestTakenIsTooLong",
	},
	{
		"a hook claims nothing at a hub", "internal/app/take/offers.go",
		`homes := []lifecycle.Home{t.Local}
	if !t.OnlyLocal {`, `homes := []lifecycle.Home{t.Local}
	if true {`, inScript + "hook_agent_worker",
	},
	{
		"two sessions that begin at once take one handoff", "internal/cli/hookagentsession.go",
		`take.Request{OnlyLocal: true,`, `take.Request{Next: true, OnlyLocal: true,`, inScript + "hook_agent_workers",
	},
	{
		"what comes before the first look of a watch is told", "internal/app/agentwatch/watch.go",
		`w.since, w.told = true, nil`, `w.since = true`, "./internal/app/agentwatch -run TestNoGapBeforeTheFirstLook",
	},
	{
		"a line that nobody heard was not told", "internal/app/agentwatch/watch.go",
		`if err == nil && outcome == Unheard {`, `if false {`, "./internal/app/agentwatch -run TestUnheardLineIsSaidAgain",
	},
	{
		"hooks of a program that is gone are a problem", "internal/app/agentdoctor/doctor.go",
		`if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {`, `if _, err := os.Stat(path); errors.Is(err, fs.ErrExist) {`, "./internal/app/agentdoctor -run TestProgramThatIsGone",
	},
	{
		"a record of setup that others could have written is refused", "internal/app/agentsetup/record.go",
		`private.Read(path, private.Others, maxFile)`, `private.Read(path, 0, maxFile)`, inScript + "setup_record",
	},
	{
		"setups at once keep each other's records", "internal/app/agentsetup/record.go",
		`unlock, err = private.Lock(ctx, path)`, `unlock, err = func() {}, ctx.Err()`, "./internal/app/agentsetup -run TestSetupsAtOnce",
	},
	{
		"entries that an older setup wrote are replaced", "internal/app/agentsetup/setup.go",
		`text, whole = known.cutOut(c.before)`, `_, whole = known.cutOut(c.before)`, "./internal/app/agentsetup -run TestNewerVersionReplacesOlderEntries",
	},
	{
		"entries that only moved are the same", "internal/app/agentsetup/setup.go",
		`same = sameEntries(c.before, c.after)`, `same = bytes.Equal(c.before, c.after)`, "./internal/app/agentsetup -run TestEntriesInAnotherOrderAreTheSame",
	},
	{
		"what setup puts back is not noted twice", "internal/app/agentsetup/setup.go",
		`append(known.rest(c.before, w.entries), c.inserted...)`, `append(slices.Clone(known.Inserted), c.inserted...)`, "./internal/app/agentsetup -run TestRemovedByHandComesBack",
	},
	{
		"no table is added beside an inline one of the same name", "internal/app/agentsetup/toml.go",
		`_, err := codexServers(c.after); err != nil {`, `_, err := codexServers(c.before); err != nil {`, "./internal/app/agentsetup -run TestTOMLInlineIsRefused",
	},
	{
		"no table is added to a configuration that cannot be read", "internal/app/agentsetup/toml.go",
		"if err != nil {\n\t\treturn c.malformed(err)", "if err != nil && servers != nil {\n\t\treturn c.malformed(err)", "./internal/app/agentsetup -run TestBrokenTOMLIsRefused",
	},
	{
		"a link leads no file of a project elsewhere", "internal/app/agentsetup/setup.go",
		`if err != nil || parts[0] == ".." ||`, `if err != nil ||`, inScript + "setup_linked",
	},
	{
		"a link leads no file of a project into git's directory", "internal/app/agentsetup/setup.go",
		`|| slices.ContainsFunc(parts, git) {`, `|| slices.ContainsFunc(parts[:0], git) {`, inScript + "setup_linked",
	},
	{
		"a call in another directory is judged there", "internal/agents/gate.go",
		`			add(dir + "/" + p)`, `			add(dir[:0] + c.Dir + "/" + p)`, "./internal/agents -run TestScopes",
	},
	{
		"a bare patch is judged", "internal/agents/call.go",
		`v = members{{"input", s}, {"command", s}}`, `v = members{{s, nil}}`, "./internal/agents -run TestScopesOfAnOddCall",
	},
	{
		"the message of another commit hands nothing over", "internal/app/githook/log.go",
		`if err == nil || strings.HasPrefix`, `if strings.HasPrefix`, inScript + "hook_trailer_picked",
	},
	{
		"a commit that rewords another hands nothing over", "internal/app/githook/log.go",
		`|| strings.HasPrefix(log[0].subject, "amend! ") {`, `{`, inScript + "hook_trailer_picked",
	},
	{
		"a result named handoff looks like no handoff", "internal/prompt/history.go",
		`case "handoff":`, `case "-":`, "./internal/prompt -run TestHistory",
	},
	{
		"a line that an interrupt cut short was not told", "internal/app/agentwatch/watch.go",
		`w.again(context.WithoutCancel(ctx), news)`, `w.again(ctx, news)`, "./internal/app/agentwatch -run TestInterruptedLine",
	},
}
