package cli

import (
	"fmt"

	"githandoff/internal/crossrepo"
	"githandoff/internal/handoff"
	"githandoff/internal/lifecycle"
)

// warnTarget says what a sender would want to know before the handoff waits in
// vain: nobody here knows an agent of that name.
func (a *app) warnTarget(d *crossrepo.Desk, _ lifecycle.Home, env *handoff.Envelope) {
	if env.Target.Agent == nil {
		return
	}
	name, near, best := *env.Target.Agent, "", 3
	for _, e := range d.Engine.Trust.Entries() {
		for _, known := range e.Agents {
			if known == name {
				return
			}
			if n := distance(known, name); n < best {
				near, best = known, n
			}
		}
	}
	if near != "" {
		a.warn(fmt.Errorf("no agent %s is trusted here; did you mean %s?", name, near))
		return
	}
	a.warn(fmt.Errorf("no agent %s is trusted here: its receipt will be disputed until its key is (githandoff trust add)", name))
}

// distance counts the edits between two names (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
