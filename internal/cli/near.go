package cli

import (
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/fault"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// orEnded adds the list of ended handoffs to the refusal of an argument which is no id, for a command
// that takes those too.
func orEnded(err error) error {
	f := fault.As(err)
	if f == nil || f.Reason != fault.InvalidID {
		return err
	}
	told := *f
	return told.WithHints(append(slices.Clone(f.Hints), fault.Run("githandoff", "history").Because("lists those that ended"))...)
}

// adviseNothingOf says, of an empty list, if the requested name looks misspelled.
func adviseNothingOf(a *app, ws *workspace.Workspace, name string) {
	if strings.Contains(name, "@") || slices.Contains(workspace.AgentsOfClone(ws.Repo), name) {
		return
	}
	if _, near := sign.NearestAgent(ws.Engine.Keys.Trust, name); near != "" {
		a.Warn(fmt.Errorf("no agent %s is known here", name))
		for _, h := range a.Pasted([]fault.Hint{fault.Instead(name, near)}) {
			a.Hint(h)
		}
	}
}
