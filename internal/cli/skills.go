package cli

import (
	"cmp"
	"context"
	"strings"

	"githandoff/internal/app/inspect"
	"githandoff/internal/cli/output"
	"githandoff/internal/handoff"
	"githandoff/internal/untrusted"
)

// skillsCommand is "skills check".
type skillsCommand struct {
	*app
	id string
}

func newSkills(a *app) command {
	c := &skillsCommand{app: a}
	return command{
		use:     "skills",
		short:   "Compare the skills used for a handoff with the mandatory ones",
		example: []string{"githandoff skills check 7k3m2q"},
		sub: []command{
			{
				use:   "check [ID]",
				short: "List mandatory skills that were not invoked",
				long: `Compares the skills that a handoff says were invoked with the mandatory ones: those of
the team's policy (.githandoff.yaml) for its source agent, and those in the expectations
of its parent handoff, as long as that can be read here. If one is missing, the exit
code is 7. "githandoff ack" records the same list in the receipt
(Handoff-Skills-Missing); once the handoff has ended, it is read from there.`,
				example: []string{"githandoff skills check 7k3m2q"},
				args:    takesID(0, &c.id),
				run:     c.check,
			},
		},
	}
}

// skillsRow is the object printed by --json. Its members are stable.
type skillsRow struct {
	ID        handoff.ID `json:"id"`        // handoff
	Agent     string     `json:"agent"`     // author of the work
	Mandatory []string   `json:"mandatory"` // mandatory skills; null once the handoff is over
	Invoked   []string   `json:"invoked"`   // invoked skills; null once the handoff is over
	Missing   []string   `json:"missing"`   // mandatory skills that were not invoked
}

func (c *skillsCommand) check(ctx context.Context) error {
	ws, err := c.workspace(ctx, reads)
	if err != nil {
		return err
	}
	found, missing := inspect.New(ws).Skills(ctx, c.id)
	if found == nil {
		return missing
	}
	r := &skillsRow{found.ID, found.Agent, found.Mandatory, found.Invoked, append([]string{}, found.Missing...)}
	err = c.Result(r, func(t *output.Lines) {
		for _, l := range []struct {
			name string
			list []string
		}{{"mandatory", r.Mandatory}, {"invoked", r.Invoked}, {"missing", r.Missing}} {
			if l.list != nil {
				t.Line("%s", strings.TrimRight(l.name+": "+untrusted.Words(l.list), " "))
			}
		}
	})
	return cmp.Or(err, missing)
}
