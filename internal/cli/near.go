package cli

import (
	"fmt"
	"slices"
	"strings"

	"githandoff/internal/app/emit"
	"githandoff/internal/cli/output"
	"githandoff/internal/fault"
	"githandoff/internal/sign"
	"githandoff/internal/workspace"
)

// nearAgent is the agent that was meant by a name that nobody has here; "" where somebody
// has it, or no name is near it.
func nearAgent(d *workspace.Workspace, name string) string {
	if strings.Contains(name, "@") || slices.Contains(workspace.AgentsOfClone(d.Repo), name) {
		return ""
	}
	_, near := emit.NearestAgent(d.Engine.Keys.Trust, name)
	return near
}

// adviseTarget warns of a target whose name looks misspelled. The handoff is sent
// nevertheless: the agent may be known at its home.
func adviseTarget(a *app, d *workspace.Workspace, name string) {
	if near := nearAgent(d, name); near != "" {
		a.Warn(fmt.Errorf("no agent %s is known here; did you mean %s?", name, near))
	}
}

// adviseNothingOf says of a list that is empty that the name it was asked for looks
// misspelled.
func adviseNothingOf(a *app, d *workspace.Workspace, name string) {
	if near := nearAgent(d, name); near != "" {
		a.Warn(fmt.Errorf("no agent %s is known here", name))
		for _, h := range a.Pasted([]fault.Hint{fault.Instead(name, near)}) {
			a.Hint(h)
		}
	}
}

// nearKey is the hint to take the key whose name is spelled nearly so.
func nearKey(keys sign.Keystore, name string) []fault.Hint {
	infos, err := keys.List()
	if err != nil {
		return nil
	}
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
	}
	if near := fault.Nearest(name, names); near != "" {
		return []fault.Hint{fault.Instead(name, near)}
	}
	return nil
}

// keysOf are the hints to take, in the place of a name, the keys that are trusted under it.
func keysOf(trust *sign.Trust, name string) []fault.Hint {
	var hints []fault.Hint
	for _, e := range trust.Entries() {
		if slices.Contains(e.Agents, name) && e.Retired == "" && len(hints) < fault.MaxHints-1 {
			hints = append(hints, fault.Run("githandoff", "trust", "remove", e.KID).Because("the key of %s", output.Cut(name, 63)))
		}
	}
	if _, near := emit.NearestAgent(trust, name); len(hints) == 0 && near != "" {
		hints = append(hints, fault.Instead(name, near))
	}
	return hints
}
