package main

// ofDocuments are the guards of documents from other systems.
var ofDocuments = []mutant{
	{
		"a copy of an envelope does not expire when the envelope does", "internal/app/emit/send.go",
		`env.ExpiresAt == "" || env.CreatedAt != ""`, `env.ExpiresAt == ""`, inScript + "emit_expires",
	},
	{
		"a draft does not expire in the past", "internal/app/emit/send.go",
		`if err == nil && at.Before(now.Add(time.Minute)) {`, `if err != nil && at.Before(now.Add(time.Minute)) {`, inScript + "emit_expires",
	},
	{
		"one filter chooses what is printed", "internal/cli/command.go",
		`groups = append(slices.Clone(groups), []string{"jq", "template"})`, `groups = slices.Clone(groups)`, inScript + "help_filters",
	},
	{
		"an empty --as is not the agent of the worktree", "internal/cli/command.go",
		`f != nil && f.Changed && f.Value.String() == "" {`, `f != nil && false {`, inScript + "emit_given_twice",
	},
	{
		"a second target is refused", "internal/cli/given.go",
		`	if *t != "" && target != string(*t) {`, `	if false {`, inScript + "emit_given_twice",
	},
	{
		"a fact is given once", "internal/cli/draft.go",
		`			given[k] = true`, `			given[k] = false`, inScript + "emit_given_twice",
	},
	{
		"a number that would change is refused", "internal/handoff/strict.go",
		`case !integer && !keeps(f, literal):`, `case false:`, "./internal/handoff -run TestParseStrict",
	},
	{
		"only a port of a host is no password", "internal/screen/secret.go",
		`!(hostname(user) && port(s))`, `!(user != "" && port(s))`, "./internal/screen -run TestSecret",
	},
	{
		"a status alone is no metadata", "internal/dialect/detect.go",
		`case o.has("status") && len(own) > 0:`, `case o.has("status"):`, "./internal/dialect -run TestDetect",
	},
	{
		"a summary alone is not of Kelos", "internal/dialect/detect.go",
		`case o.has("summary") && o.only(Kelos):`, `case o.has("summary"):`, "./internal/dialect -run TestDetect",
	},
	{
		"a status that is none waits for a person", "internal/dialect/metadata.go",
		`	return handoff.StatusNeedsReview
`, `	return handoff.StatusComplete
`, "./internal/dialect -run TestImportMetadata",
	},
	{
		"a log that was cut off is known", "internal/dialect/markers.go",
		`s.last.Cut = s.open &&`, `s.last.Cut = false && s.open &&`, "./internal/dialect -run TestLastKelosBlock",
	},
	{
		"an older handoff does not pass for one that was cut off", "internal/app/capture/handler.go",
		`if err := h.cutOff(r, log); err != nil {`, `if err := h.cutOff(r, log); err != nil && log.Handoff.Text == nil {`, "./internal/cli -run TestScript/capture_cut",
	},
	{
		"a marker in a text is escaped", "internal/dialect/markers.go",
		`[]byte(` + "`" + `\u002d\u002d\u002dKELOS_` + "`" + `)`, `[]byte("---KELOS_")`, "./internal/dialect -run TestKelosBlock",
	},
	{
		"lines of another program are no part of a handoff", "internal/dialect/markers.go",
		`if text, other = s.prefix.strip(text); other {`, `if text, other = s.prefix.strip(text); other && false {`, "./internal/dialect -run TestLogPrefix",
	},
	{
		"the text around a block is not lost", "internal/app/document/document.go",
		`if w := r.takeAround(from, draft, b); w != "" {`, `if w := ""; w != "" {`, "./internal/cli -run TestScript/emit_markdown",
	},
	{
		"a text around a block is held to the policy", "internal/dialect/dialect.go",
		`if err := screen.Text("detail", d.Around); err != nil {`, `if err := screen.Text("detail", ""); err != nil {`, "./internal/dialect -run TestTextAroundTheBlock",
	},
	{
		"what another system says is shown", "internal/brief/brief.go",
		`	aside(field, env)
`, ``, "./internal/cli -run TestScript/emit_markdown",
	},
	{
		"a next action alone is not of GSD", "internal/dialect/detect.go",
		`o.has("next_action") && len(o.those(gsdOwn()...)) > 0:`, `o.has("next_action"):`, "./internal/dialect -run TestDetect",
	},
	{
		"an unknown member of a team policy is refused", "internal/policy/parse.go",
		`dec.KnownFields(true)`, `dec.KnownFields(false)`, "./internal/policy -run TestParseRefuses",
	},
	{
		"a value of another type is no word of a team policy", "internal/policy/parse.go",
		`if err := typed(root, ""); err != nil {`, `if err := typed(&yaml.Node{}, ""); err != nil {`, "./internal/policy -run TestParseRefuses",
	},
}
