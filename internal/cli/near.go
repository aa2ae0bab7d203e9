package cli

import (
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// nearAgent is the agent that was meant by a name that nobody has here; "" where somebody
// has it, or no name is near it.
func nearAgent(ws *workspace.Workspace, name string) string {
	if strings.Contains(name, "@") || slices.Contains(workspace.AgentsOfClone(ws.Repo), name) {
		return ""
	}
	_, near := sign.NearestAgent(ws.Engine.Keys.Trust, name)
	return near
}

// adviseTarget warns of a target whose name looks misspelled. The handoff is sent
// nevertheless: the agent may be known at its home.
func adviseTarget(a *app, ws *workspace.Workspace, name string) {
	if near := nearAgent(ws, name); near != "" {
		a.Warn(fmt.Errorf("no agent %s is known here; did you mean %s?", name, near))
	}
}

// adviseNothingOf says of a list that is empty that the name it was asked for looks
// misspelled.
func adviseNothingOf(a *app, ws *workspace.Workspace, name string) {
	if near := nearAgent(ws, name); near != "" {
		a.Warn(fmt.Errorf("no agent %s is known here", name))
		for _, h := range a.Pasted([]fault.Hint{fault.Instead(name, near)}) {
			a.Hint(h)
		}
	}
}
