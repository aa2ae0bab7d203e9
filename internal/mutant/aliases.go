package main

// ofAliases are the guards of the names of hubs.
var ofAliases = []mutant{
	{
		"an alias stays while handoffs sent there are open", "internal/cli/repocmd.go",
		`if it.Record != nil && slices.Contains(replaced, it.Record.Home) {`, `if false {`, inScript + "repo_needed",
	},
	{
		"an alias stays while handoffs taken there are held", "internal/cli/repocmd.go",
		`if slices.Contains(replaced, h.Home) {`, `if false {`, inScript + "repo_needed",
	},
}
