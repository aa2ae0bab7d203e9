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
}
