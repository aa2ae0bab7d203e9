package main

// ofPeople are the guards of what people look at.
var ofPeople = []mutant{
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
		`if c.Terminal() {`, `if true {`, inScript + "status_screen",
	},
	{
		"a quoted goal has 64 bytes at most", "internal/untrusted/goal.go",
		`b.Len()+len(c) > MaxOutside-len(`, `b.Len() > 1000+len(`, "./internal/untrusted -run TestQuote",
	},
	{
		"a quoted goal is escaped", "internal/untrusted/goal.go",
		`c := Line(string(r))`, `c := string(r)`, "./internal/untrusted -run TestQuote",
	},
}
