package mcp

import (
	"encoding/json"
	"strings"

	"githandoff/internal/fault"
)

// asTool says which tool does the work of a command, and with which argument beside those of the
// command line. Other commands have no tool.
var asTool = map[string]struct{ tool, outcome string }{
	"inbox":    {tool: "handoff_inbox"},
	"status":   {tool: "handoff_inbox"},
	"show":     {tool: "handoff_show"},
	"resume":   {tool: "handoff_take"},
	"progress": {tool: "handoff_progress"},
	"ack":      {"handoff_finish", Done},
	"fail":     {"handoff_finish", Failed},
	"release":  {"handoff_finish", Release},
	"emit":     {tool: "handoff_give"},
}

// asArgument says which argument stands for a flag.
var asArgument = map[string]string{
	"to": "to", "goal": "goal", "summary": "summary", "reason": "summary", "task": "task", "message": "message",
	"result": "results", "done": "done", "blocker": "blockers", "relevant-file": "files", "scope": "scope",
}

// Argument returns the argument that stands for a flag, "" for none.
func Argument(flag string) string { return asArgument[flag] }

// Call returns the call of a tool that does what a command of githandoff does; "" if no tool does.
func Call(argv ...string) string {
	if len(argv) < 2 || argv[0] != "githandoff" {
		return ""
	}
	as, ok := asTool[argv[1]]
	if !ok {
		return ""
	}
	with := map[string]string{}
	if as.outcome != "" {
		with["outcome"] = as.outcome
	}
	for rest := argv[2:]; len(rest) > 0; {
		flag, isFlag := strings.CutPrefix(rest[0], "--")
		switch {
		case !isFlag && !strings.HasPrefix(rest[0], "-") && with["id"] == "" && as.tool != "handoff_give":
			with["id"], rest = rest[0], rest[1:]
		case isFlag && asArgument[flag] != "" && len(rest) > 1:
			with[asArgument[flag]], rest = rest[1], rest[2:]
		default:
			return ""
		}
	}
	if len(with) == 0 {
		return as.tool
	}
	b, _ := json.Marshal(with) // every map of strings has a JSON form
	return as.tool + " " + string(b)
}

// Hint returns a hint as an agent without a shell can follow it; "" if it cannot.
func Hint(h fault.Hint) string {
	if len(h.Run) == 0 {
		return h.Why
	}
	call := Call(h.Run...)
	if call == "" || h.Why == "" {
		return call
	}
	return call + " (" + h.Why + ")"
}
