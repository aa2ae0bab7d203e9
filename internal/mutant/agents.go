package main

// ofAgents are the guards of what coding agents are told, and of what they may call.
var ofAgents = []mutant{
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
		"where git runs no hooks, resume says how a commit names its handoff", "internal/cli/hooksoff.go",
		`case dir == "":`, `case false:`, inScript + "resume_hooks_off",
	},
	{
		"if-held allows nothing to whoever holds a token", "internal/cli/obocheck.go",
		`if c.ifHeld && arg == "" && (`, `if c.ifHeld && arg == "" || (`, inScript + "obo_check_held",
	},
}
