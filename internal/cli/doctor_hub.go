package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"githandoff/internal/crossrepo"
	"githandoff/internal/fault"
	"githandoff/internal/receipt"
	"githandoff/internal/refs"
	"githandoff/internal/sshshare"
	"githandoff/internal/work"
)

// checkLeftovers looks for what the next command tidies up by itself, packs that
// were kept from a git gc and transactions that a kill cut short, and for what gc does.
func (d *doctor) checkLeftovers(repo *refs.Repo) {
	found := false
	for _, l := range []struct{ dir, what string }{
		{"kept", "packs kept from a git gc"},
		{"intents", "transactions begun and not ended"},
	} {
		files, err := os.ReadDir(repo.Own(l.dir))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			d.problem("leftovers", err)
			found = true
		case len(files) > 0:
			d.ok("leftovers", "%s: %d; the next command that changes something finishes them", l.what, len(files))
			found = true
		}
	}
	switch files, err := leftovers(d.app, repo); {
	case err != nil:
		d.problem("leftovers", err)
		found = true
	case len(files) > 0:
		d.ok("leftovers", "incomplete files: %d; githandoff gc removes them", len(files))
		found = true
	}
	if !found {
		d.ok("leftovers", "none")
	}
}

func (d *doctor) checkWaiting(ctx context.Context, repo *refs.Repo) {
	steps, err := work.Journal{Dir: repo.OwnWorktree("journal")}.All()
	if err != nil {
		d.problem("waiting", err)
		return
	}
	list, err := repo.List(ctx, receipt.WorkRefs()...)
	if err != nil {
		d.problem("waiting", err)
		return
	}
	defer d.checkSnapshots(ctx, repo, list)
	outbox := waiting(list)
	if len(steps)+outbox == 0 {
		d.ok("waiting", "nothing to deliver, no queued steps")
		return
	}
	d.wrong("waiting", fault.Run("githandoff", "sync").Because("delivers handoffs and sends queued steps"), "handoffs to deliver: %d, queued steps: %d", outbox, len(steps))
}

// checkHubs asks each hub what it is good for. One that is never a home need
// not be.
func (d *doctor) checkHubs(ctx context.Context, repo *refs.Repo) {
	aliases := crossrepo.Aliases{Repo: repo}
	for _, name := range aliases.Names() {
		al, _, err := aliases.Look(name)
		if err != nil {
			continue // said by checkRemotes
		}
		check := "hub " + name
		hub := crossrepo.NewHub(al, repo, nil)
		checkSharing(ctx, d, hub)
		p, err := hub.Probe(ctx, d.Now(), d.Random)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			d.problem(check, err)
		case p.Refused != nil && !reliedOn(repo, name):
			d.ok(check, "%s; no handoff is sent there", p.Refused)
		case p.Refused != nil:
			d.problem(check, p.Refused)
		case crossrepo.KeepsRefs(hub) != nil:
			d.problem(check, crossrepo.KeepsRefs(hub))
		case p.Holds == 0:
			d.ok(check, "takes atomic pushes; githandoff doctor %s tests whether it takes refs/handoffs", name)
		default:
			d.ok(check, "takes atomic pushes, and holds %s of handoffs", fault.Count(p.Holds, "ref"))
		}
	}
}

// checkSharing says whether commands share ssh connections to a hub.
func checkSharing(ctx context.Context, d *doctor, hub *crossrepo.Hub) {
	switch s := crossrepo.SSHSharing(ctx, hub); {
	case s.Why == sshshare.NotSSH:
	case s.Why != "":
		d.ok("ssh "+hub.Alias.Name, "every command opens its own connection: %s", s.Why)
	default:
		d.ok("ssh "+hub.Alias.Name, "commands share a connection, which ends %d seconds after its last use (handoff.sshShare)", sshshare.Seconds)
	}
}

// reliedOn: handoffs are sent there, or taken from there, without being told to.
func reliedOn(repo *refs.Repo, name string) bool {
	pull := repo.Config.All("handoff.pull")
	if len(pull) == 0 {
		pull = []string{"origin"}
	}
	return slices.Contains(pull, name) || repo.Config.Get("handoff.defaultrepo") == name ||
		repo.Config.Get("handoffrepo."+name+".url") != ""
}
