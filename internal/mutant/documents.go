package main

// ofDocuments are the guards of documents from other systems.
var ofDocuments = []mutant{
	without("a copy of an envelope does not expire when the envelope does", "internal/app/emit/send.go",
		`env.ExpiresAt == "" || env.CreatedAt != ""`, `env.ExpiresAt == ""`, inScript+"emit_expires"),
	without("a draft does not expire in the past", "internal/app/emit/send.go",
		`if err == nil && at.Before(now.Add(time.Minute)) {`, `if err != nil && at.Before(now.Add(time.Minute)) {`, inScript+"emit_expires"),
	without("one filter chooses what is printed", "internal/cli/command.go",
		`groups = append(slices.Clone(groups), []string{"jq", "template"})`, `groups = slices.Clone(groups)`, inScript+"help_filters"),
	without("an empty --as is not the agent of the worktree", "internal/cli/command.go",
		`f != nil && f.Changed && f.Value.String() == "" {`, `f != nil && false {`, inScript+"emit_given_twice"),
	without("a second target is refused", "internal/cli/flags.go",
		`	if *t != "" && target != string(*t) {`, `	if false {`, inScript+"emit_given_twice"),
	without("work without a task that was taken for other work is told", "internal/app/emit/send.go",
		`if env.Task == "" {`, `if false {`, inScript+"emit_once"),
	without("what has ended is sent once more", "internal/app/emit/send.go",
		`if err != nil || state.Receipt != nil {`, `if err != nil {`, inScript+"emit_once"),
	without("what is known to have ended costs no look", "internal/app/emit/send.go",
		`if state.Receipt != nil {`, `if state.Receipt != nil && false {`, "./internal/bench -run TestTripsOfOnce"),
	without("what waits in the outbox is delivered by the emit that finds it", "internal/app/emit/send.go",
		`if !ripe || queue || err != nil {`, `if ripe || queue || err != nil {`, inScript+"emit_once"),
	without("the end of a routed handoff forgets that it was sent to nobody", "internal/receipt/withdraw.go",
		`refs.Sent(handoff.Nobody, p.ID), `, ``, inScript+"revoke_routed"),
	without("a setting without its repository does not look like an empty inbox", "internal/workspace/homes.go",
		`if fault.Is(err, fault.UnknownAlias) {`, `if false {`, inScript+"repo_setting"),
	without("of several names in a setting, the hint removes the lost one", "internal/refs/config.go",
		`if value != "" {`, `if false {`, inScript+"repo_setting"),
	without("doctor names a setting without its repository", "internal/app/doctor/hubs.go",
		`if !slices.Contains(aliases.Names(), name) {`, `if false {`, inScript+"repo_setting"),
	without("a hub of two aliases has one name in notes", "internal/annotate/notes.go",
		`n.Aliases.NameOf(home.ID())`, `n.Workspace.(interface{ AliasOf(lifecycle.Home) string }).AliasOf(home)`, inScript+"sync_notes"),
	without("a person's key is made by another command than an agent's", "internal/sign/keystore.go",
		`if strings.Contains(name, "@") { // init makes`, `if false { // init makes`, inScript+"trust_remove"),
	without("a claim that was rerouted has ended, wherever its child waits", "internal/app/move/move.go",
		`if held != nil && (err == nil || over) {`, `if held != nil && (err == nil || over && false) {`, inScript+"reroute_elsewhere"),
	without("a chain of reroutes ends as one of emits does", "internal/app/move/move.go",
		`if handoff.CheckAgent(h.Engine.Author.Actor) == nil {`, `if false {`, inScript+"emit_chain"),
	without("a person may send on what has reached the end of its chain", "internal/app/move/move.go",
		`if handoff.CheckAgent(h.Engine.Author.Actor) == nil {`, `if true {`, inScript+"emit_chain"),
	without("sync asks the homes above a held handoff", "internal/app/hubsync/look.go",
		`if h.Token == "" || err != nil {`, `if h.Token != "" || err != nil {`, inScript+"sync_authority"),
	without("sync asks the homes above a sealed handoff that it cannot open", "internal/lifecycle/token.go",
		`	parts, err := readTree(ctx, vr.Repo, s)
	if err != nil {
		return nil, err
	}
	links, err := readLinks(ctx, vr.Repo, parts.obo)
	if err != nil || len(links) == 0 {`, `	v, err := vr.open(ctx, s)
	if err != nil {
		return nil, err
	}
	links := v.links
	if len(links) == 0 {`, inScript+"sync_authority"),
	without("who routes what has expired is told", "internal/app/decide/decide.go",
		`if h.Engine.Now().After(s.Offer.Expires) {`, `if false {`, inScript+"status_expired"),
	without("a disputed handoff is no open one", "internal/app/emit/send.go",
		`if state.Phase() == lifecycle.Disputed {`, `if false {`, inScript+"emit_once"),
	without("a fact is given once", "internal/cli/draft.go",
		`			given[k] = true`, `			given[k] = false`, inScript+"emit_given_twice"),
	without("a number that would change is refused", "internal/handoff/strict.go",
		`case !integer && !keeps(f, literal):`, `case false:`, "./internal/handoff -run TestParseStrict"),
	without("only a port of a host is no password", "internal/screen/secret.go",
		`!(hostname(user) && port(s))`, `!(user != "" && port(s))`, "./internal/screen -run TestSecret"),
	without("a status alone is no metadata", "internal/dialect/detect.go",
		`case o.has("status") && len(own) > 0:`, `case o.has("status"):`, "./internal/dialect -run TestDetect"),
	without("a summary alone is not of Kelos", "internal/dialect/detect.go",
		`case o.has("summary") && o.only(Kelos):`, `case o.has("summary"):`, "./internal/dialect -run TestDetect"),
	without("a status that is none waits for a person", "internal/dialect/metadata.go",
		`	return handoff.StatusNeedsReview
`, `	return handoff.StatusComplete
`, "./internal/dialect -run TestImportMetadata"),
	without("a log that was cut off is known", "internal/dialect/markers.go",
		`s.last.Cut = s.open &&`, `s.last.Cut = false && s.open &&`, "./internal/dialect -run TestLastKelosBlock"),
	without("an older handoff does not pass for one that was cut off", "internal/app/capture/handler.go",
		`if err := h.cutOff(r, log); err != nil {`, `if err := h.cutOff(r, log); err != nil && log.Handoff.Text == nil {`, "./internal/cli -run TestScript/capture_cut"),
	without("a marker in a text is escaped", "internal/dialect/markers.go",
		`[]byte(`+"`"+`\u002d\u002d\u002dKELOS_`+"`"+`)`, `[]byte("---KELOS_")`, "./internal/dialect -run TestKelosBlock"),
	without("lines of another program are no part of a handoff", "internal/dialect/markers.go",
		`if text, other = s.prefix.strip(text); other {`, `if text, other = s.prefix.strip(text); other && false {`, "./internal/dialect -run TestLogPrefix"),
	without("the text around a block is not lost", "internal/app/document/document.go",
		`if w := r.takeAround(from, draft, b); w != "" {`, `if w := ""; w != "" {`, "./internal/cli -run TestScript/emit_markdown"),
	without("a text around a block is held to the policy", "internal/dialect/dialect.go",
		`if err := screen.Text("detail", d.Around); err != nil {`, `if err := screen.Text("detail", ""); err != nil {`, "./internal/dialect -run TestTextAroundTheBlock"),
	without("what another system says is shown", "internal/brief/brief.go",
		`	aside(field, env)
`, ``, "./internal/cli -run TestScript/emit_markdown"),
	without("a next action alone is not of GSD", "internal/dialect/detect.go",
		`o.has("next_action") && len(o.those(gsdOwn()...)) > 0:`, `o.has("next_action"):`, "./internal/dialect -run TestDetect"),
	without("an unknown member of a team policy is refused", "internal/policy/parse.go",
		`dec.KnownFields(true)`, `dec.KnownFields(false)`, "./internal/policy -run TestParseRefuses"),
	without("a value of another type is no word of a team policy", "internal/policy/parse.go",
		`if err := typed(root, ""); err != nil {`, `if err := typed(&yaml.Node{}, ""); err != nil {`, "./internal/policy -run TestParseRefuses"),
}
