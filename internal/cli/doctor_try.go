package cli

import (
	"context"
	"strings"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
)

// tryHubs finds out what hubs take by doing it.
func tryHubs(ctx context.Context, d *doctor, names []string) error {
	repo, err := d.openRepo(ctx)
	if err != nil {
		return err
	}
	aliases := crossrepo.Aliases{Repo: repo}
	for _, name := range names {
		al, _, err := aliases.Look(name)
		if err != nil {
			return err
		}
		hub := crossrepo.NewHub(al, repo, nil)
		trial, err := crossrepo.Try(ctx, hub, d.Now(), d.Random)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err != nil {
			d.problem("hub "+name, err)
			continue
		}
		tellTrial(d, "hub "+name, hub, trial)
	}
	return d.verdict()
}

// tellTrial reports one trial.
func tellTrial(d *doctor, check string, hub *crossrepo.Hub, t *crossrepo.Trial) {
	switch {
	case t.Guarded:
		d.ok(check, "has a guard, which lets in handoffs alone: what it takes shows with them")
	case t.Refused != nil:
		d.problem(check, t.Refused)
	default:
		d.ok(check, "takes refs/handoffs in atomic pushes, shows them, moves and deletes them; has no guard")
	}
	if t.WasGuarded {
		d.problem(check, crossrepo.LostGuard(hub))
	}
	if len(t.Left) > 0 {
		d.wrong(check, fault.Fact("the administrator of %s can delete them", hub.Alias.Name), "the trial push left %s behind", strings.Join(t.Left, ", "))
	}
}
